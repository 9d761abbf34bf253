package view

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/grafana/regexp"
	"github.com/prometheus/client_golang/prometheus"
	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
	api "github.com/prometheus/prometheus/web/api/v1"
)

// Limits of the database: a query that needs more fails alone. Memory of a query is about 16 bytes a sample.
const (
	queryTimeout       = 30 * time.Second
	queryMaxSamples    = 5_000_000
	remoteFlushTimeout = 10 * time.Second
	outageTolerance    = time.Hour // a pending alert is continued after a restart within this time, as in Prometheus
	forGracePeriod     = 10 * time.Minute
	resendDelay        = time.Minute
	reloadInterval     = time.Second // from a change of the targets to their first scrape, at the most
)

// databaseConfig configures the database.
type databaseConfig struct {
	Dir             string // folder of the samples
	RetentionTime   time.Duration
	RetentionBytes  int64
	Prometheus      string // the configuration, as of prometheus.yml: scrape_configs, remote_write
	EvaluationEvery time.Duration
	Rules           []ruleFile
	// Dial connects to targets; nil for the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Registry has the series of the database, and those that the caller has registered.
	Registry *prometheus.Registry
	// Room returns an error while the disk is too full for samples; nil asks the file system.
	Room func() error
	// Notify receives alerts that fire or are resolved.
	Notify  rules.NotifyFunc
	Version api.PrometheusVersion
	Log     *slog.Logger
}

// ruleFile is a rule file of Prometheus.
type ruleFile struct {
	Name    string
	Content []byte
}

// database is a Prometheus without its server: its scrapes, its storage, its rules and its query API. All of them are
// Prometheus' own packages.
type database struct {
	config    *config.Config
	version   api.PrometheusVersion
	log       *slog.Logger
	dir       string
	started   time.Time
	retention string

	parser    parser.Parser
	local     *tsdb.DB
	lock      *tsdbutil.DirLocker
	remote    *remote.Storage
	storage   storage.Storage // local and remote
	engine    *promql.Engine
	discovery *discovery.Manager
	scraping  *scrape.Manager
	rules     *rules.Manager
	registry  *prometheus.Registry

	stop    context.CancelFunc
	running sync.WaitGroup
}

// openDatabase opens the folder, and scrapes and evaluates rules until close.
func openDatabase(c databaseConfig) (*database, error) {
	parsed, err := config.Load(c.Prometheus, c.Log)
	if err != nil {
		return nil, err
	}
	c.Log = newFullDiskLog(c.Log, c.Dir)
	if c.Room == nil {
		c.Room = func() error { return room(c.Dir) }
	}
	ctx, stop := context.WithCancel(context.Background())
	d := &database{
		config: parsed, version: c.Version, log: c.Log, dir: c.Dir, started: time.Now(), stop: stop,
		retention: fmt.Sprintf("%s or %d MiB", model.Duration(c.RetentionTime), c.RetentionBytes>>20),
		parser:    parser.NewParser(parser.Options{}), registry: c.Registry,
	}
	if err := d.open(ctx, c); err != nil {
		return nil, errors.Join(err, d.close())
	}
	d.run(ctx)
	return d, nil
}

func (d *database) open(ctx context.Context, c databaseConfig) (err error) {
	if d.lock, err = lockFolder(c.Dir); err != nil {
		return err
	}
	if d.local, err = openSamples(c, d.registry); err != nil {
		return err
	}
	d.remote = remote.NewStorage(d.log, d.registry, d.local.StartTime, c.Dir, remoteFlushTimeout, d, false)
	d.storage = roomyStorage{storage.NewFanout(d.log, d.local, d.remote), c.Room}
	if err := d.remote.ApplyConfig(d.config); err != nil {
		return err
	}
	d.local.SetWriteNotified(d.remote)
	d.engine = promql.NewEngine(promql.EngineOpts{
		Logger: d.log, Reg: d.registry, MaxSamples: queryMaxSamples, Timeout: queryTimeout, EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return c.EvaluationEvery.Milliseconds() }, Parser: d.parser,
	})
	if err := d.openScrapes(ctx, c); err != nil {
		return err
	}
	return d.openRules(ctx, c)
}

