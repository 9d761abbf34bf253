package golden

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine"
	hostsim "github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen"
	enginesim "github.com/umascope/umascope/loadgen/sim"
)

// Environment variables that turn the test binary into a program of its own.
const (
	asEngine = "GOLDEN_ENGINE" // the simulated engine, at this address: a process of an arm
	asLoad   = "GOLDEN_LOAD"   // uma-load: a run that is killed
)

const (
	host    = "spark-1"
	weights = "/models/weights"
)

// maker makes the golden run folders again, with the load generator of this tree against simulated engines.
type maker struct {
	work    string // the working folder of all runs
	binary  string // this binary, inside work
	engine  string // URL of the engine that most runs measure
	kvbm    string // URL of the page of its KV block manager
	sampled string // URL of the exporter of its machine
	bare    string // the same without what the exporter reads of engines
	mutex   sync.Mutex
	closers []func()
	// hurried makes folders for a test beside others: of all that may come of a busy computer, a run that is invalid is one
	// too, and a campaign has one run of each arm.
	hurried bool
}

// kinds are the folders below testdata/runs and what makes each. Those of the demo (rehydrate, wrong-kv, demo-native,
// demo-container) are copied from a folder that uma-demo wrote, see README.md.
var kinds = map[string]func(m *maker) error{
	"closed": func(m *maker) error {
		log := "engine.log"
		if err := os.WriteFile(log, []byte(vllmLog), 0o644); err != nil {
			return err
		}
		return m.run("closed", 0, m.observed("--concurrency=4", "--requests=24", "--warmup=4", "--input-tokens=64:256", "--output-tokens=8:24",
			"--slo=ttft=500ms,tpot=50ms", "--save-outputs", "--label=arm=native", "--engine-log="+log, "--capture=said=echo shown")...)
	},
	"open": func(m *maker) error {
		return m.run("open", 0, "--arrival=poisson", "--rate=20", "--concurrency=8", "--requests=24", "--warmup=4", "--input-tokens=40:80", "--output-tokens=6", "--ignore-eos", "--label=arm=native")
	},
	"stages": func(m *maker) error {
		return m.run("stages", 4, "--arrival=constant", "--stages=1s:8,1s:16", "--warmup=200ms", "--input-tokens=40", "--output-tokens=4", "--label=arm=native", "--slo=e2e=20ms")
	},
	"unstreamed": func(m *maker) error {
		return m.run("unstreamed", 0, "--no-stream", "--endpoint=completions", "--requests=20", "--warmup=2", "--concurrency=2", "--input-tokens=64", "--output-tokens=8", "--label=arm=native")
	},
	"conversations": func(m *maker) error {
		return m.run("conversations", 0, m.observed("--scenario=multi_turn", "--clients=3", "--active-conversations=6", "--max-turns=3", "--requests=18", "--warmup=3", "--input-tokens=40", "--output-tokens=8", "--save-outputs", "--label=arm=native")...)
	},
	"burst": func(m *maker) error {
		return m.run("burst", 0, "--scenario=burst", "--set=bursts=3", "--set=requests=6", "--set=every=500ms", "--warmup=2", "--input-tokens=40", "--output-tokens=4", "--label=arm=native")
	},
	"reuse": func(m *maker) error {
		return m.run("reuse", 0, m.observed("--scenario=reuse_verify", "--input-tokens=200", "--output-tokens=12", "--set=requests=6", "--warmup=2", "--label=arm=native", "--expect=kv=cpu_disk")...)
	},
	"failures": func(m *maker) error {
		faults := enginesim.Faults{Requests: []enginesim.Fault{
			{Kind: enginesim.FaultRefuse, Numbers: numbers(20, 30)}, {Kind: enginesim.FaultErrorEvent, Numbers: numbers(22), AfterTokens: 2}, {Kind: enginesim.FaultTruncate, Numbers: numbers(24), AfterTokens: 2},
			{Kind: enginesim.FaultCut, Numbers: numbers(26), AfterTokens: 2}, {Kind: enginesim.FaultStall, Numbers: numbers(28), AfterTokens: 2},
		}}
		url, err := m.startEngine(func(c *enginesim.Config) { c.Faults = faults })
		if err != nil {
			return err
		}
		return m.run("failures", 3, "--url="+url, "--requests=40", "--warmup=2", "--concurrency=3", "--input-tokens=40", "--output-tokens=6", "--chunk-timeout=500ms", "--label=arm=container")
	},
	"stopped": func(m *maker) error {
		url, err := m.startEngine(func(c *enginesim.Config) {
			c.Faults.Requests = []enginesim.Fault{{Kind: enginesim.FaultDropModel, Numbers: numbers(24)}}
		})
		if err != nil {
			return err
		}
		return m.run("stopped", 3, "--url="+url, "--requests=60", "--warmup=2", "--concurrency=2", "--input-tokens=40", "--output-tokens=6", "--label=arm=container")
	},
	"interrupted": func(m *maker) error {
		ctx, stop := context.WithTimeout(context.Background(), 2500*time.Millisecond)
		defer stop()
		return m.verb(ctx, 1, m.runArgs("interrupted", m.observed("--requests=100", "--warmup=2", "--concurrency=2", "--input-tokens=40", "--output-tokens=40", "--grace=100ms", "--label=arm=native")...)...)
	},
	"killed": func(m *maker) error {
		load := exec.Command(m.binary, m.runArgs("killed", m.observed("--requests=100", "--warmup=2", "--concurrency=2", "--input-tokens=40", "--output-tokens=40", "--label=arm=native")...)...)
		load.Env, load.Stderr = append(os.Environ(), asLoad+"=1"), os.Stderr
		if err := load.Start(); err != nil {
			return err
		}
		for { // until there are enough records
			time.Sleep(100 * time.Millisecond)
			if text, err := os.ReadFile("killed/requests.jsonl"); err == nil && bytes.Count(text, []byte("\n")) >= 16 {
				break
			}
		}
		err := load.Process.Kill()
		_ = load.Wait() // its exit code is that of the signal
		return err
	},
	"ranks": func(m *maker) error {
		at := time.Now().Add(5 * time.Second).UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
		errs := make([]error, 2)
		var running sync.WaitGroup
		for r := range errs {
			running.Go(func() {
				errs[r] = m.run("load", 0, m.observed("--out=ranks", "--rank="+fmt.Sprint(r), "--world=2", "--start-at="+at,
					"--arrival=poisson", "--rate=20", "--requests=28", "--warmup=4", "--input-tokens=40:60", "--output-tokens=6", "--save-outputs", "--slo=e2e=1s", "--label=arm=native")...)
			})
		}
		running.Wait()
		return errors.Join(errs...)
	},
	"sweep": func(m *maker) error {
		return m.verb(context.Background(), 0, slices.Concat([]string{"sweep", "--over=concurrency=1,4", "--run-id=sweep"},
			m.common("--requests=12", "--warmup=2", "--input-tokens=40", "--output-tokens=6", "--slo=ttft=100ms", "--label=arm=native"))...)
	},
	"record": func(m *maker) error {
		return m.record("record", 0, trtllmScript, "--extract=trtllm", "--telemetry="+host+"="+m.sampled, "--telemetry-interval=200ms", "--before=1s", "--after=1s", "--validity=telemetry_lost=off", "--capture=said=echo shown")
	},
	"record-failed": func(m *maker) error {
		return m.record("record-failed", 3, "echo it broke; exit 3\n", "--telemetry="+host+"="+m.sampled, "--before=0s", "--after=0s", "--validity=telemetry_lost=off")
	},
	"record-result": func(m *maker) error {
		return m.record("record-result", 0, genaiScript, "--extract=genai-bench", "--result=result", "--before=0s", "--after=0s")
	},
	"campaign": func(m *maker) error { return m.campaign("campaign", 0, campaignPlan) },
	"unserved": func(m *maker) error { return m.campaign("unserved", 3, unservedPlan) },
}

