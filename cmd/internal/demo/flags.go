package demo

import (
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/cmd/webserver"
	"github.com/umascope/umascope/exporter"
)

// showOptions is the command line of show.
type showOptions struct {
	out  string
	seed uint64
	// quick makes a smaller demo. serve keeps it open at listen until an interrupt. explicit reports that the command
	// line set listen.
	quick, serve bool
	listen       string
	explicit     bool
	allowHosts   []string
}

// defaultShowAddress is the address of a demo that is kept open.
const defaultShowAddress = "127.0.0.1:10423"

const defaultHealthURL = "http://" + exporter.DefaultAddress + webserver.HealthPath

// commandLine is the parsed command line.
type commandLine struct {
	command  string
	ended    bool // help or version was printed: the program ends
	show     showOptions
	simulate simulateOptions
	arm      armOptions
	health   string
}

// The commands.
const (
	commandShow        = "show"
	commandArm         = "arm"
	commandSimulate    = "simulate"
	commandHealthcheck = "healthcheck"
)

// parse reads the arguments.
func parse(args []string, stdout io.Writer) (l commandLine, err error) {
	app := l.application()
	app.UsageWriter(stdout).ErrorWriter(stdout).Terminate(func(int) { l.ended = true })
	l.command, err = app.Parse(args)
	if err != nil {
		return l, terminal.Mend(app, args, err)
	}
	return l, l.check()
}

// application returns the flags and commands that the program accepts.
func (l *commandLine) application() *kingpin.Application {
	app := kingpin.New("uma-demo", about).Version(terminal.Version("uma-demo"))
	guide().Apply(app)
	showFlags(app.Command(commandShow, aboutShow()).Default(), &l.show)
	armFlags(app.Command(commandArm, aboutArm).Hidden(), &l.arm)
	simulateFlags(app.Command(commandSimulate, aboutSimulate), &l.simulate)
	app.Command(commandHealthcheck, aboutHealthcheck).
		Flag("url", "Health page to ask.").Default(defaultHealthURL).StringVar(&l.health)
	return app
}

func showFlags(c *kingpin.CmdClause, o *showOptions) {
	c.Flag("out", "Folder to write to. What lies there stays, but for report.html.").Default("uma-demo").StringVar(&o.out)
	c.Flag("quick", "Less of everything and a model of 8 GiB, in about 20 seconds: too few runs for intervals that say much.").BoolVar(&o.quick)
	c.Flag("serve", "Keep uma-view open over it until Ctrl-C, with the exporters and engines of the machines.").BoolVar(&o.serve)
	c.Flag("web.listen-address", "Address of what --serve keeps open.").Default(defaultShowAddress).IsSetByUser(&o.explicit).StringVar(&o.listen)
	webserver.AllowHostFlag(c, &o.allowHosts)
	c.Flag("seed", "Seed of machines, engines and load.").Default("1").Uint64Var(&o.seed)
}

func armFlags(c *kingpin.CmdClause, o *armOptions) {
	c.Arg("name", "Arm: native or container.").Required().StringVar(&o.name)
	c.Flag("stage", "Address of a machine of a running demo.").Required().StringVar(&o.stage)
	c.Flag("drop-caches", "Empty the page cache of that machine first.").BoolVar(&o.dropCaches)
}

func simulateFlags(c *kingpin.CmdClause, o *simulateOptions) {
	c.Flag("host", "Name of the simulated machine: label host of its runs.").Default("sim-spark").StringVar(&o.host)
	c.Flag("exporter.listen-address", "Address of its exporter.").Default(exporter.DefaultAddress).StringVar(&o.exporter)
	c.Flag("load.listen-address", "Address of the live metrics of runs, while they last.").Default("127.0.0.1:10421").StringVar(&o.load)
	c.Flag("engine.listen-address", "Address of the engine.").Default("127.0.0.1:8000").StringVar(&o.engine)
	c.Flag("kvbm.listen-address", "Address of the metrics of its KV block manager.").Default("127.0.0.1:6880").StringVar(&o.kvbm)
	webserver.AllowHostFlag(c, &o.allowHosts)
	c.Flag("runs", "Folder of run folders, for this alone, since older runs in it are removed: one with other runs is refused.").Default("simulated-runs").StringVar(&o.runs)
	c.Flag("every", "Time from one run to the next. A run takes about a minute.").Default("3m").DurationVar(&o.every)
	c.Flag("keep", "How many runs are kept, about 1 MB each.").Default("40").IntVar(&o.keep)
	c.Flag("seed", "Seed of machine, engine and load.").Default("1").Uint64Var(&o.seed)
}

// check rejects values without a meaning.
func (l commandLine) check() error {
	o := l.simulate
	switch {
	case l.command == commandShow && l.show.out == "":
		return errors.New("--out: it is empty: name a folder that you may write to")
	case l.command == commandShow && l.show.explicit && !l.show.serve:
		return fmt.Errorf("--web.listen-address %s: nothing is kept open there without --serve", l.show.listen)
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
