package view

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/alecthomas/units"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/cmd/webserver"
)

// DefaultAddress is the default address of the pages.
const DefaultAddress = "127.0.0.1:10430"

const about = `Shows dashboards, alerts and runs of this machine, with their history, in one process.

It scrapes the running uma-exporter, or collects itself where none runs, and keeps the samples in --data. It is a
Prometheus data source of Grafana at its own address. Ctrl-C ends it.`

func guide() terminal.Guide {
	return terminal.Guide{
		First: []string{
			"uma-view                         # http://127.0.0.1:10430",
			"uma-view --targets spark-2.yaml  # and other machines",
			"uma-view serve --help            # all flags",
		},
		Groups:  []terminal.Group{{Title: "Verbs", Verbs: []string{verbServe, verbHealthcheck}}},
		Default: []string{"web.listen-address", "data", "runs", "exporter", "targets", "retention.time"},
		Foot:    "Exit codes: 0 done; 1 failed while running; 2 bad input or unusable environment.",
	}
}

// options are the flags.
type options struct {
	listen     string
	explicit   bool
	allowHosts []string
	config     string // --web.config.file
	data, runs string
	host       string // label of this machine's series
	exporter   string
	targets    []string
	live       []string // --load
	ruleFolder string
	remote     []*url.URL
	webhooks   []*url.URL
	interval   time.Duration
	// runsInterval is the time between two scrapes of finished runs.
	runsInterval time.Duration
	keep         time.Duration
	keepBytes    int64
	log          terminal.Log

	healthURL, healthConfig string // of the verb healthcheck
}

// The verbs.
const (
	verbServe       = "serve"
	verbHealthcheck = "healthcheck"
)

const serveHelp = `Scrape, keep and show (the default command).

  uma-view
  uma-view --runs runs --targets spark-2.yaml
  uma-view --remote-write http://prometheus.example.org:9090/api/v1/write`

const healthcheckHelp = `Ask a running uma-view whether it is alive.

  uma-view healthcheck

Exit codes: 0 if it answers, 1 if not.`

// Environment variables of flags that may hold a secret: arguments are visible to every user of the machine.
const (
	webhookVariable = "UMA_VIEW_WEBHOOK"
	remoteVariable  = "UMA_VIEW_REMOTE_WRITE"
)

// parseOptions reads the arguments. ended is true if help was printed.
func parseOptions(args []string, stdout, stderr io.Writer) (o options, verb string, ended bool, err error) {
	app := kingpin.New("uma-view", about)
	app.Terminate(func(int) { ended = true }).UsageWriter(stdout).ErrorWriter(stderr)
	app.Version(program())
	guide().Apply(app)
	o.define(app.Command(verbServe, serveHelp).Default())
	health := app.Command(verbHealthcheck, healthcheckHelp)
	terminal.Flag(health, "url", "Health page to ask.", "http://"+DefaultAddress+webserver.HealthPath, &o.healthURL, terminal.Text)
	terminal.Flag(health, "http.config.file", "TLS and credentials to ask with, in the form of promtool's flag of this name; uma-exporter secure makes one.", "", &o.healthConfig, terminal.Text).PlaceHolder("FILE")
	if verb, err = app.Parse(args); err != nil || ended {
		return o, verb, ended, terminal.Mend(app, args, err)
	}
	if o.data == "" {
		o.data = defaultData()
	}
	// Before the first run there is no such folder.
	if _, err := os.ReadDir(o.runs); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return o, verb, false, fmt.Errorf("--runs %s: it cannot be read, give another folder: %w", o.runs, pathCause(err))
	}
	for _, file := range o.targets {
		if err := checkTargets(file); err != nil {
			return o, verb, false, fmt.Errorf("--targets %s: %w", file, pathCause(err))
		}
	}
	return o, verb, false, nil
}