// run makes one run folder.
func (m *maker) run(id string, want int, args ...string) error {
	return m.verb(context.Background(), want, m.runArgs(id, args...)...)
}

func (m *maker) runArgs(id string, args ...string) []string {
	return slices.Concat([]string{"run", "--run-id=" + id}, m.common(args...))
}

// common adds what every run has unless it says otherwise. The limits of the client are wide: the load generator shares
// its processors with all else.
func (m *maker) common(args ...string) []string {
	usual := []string{"--out=.", "--label=host=" + host, "--log.level=error", "--web.listen-address=127.0.0.1:0", "--validity=client_lag=100ms", "--validity=client_stall=off", "--validity=stream_buffered=off"}
	if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--url=") }) {
		usual = append(usual, "--url="+m.engine)
	}
	for _, once := range []string{"--out=", "--run-id="} {
		if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, once) }) {
			usual = slices.DeleteFunc(usual, func(a string) bool { return strings.HasPrefix(a, once) })
		}
	}
	return slices.Concat(usual, args)
}

// observed adds the telemetry of the machine and the page of its KV block manager.
func (m *maker) observed(args ...string) []string {
	return append(args, "--telemetry="+host+"="+m.sampled, "--scrape=kvbm="+m.kvbm, "--telemetry-interval=200ms", "--validity=telemetry_lost=25%")
}