func (d *database) openScrapes(ctx context.Context, c databaseConfig) (err error) {
	options := &scrape.Options{DiscoveryReloadInterval: model.Duration(reloadInterval)}
	if c.Dial != nil {
		options.HTTPClientOptions = []commonconfig.HTTPClientOption{commonconfig.WithDialContextFunc(c.Dial)}
	}
	if d.scraping, err = scrape.NewManager(options, d.log, nil, nil, d.storage, d.registry); err != nil {
		return err
	}
	metrics, err := discovery.CreateAndRegisterSDMetrics(d.registry)
	if err != nil {
		return err
	}
	if d.discovery = discovery.NewManager(ctx, d.log, d.registry, metrics, discovery.Name("scrape")); d.discovery == nil {
		return errors.New("service discovery does not start")
	}
	if err := d.scraping.ApplyConfig(d.config); err != nil {
		return err
	}
	targets := map[string]discovery.Configs{}
	for _, job := range d.config.ScrapeConfigs {
		targets[job.JobName] = job.ServiceDiscoveryConfigs
	}
	return d.discovery.ApplyConfig(targets)
}

func (d *database) openRules(ctx context.Context, c databaseConfig) error {
	files := ruleFiles{content: map[string][]byte{}, parser: d.parser, log: d.log}
	var names []string
	for _, f := range c.Rules {
		files.content[f.Name] = f.Content
		names = append(names, f.Name)
	}
	manager := rules.NewManager(&rules.ManagerOptions{
		Appendable: d.storage, Queryable: d.local, QueryFunc: rules.EngineQueryFunc(d.engine, d.storage), NotifyFunc: c.Notify,
		Context: ctx, ExternalURL: &url.URL{}, Registerer: d.registry, Logger: d.log, OutageTolerance: outageTolerance,
		ForGracePeriod: forGracePeriod, ResendDelay: resendDelay, GroupLoader: files, Parser: d.parser,
	})
	if err := manager.Update(c.EvaluationEvery, names, labels.EmptyLabels(), "", nil); err != nil {
		return err
	}
	d.rules = manager // only now: a manager that never runs cannot be stopped
	return nil
}

// ruleFiles reads rules from memory.
type ruleFiles struct {
	content map[string][]byte
	parser  parser.Parser
	log     *slog.Logger
}

// Load implements rules.GroupLoader.
func (f ruleFiles) Load(name string, ignoreUnknown bool, scheme model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	return rulefmt.Parse(f.content[name], ignoreUnknown, scheme, f.parser, f.log)
}

// Parse implements rules.GroupLoader.
func (f ruleFiles) Parse(expression string) (parser.Expr, error) {
	return f.parser.ParseExpr(expression)
}

// Get implements remote.ReadyScrapeManager.
func (d *database) Get() (*scrape.Manager, error) { return d.scraping, nil }

// run begins scrapes and the evaluation of rules.
func (d *database) run(ctx context.Context) {
	d.running.Go(func() { _ = d.discovery.Run() }) // the error is that of the context
	d.running.Go(func() {
		if err := d.scraping.Run(d.discovery.SyncCh()); err != nil {
			d.log.Error("scrapes have ended", "why", err)
		}
	})
	d.running.Go(d.rules.Run)
	d.running.Go(func() { d.watchClock(ctx) })
}

// close ends scrapes and rules, and then writes what is left. It is safe on a database that was opened in part.
func (d *database) close() error {
	if d.rules != nil {
		d.rules.Stop()
	}
	if d.scraping != nil {
		d.scraping.Stop()
	}
	d.stop()
	d.running.Wait()
	var err error
	switch {
	case d.storage != nil:
		err = d.storage.Close()
	case d.local != nil:
		err = d.local.Close()
	}
	if d.lock != nil {
		err = errors.Join(err, d.lock.Release())
	}
	return err
}

