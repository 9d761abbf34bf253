package demo

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/alecthomas/kingpin/v2"
)

// options is the command line.
type options struct {
	out      string
	seed     uint64
	duration time.Duration
}

// parse reads the arguments; done when help or version was asked for and printed.
func parse(args []string, stdout io.Writer) (o options, done bool, err error) {
	app := kingpin.New("uma-demo", "Shows umascope on this machine in about 40 seconds: no GPU, no Docker, nothing installed.\n\n"+
		"Two exporters (this host as it is, and a constructed DGX Spark), a simulated engine, a load run, a report.")
	app.UsageWriter(stdout).ErrorWriter(stdout).Terminate(func(int) { done = true })
	app.HelpFlag.Short('h')
	app.Flag("out", "Folder to write to.").Default("uma-demo").StringVar(&o.out)
	app.Flag("seed", "Seed of the simulated engine and of the load.").Default("1").Uint64Var(&o.seed)
	app.Flag("duration", "How long to measure.").Default("25s").DurationVar(&o.duration)
	_, err = app.Parse(args)
	if err == nil && o.duration <= 0 {
		err = fmt.Errorf("--duration %v: must be positive", o.duration)
	}
	return o, done, err
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