func (m *maker) record(id string, want int, script string, args ...string) error {
	for name, path := range map[string]string{"trtllm.log": "trtllm-bench-constructed.log", "genai-bench.log": "genai-bench.log", "genai-bench.json": "genai-bench.json"} {
		text, err := os.ReadFile(filepath.Join(root, "loadgen/enginelog/testdata", path))
		if err == nil {
			err = os.WriteFile(name, text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	program := "./" + id + ".bin/benchmark"
	if err := errors.Join(os.Mkdir(filepath.Dir(program), 0o755), os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o755)); err != nil {
		return err
	}
	return m.verb(context.Background(), want, slices.Concat([]string{"record", "--out=.", "--run-id=" + id, "--label=host=" + host, "--label=arm=native", "--web.listen-address=127.0.0.1:0", "--log.level=error"}, args, []string{"--", program, "--model", "m"})...)
}

func (m *maker) campaign(name string, want int, text string) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	text = strings.NewReplacer("BINARY", m.binary, "ADDRESS", address, "VARIABLE", asEngine, "SAMPLED", m.bare, "HOST", host).Replace(text)
	plan := name + ".yaml"
	if err := os.WriteFile(plan, []byte(text), 0o644); err != nil {
		return err
	}
	args := []string{"campaign", "run", plan, "--out=.", "--web.listen-address=127.0.0.1:0", "--log.level=error"}
	if m.hurried {
		args = append(args, "--iterations=1")
	}
	return m.verb(context.Background(), want, args...)
}

// verb runs a verb of uma-load and wants an exit code.
func (m *maker) verb(ctx context.Context, want int, args ...string) error {
	var stdout, stderr bytes.Buffer
	if code := loadgen.Run(ctx, args, &stdout, &stderr); code != want && (!m.hurried || code < 3) {
		return fmt.Errorf("uma-load %s: exit %d, want %d: %s%s", strings.Join(args, " "), code, want, stdout.String(), stderr.String())
	}
	return nil
}

// makeFolders writes the kinds into a folder, in place of what was there.
func makeFolders(names []string, into string, hurried bool) error {
	into, err := filepath.Abs(into)
	if err != nil {
		return err
	}
	m := &maker{hurried: hurried}
	defer m.close()
	if err := m.furnish(); err != nil {
		return err
	}
	if !hurried {
		for _, name := range names {
			if err := m.makeFolder(name, into); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, len(names))
	var running sync.WaitGroup
	for i, name := range names {
		running.Go(func() { errs[i] = m.makeFolder(name, into) })
	}
	running.Wait()
	return errors.Join(errs...)
}

func (m *maker) makeFolder(name, into string) error {
	kind, known := kinds[name]
	if !known {
		return fmt.Errorf("-make: %q is none of the kinds", name)
	}
	if err := kind(m); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	left := drawn
	if m.hurried {
		left = nil
	}
	return errors.Join(os.RemoveAll(filepath.Join(into, name)), keep(m.work, name, filepath.Join(into, name), left))
}

// takeDemo copies runs that uma-demo made: of two arms and of two replays.
func takeDemo(dir string) error {
	for name, pattern := range map[string]string{
		"demo-native": "abba/*-001-native-*", "demo-container": "abba/*-002-container-*", "demo-rehydrate": "rehydrate", "demo-wrong-kv": "wrong-kv",
	} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("%s: %d folders are %s, %v", dir, len(found), pattern, err)
		}
		to := filepath.Join("testdata/runs", name)
		if err := errors.Join(os.RemoveAll(to), keep(dir, found[0], to, drawn)); err != nil {
			return err
		}
		if name != "demo-rehydrate" { // pages of a whole machine: one run with them will do
			if err := os.RemoveAll(filepath.Join(to, "snapshots")); err != nil {
				return err
			}
		}
	}
	return nil
}

