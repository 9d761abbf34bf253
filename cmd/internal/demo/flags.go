package demo

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/exporter"
)

// options is the command line of the demo itself.
type options struct {
	out      string
	seed     uint64
	duration time.Duration
}

// showOptions is the command line of show.
type showOptions struct {
	out  string
	seed uint64
	// quick makes less of everything, serve keeps it open at listen until an interrupt; explicit says that listen was
	// asked for.
	quick, serve bool
	listen       string
	explicit     bool
}

const about = "Shows umascope on this machine in about 40 seconds: no GPU, no Docker, nothing installed.\n\n" +
	"Two exporters (this host as it is, and a constructed DGX Spark), a simulated engine, a load run, a report. " +
	"That is what is done without a command; uma-demo show --help lists its flags."

const aboutSimulate = `Keep a simulated DGX Spark with a simulated engine alive, for dashboards and alerts without a GPU. Everything that it serves says that it is simulated.

Arms native and container take turns in an order that time cannot explain, and so do the scenarios standard and eviction_replay. After half a cycle of eight runs the arms are compared. The first cycle in an empty folder has no pauses, the ones after it a run every --every.
After the first run, and then about every 15 minutes, something goes wrong on purpose: a container is killed at its limit, memory runs out, the room gets hot; in turn. Nothing is measured while it does.
On SIGTERM the run in flight ends with a complete folder, within some 8 seconds. Started again it goes on where it was.`

const defaultHealthURL = "http://" + exporter.DefaultAddress + healthyPath

// commandLine is what was asked for.
type commandLine struct {
	command  string
	ended    bool // help or version was printed: nothing else is to be done
	show     options
	simulate simulateOptions
	health   string
}

// The commands.
const (
	commandShow        = "show"
	commandSimulate    = "simulate"
	commandHealthcheck = "healthcheck"
)

// parse reads the arguments.
func parse(args []string, stdout io.Writer) (l commandLine, err error) {
	app := kingpin.New("uma-demo", about)
	app.UsageWriter(stdout).ErrorWriter(stdout).Terminate(func(int) { l.ended = true })
	app.HelpFlag.Short('h')
	show := app.Command(commandShow, "The demo; what is done when no command is given.").Default()
	show.Flag("out", "Folder to write to.").Default("uma-demo").StringVar(&l.show.out)
	show.Flag("seed", "Seed of the simulated engine and of the load.").Default("1").Uint64Var(&l.show.seed)
	show.Flag("duration", "How long to measure.").Default("25s").DurationVar(&l.show.duration)
	simulateFlags(app.Command(commandSimulate, aboutSimulate), &l.simulate)
	app.Command(commandHealthcheck, "Ask a running simulation whether it is alive: exit 0 if it is and its runs come about.").
		Flag("url", "Health page to ask.").Default(defaultHealthURL).StringVar(&l.health)
	l.command, err = app.Parse(args)
	if err == nil {
		err = l.check()
	}
	return l, err
}

func simulateFlags(c *kingpin.CmdClause, o *simulateOptions) {
	c.Flag("host", "Name of the simulated machine: label host of its runs.").Default("sim-spark").StringVar(&o.host)
	c.Flag("exporter.listen-address", "Address of its exporter.").Default(exporter.DefaultAddress).StringVar(&o.exporter)
	c.Flag("load.listen-address", "Address of the live metrics of runs, while they last.").Default("127.0.0.1:10421").StringVar(&o.load)
	c.Flag("engine.listen-address", "Address of the engine.").Default("127.0.0.1:8000").StringVar(&o.engine)
	c.Flag("kvbm.listen-address", "Address of the metrics of its KV block manager.").Default("127.0.0.1:6880").StringVar(&o.kvbm)
	c.Flag("runs", "Folder of run folders, for this alone, since older runs in it are removed: one with other runs is refused.").Default("runs").StringVar(&o.runs)
	c.Flag("every", "Time from one run to the next. A run takes about a minute.").Default("3m").DurationVar(&o.every)
	c.Flag("keep", "How many runs are kept, about 1 MB each.").Default("40").IntVar(&o.keep)
	c.Flag("seed", "Seed of machine, engine and load.").Default("1").Uint64Var(&o.seed)
}

// check refuses values that have no meaning.
func (l commandLine) check() error {
	o := l.simulate
	switch {
	case l.command == commandShow && l.show.duration <= 0:
		return fmt.Errorf("--duration %v: must be positive", l.show.duration)
	case l.command != commandSimulate:
		return nil
	case o.every <= 0:
		return fmt.Errorf("--every %v: must be positive", o.every)
	case o.keep < cycle:
		return fmt.Errorf("--keep %d: must be at least %d, of which the arms are compared", o.keep, cycle)
	case !regexp.MustCompile(`^[A-Za-z0-9._-]{1,63}$`).MatchString(o.host):
		return fmt.Errorf("--host %q: want letters, digits, . _ and -, at most 63", o.host)
	}
	return nil
}

// loadArguments is the uma-load command line of the demo: what it does can be repeated by hand.
func loadArguments(c *cast, out, run string, o options) []string {
	return []string{
		"run", "--url", c.engineURL, "--engine", "vllm",
		"--telemetry", c.here.name + "=" + c.here.url, "--telemetry", c.spark.name + "=" + c.spark.url,
		"--arrival", "poisson", "--rate", "3", "--duration", o.duration.String(), "--warmup", "8",
		"--input-tokens", "64:768", "--output-tokens", "24:96",
		"--seed", strconv.FormatUint(o.seed, 10),
		"--label", "arm=demo", "--label", "engine=simulated", "--label", "host=" + c.here.name,
		"--out", out, "--run-id", run, "--web.listen-address", "127.0.0.1:0", "--log-level", "warn",
	}
}