// define declares the flags of the verb serve.
func (o *options) define(app *kingpin.CmdClause) {
	terminal.Flag(app, "web.listen-address", "Address of the pages. If it is in use, the program ends with exit code 2; at a terminal, the next free port takes the place of the default one.", DefaultAddress, &o.listen, hostPort).IsSetByUser(&o.explicit)
	terminal.Flag(app, webserver.ConfigFile, "TLS and passwords for readers, in the form of exporter-toolkit; uma-exporter secure makes one.", "", &o.config, terminal.Text).PlaceHolder("FILE")
	webserver.AllowHostFlag(app, &o.allowHosts)
	app.Flag("data", "Folder of the samples. Default: umascope/view below $XDG_STATE_HOME, which is ~/.local/state if it is not set; of a service, the folder that systemd gives it.").PlaceHolder("FOLDER").StringVar(&o.data)
	app.Flag("runs", "Folder of the runs of uma-load.").Default("runs").StringVar(&o.runs)
	app.Flag("host", "Name of this machine: the label host of its series. Default: its host name, which uma-load gives its runs too.").PlaceHolder("NAME").StringVar(&o.host)
	terminal.Flag(app, "exporter", "Metrics page of this machine's uma-exporter. Default: http://127.0.0.1:10420/metrics if it answers at the start, else the collectors of this process.", "", &o.exporter, httpAddress)
	terminal.Flags(app, "load", "Address of the live metrics of uma-load; may be repeated. Default: "+defaultLive+".", &o.live, hostPort, terminal.AsGiven).PlaceHolder("HOST:PORT")
	app.Flag("rules", "Folder of rule files of Prometheus, *.yaml, to evaluate in place of the rules of this program.").PlaceHolder("FOLDER").StringVar(&o.ruleFolder)
	app.Flag("targets", "File of other machines, in the format of Prometheus' file_sd; read again when it changes; may be repeated.").PlaceHolder("FILE").StringsVar(&o.targets)
	terminal.Flags(app, "remote-write", "URL of a remote write endpoint that gets all samples; may be repeated.", &o.remote, secretAddress, terminal.NameOnly).PlaceHolder("URL").Envar(remoteVariable)
	terminal.Flags(app, "webhook", "URL that gets a notice, in the JSON of Alertmanager's webhook, when an alert of severity warning or critical fires or is resolved; may be repeated.", &o.webhooks, secretAddress, terminal.NameOnly).PlaceHolder("URL").Envar(webhookVariable)
	terminal.Flag(app, "scrape-interval", "Time between two scrapes.", "5s", &o.interval, terminal.DurationWithin(100*time.Millisecond, time.Minute))
	terminal.Flag(app, "runs-interval", "Time between two scrapes of finished runs.", "60s", &o.runsInterval, terminal.DurationWithin(time.Second, time.Hour))
	terminal.Flag(app, "retention.time", "How long samples are kept.", "360h", &o.keep, terminal.DurationWithin(time.Hour, 10*365*24*time.Hour))
	terminal.Flag(app, "retention.size", "Most bytes of samples kept, with unit B, KB, MB, GB.", "1GB", &o.keepBytes, byteSize)
	o.log.Flags(app, "warn")
}

// pathCause drops the path from an error, for a message that already names it.
func pathCause(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// defaultData returns the folder of the samples: of a service, the one that systemd gives it; else the user's.
func defaultData() string {
	if service := os.Getenv("STATE_DIRECTORY"); service != "" {
		return service
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "umascope", "view")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "state", "umascope", "view")
	}
	return "uma-view-data"
}

func hostPort(text string) (string, error) {
	if _, _, err := net.SplitHostPort(text); err != nil {
		return "", fmt.Errorf("%q is not HOST:PORT", text)
	}
	return text, nil
}

// httpAddress reads a URL that is shown on pages.
func httpAddress(text string) (string, error) {
	u, err := secretAddress(text)
	if err == nil && u.User != nil {
		err = errors.New("want http://HOST:PORT/PATH, without a user or a password")
	}
	return text, err
}

// secretAddress reads a URL. Its errors do not repeat it: it may hold a secret.
func secretAddress(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("want http://HOST:PORT/PATH")
	}
	return u, nil
}

func byteSize(text string) (int64, error) {
	n, err := units.ParseBase2Bytes(text)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is not a size above 0, such as 1GB", text)
	}
	return int64(n), nil
}