// drawn is what is made of a folder, and a lock.
var drawn = []string{"report.md", "report.html", "comparison.md", "comparison.html", "comparison.json", "index.html", "campaign.lock"}

// keep copies a folder without some files, and masks the machine that it was made on.
func keep(work, from, to string, without []string) error {
	hostname, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	masks := strings.NewReplacer(
		work, "/srv/golden", fmt.Sprintf("%q: %q", "hostname", hostname), fmt.Sprintf("%q: %q", "hostname", "client-1"),
		strings.TrimSpace(string(boot)), "00000000-0000-4000-8000-000000000001", strings.TrimSpace(string(kernel)), "6.17.0-1014-nvidia",
	)
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || slices.Contains(without, entry.Name()) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if text, err = masked(path, text, masks); err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		at := filepath.Join(to, below)
		return errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, text, 0o644))
	})
}

func masked(path string, text []byte, masks *strings.Replacer) ([]byte, error) {
	if filepath.Ext(path) != ".gz" {
		return []byte(masks.Replace(string(text))), nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(reader)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if err != nil { // that of a run that was killed ends in the middle, and stays so
		return text, nil
	}
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = writer.Write([]byte(masks.Replace(string(plain))))
	err = errors.Join(err, writer.Close())
	return packed.Bytes(), err
}

// furnish starts a simulated machine with an engine whose small KV cache spills over to host memory and to a disk, and
// the exporter of that machine.
func (m *maker) furnish() error {
	var err error
	if m.work, err = os.MkdirTemp("", "golden"); err != nil {
		return err
	}
	m.binary = filepath.Join(m.work, "engine")
	own, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(own)
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(m.binary, text, 0o755), os.Chdir(m.work)); err != nil {
		return err
	}
	return m.startMachine()
}

func (m *maker) startMachine() error {
	machine, err := hostsim.New(hostsim.Config{Seed: 1, Start: time.Now().UTC(), SwapBytes: 16 << 30, RailSensors: true})
	if err != nil {
		return err
	}
	const scope = "/system.slice/docker-00000000000100000000000000000000000000000000000000000000000000ab.scope"
	if err := errors.Join(machine.SetLimits(scope, hostsim.Limits{MaxBytes: 32 << 30}), machine.AddFile(weights, 40<<30)); err != nil {
		return err
	}
	process, err := machine.Start(hostsim.Program{Comm: "VLLM::EngineCor", Cgroup: scope, Threads: 84,
		OpenFiles: []hostsim.OpenFile{{Target: "/tmp/dynamo-kvbm-disk-cache-f00d (deleted)", Bytes: 24 << 30, Direct: true}}})
	if err != nil {
		return err
	}
	simulated, url, err := m.serveEngine(func(c *enginesim.Config) { demanding(c, process) })
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { machine.Run(ctx, 20) })
	kvbm := httptest.NewServer(simulated.KVBMHandler())
	m.later(kvbm.Close, func() { stop(); running.Wait(); machine.Close() })
	m.engine, m.kvbm = url, kvbm.URL+"/metrics"
	enginePage, err := engine.ParseEndpoint(url + "/metrics")
	if err != nil {
		return err
	}
	kvbmPage, err := engine.ParseEndpoint(m.kvbm)
	if err != nil {
		return err
	}
	seen := machine.Collect()
	seen.HTTP = http.DefaultTransport
	e, err := exporter.New(seen, exporter.Settings{Options: collector.Options{ProcessLimit: 3, CachePaths: []string{weights}, Sources: collector.SourceOptions{
		Targets: collector.Targets{Engines: []*engine.Endpoint{enginePage}, KVBM: []*engine.Endpoint{kvbmPage}}, BytesPerBlock: map[string]uint64{"": 16 * 128 << 10}}}})
	if err != nil {
		return err
	}
	page, bare := httptest.NewServer(leavingOut(unread, e.Handler())), httptest.NewServer(leavingOut(engines, leavingOut(unread, e.Handler())))
	m.later(page.Close, bare.Close)
	m.sampled, m.bare = page.URL+exporter.DefaultTelemetryPath, bare.URL+exporter.DefaultTelemetryPath
	return nil
}

