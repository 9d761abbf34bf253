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

  uma-view
  uma-view --runs runs --targets spark-2.yaml
  uma-view --remote-write http://prometheus.example.org:9090/api/v1/write

It scrapes the running uma-exporter, or collects itself where none runs, and keeps the samples in --data. It is a
Prometheus data source of Grafana at its own address. Ctrl-C ends it.`

// options are the flags.
type options struct {
	listen     string
	explicit   bool
	allowHosts []string
	data, runs string
	exporter   string
	targets    []string
	remote     []string
	interval   time.Duration
	keep       time.Duration
	keepBytes  int64
	logLevel   string
}

func parseOptions(args []string, stdout, stderr io.Writer) (o options, ended bool, err error) {
	app := kingpin.New("uma-view", about)
	app.Terminate(func(int) { ended = true }).UsageWriter(stdout).ErrorWriter(stderr)
	app.Version(program())
	terminal.Guide{}.Apply(app)
	terminal.Flag(app, "web.listen-address", "Address of the pages.", DefaultAddress, &o.listen, hostPort).IsSetByUser(&o.explicit)
	webserver.AllowHostFlag(app, &o.allowHosts)
	app.Flag("data", "Folder of the samples. Default: umascope/view below $XDG_STATE_HOME, which is ~/.local/state if it is not set; of a service, the folder that systemd gives it.").PlaceHolder("FOLDER").StringVar(&o.data)
	app.Flag("runs", "Folder of the runs of uma-load.").Default("runs").StringVar(&o.runs)
	terminal.Flag(app, "exporter", "Metrics page of this machine's uma-exporter. Default: http://127.0.0.1:10420/metrics if it answers at the start, else the collectors of this process.", "", &o.exporter, httpAddress)
	app.Flag("targets", "File of other machines, in the format of Prometheus' file_sd; read again when it changes; may be repeated.").PlaceHolder("FILE").StringsVar(&o.targets)
	terminal.Flags(app, "remote-write", "URL of a remote write endpoint that gets all samples; may be repeated.", &o.remote, httpAddress, terminal.NameOnly).PlaceHolder("URL")
	terminal.Flag(app, "scrape-interval", "Time between two scrapes.", "5s", &o.interval, terminal.DurationWithin(time.Second, time.Minute))
	terminal.Flag(app, "retention.time", "How long samples are kept.", "360h", &o.keep, terminal.DurationWithin(time.Hour, 10*365*24*time.Hour))
	terminal.Flag(app, "retention.size", "Most bytes of samples kept, with unit B, KB, MB, GB.", "1GB", &o.keepBytes, bytes)
	terminal.Flag(app, "log-level", "Least severe messages to print: debug, info, warn or error.", "warn", &o.logLevel, terminal.OneOf("debug", "info", "warn", "error"))
	if _, err = app.Parse(args); err != nil || ended {
		return o, ended, terminal.Mend(app, args, err)
	}
	if o.data == "" {
		o.data = defaultData()
	}
	// Before the first run there is no such folder.
	if _, err := os.ReadDir(o.runs); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return o, false, fmt.Errorf("--runs %s: it cannot be read, give another folder: %w", o.runs, pathCause(err))
	}
	for _, file := range o.targets {
		if _, err := os.Stat(file); err != nil {
			return o, false, fmt.Errorf("--targets: %w", err)
		}
	}
	return o, false, nil
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

func httpAddress(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("want http://HOST:PORT/PATH")
	}
	return text, nil
}

func bytes(text string) (int64, error) {
	n, err := units.ParseBase2Bytes(text)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is not a size above 0, such as 1GB", text)
	}
	return int64(n), nil
}