// handler serves Prometheus' API, /api/v1, as a data source of Grafana or a client library asks for it. It reads only.
func (d *database) handler() http.Handler {
	served := api.NewAPI(
		d.engine, d.storage, nil, nil, d.local,
		func(context.Context) api.ScrapePoolsRetriever { return d.scraping },
		func(context.Context) api.TargetRetriever { return d.scraping },
		func(context.Context) api.AlertmanagerRetriever { return noAlertmanagers{} },
		func() config.Config { return *d.config },
		map[string]string{}, api.GlobalURLOptions{ListenAddress: "localhost:0", Host: "localhost", Scheme: "http"}, // targets of this machine keep their addresses
		func(next http.HandlerFunc) http.HandlerFunc { return next },
		samples{d.local}, d.dir, false, false, 0, d.log,
		func(context.Context) api.RulesRetriever { return d.rules },
		0, 0, 0, false, regexp.MustCompile("^$"), d.runtimeInfo, &d.version, nil, nil,
		d.registry, nil, nil, false, nil, false, false, false, false, 0, false, false, nil, nil, api.OpenAPIOptions{}, d.parser,
	)
	router := route.New()
	served.Register(router.WithPrefix("/api/v1"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost { // by which clients ask long queries
			w.Header().Set("Allow", "GET, HEAD, POST")
			http.Error(w, "this API is only read", http.StatusMethodNotAllowed)
			return
		}
		router.ServeHTTP(w, r)
	})
}

func (d *database) runtimeInfo() (api.RuntimeInfo, error) {
	host, err := os.Hostname()
	return api.RuntimeInfo{
		StartTime: d.started, CWD: filepath.Clean(d.dir), Hostname: host, ServerTime: time.Now(), ReloadConfigSuccess: true, LastConfigTime: d.started,
		GoroutineCount: runtime.NumGoroutine(), GOMAXPROCS: runtime.GOMAXPROCS(0), StorageRetention: d.retention,
	}, err
}

// noAlertmanagers implements api.AlertmanagerRetriever: notices go by webhook.
type noAlertmanagers struct{}

// Alertmanagers implements api.AlertmanagerRetriever.
func (noAlertmanagers) Alertmanagers() []*url.URL { return nil }

// DroppedAlertmanagers implements api.AlertmanagerRetriever.
func (noAlertmanagers) DroppedAlertmanagers() []*url.URL { return nil }

// samples implements api.TSDBAdminStats, whose admin part is off.
type samples struct{ *tsdb.DB }

var errReadOnly = errors.New("samples are not changed from here")

// CleanTombstones implements api.TSDBAdminStats.
func (samples) CleanTombstones() error { return errReadOnly }

// Delete implements api.TSDBAdminStats.
func (samples) Delete(context.Context, int64, int64, ...*labels.Matcher) error { return errReadOnly }

// Snapshot implements api.TSDBAdminStats.
func (samples) Snapshot(string, bool) error { return errReadOnly }

// Stats implements api.TSDBAdminStats.
func (s samples) Stats(label string, limit int) (*tsdb.Stats, error) {
	return s.Head().Stats(label, limit), nil
}

// WALReplayStatus implements api.TSDBAdminStats.
func (samples) WALReplayStatus() (tsdb.WALReplayStatus, error) { return tsdb.WALReplayStatus{}, nil }

// BlockMetas implements api.TSDBAdminStats.
func (s samples) BlockMetas() ([]tsdb.BlockMeta, error) {
	var metas []tsdb.BlockMeta
	for _, b := range s.Blocks() {
		metas = append(metas, b.Meta())
	}
	return metas, nil
}