// unread are series that no summary reads, of which there are many.
var unread = regexp.MustCompile(`(?m)^(# HELP .*|(# TYPE )?uma_(collector_(duration|privilege|last_success)|cpu_frequency|cgroup_memory_(events|stat)|gpu_call_supported|cgroup_pressure|cgroup_io_operations)\S* .*)\n`)

// engines are the series that an exporter reads of engines.
var engines = regexp.MustCompile(`(?m)^(# TYPE )?uma_(engine|kvbm|dynamo)_\S* .*\n`)

// leavingOut leaves lines out of a page of an exporter.
func leavingOut(lines *regexp.Regexp, page http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding")
		recorded := httptest.NewRecorder()
		page.ServeHTTP(recorded, r)
		text := lines.ReplaceAll(recorded.Body.Bytes(), nil)
		w.Header().Set("Content-Type", recorded.Header().Get("Content-Type"))
		_, _ = w.Write(text) // its error is the reader's
	})
}

// demanding makes the machine hold and read what the engine uses.
func demanding(c *enginesim.Config, process *hostsim.Process) {
	c.MaxModelTokens, c.KVCacheTokens = 1024, 2048
	c.KV.HostBytes, c.KV.DiskBytes, c.KV.DiskFilter = 128<<20, 4<<30, false
	var last enginesim.Use
	c.OnUse = func(u enginesim.Use) {
		read, written := max(0, u.DiskReadBytes-last.DiskReadBytes), max(0, u.DiskWrittenBytes-last.DiskWrittenBytes)
		last = u
		const reportsPerSecond = 10
		process.Demand(hostsim.Demand{
			DeviceBytes: 60<<30 + u.DeviceBytes, PinnedBytes: u.PinnedBytes, ManagedBytes: 256 << 20, AnonBytes: 4 << 30, ShmemBytes: 1 << 30,
			Read:      hostsim.FileTransfer{File: weights, BytesPerSecond: 1 << 30},
			BusyRatio: u.BusyRatio, CPUs: 2, DirectReadBytesPerSecond: read * reportsPerSecond, DirectWriteBytesPerSecond: written * reportsPerSecond,
		})
	}
}

func config() enginesim.Config {
	c := enginesim.Default()
	c.PrefillTokensPerSecond, c.DecodeBase, c.DecodePerSequence = 60000, 5*time.Millisecond, 100*time.Microsecond
	return c
}

func (m *maker) startEngine(change func(*enginesim.Config)) (url string, err error) {
	_, url, err = m.serveEngine(change)
	return url, err
}

func (m *maker) serveEngine(change func(*enginesim.Config)) (*enginesim.Engine, string, error) {
	c := config()
	change(&c)
	engine, url, stop, err := enginesim.Serve(c)
	if err == nil {
		m.later(stop)
	}
	return engine, url, err
}

// later has something closed at the end.
func (m *maker) later(closers ...func()) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.closers = append(m.closers, closers...)
}

// serveAt is a process of an arm: an engine that serves until it is ended.
func serveAt(address string) error {
	c := config()
	c.PrefillTokensPerSecond = math.Inf(1)
	if strings.HasSuffix(os.Getenv(asEngine+"_ARM"), "slow") {
		c.DecodeBase *= 2
	}
	engine, err := enginesim.New(c)
	if err != nil {
		return err
	}
	fmt.Print(vllmLog)
	go func() { _ = engine.Run(context.Background()) }()
	return http.ListenAndServe(address, engine.Handler())
}

func (m *maker) close() {
	for _, closer := range slices.Backward(m.closers) {
		closer()
	}
	_ = os.RemoveAll(m.work)
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func numbers(all ...uint64) []uint64 { return all }
