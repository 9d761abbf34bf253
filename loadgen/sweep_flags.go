package loadgen

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/sweep"
	"github.com/umascope/umascope/loadgen/workload"
)

const sweepHelp = `Measure a server at several loads, or find its limit.

  uma-load sweep --url http://127.0.0.1:8000 --over concurrency=1..64x2
  uma-load sweep --url http://127.0.0.1:8000 --over rate=0.5..32 \
      --search slo --slo ttft=500ms,tpot=50ms
  uma-load sweep --url http://127.0.0.1:8000 --over rate=0.5..32 \
      --search saturation

One run for each point, side by side in one folder, with a table and curves over load. All flags of run apply to every point; --run-id and --label name and mark the sweep.

Exit codes: 1 if it was interrupted or a run failed; 3 if a run is INVALID, or one that tells nothing ended a search; 4 if no load keeps --slo. What was measured is in the folder in any case.`

// sweepSettings holds the flags of sweep that run does not have.
type sweepSettings struct {
	over           sweep.Over
	search         sweep.Kind
	tolerance      float64
	toleranceGiven bool
	pause          time.Duration
	pauseGiven     bool
	stopErrorRatio float64
	samePrompts    bool
}

func sweepFlags(set terminal.FlagSet) *sweepSettings {
	s := &sweepSettings{}
	terminal.Flag(set, "over", "What differs from point to point: concurrency=LIST, rate=LIST (poisson, unless --arrival says otherwise), shape=LIST of T1 to T6, or set.KEY=LIST for a size of the scenario. A list has values such as 1,4,8,16 and ranges: 1..4, 1..9+2, 1..64x2, T1..T6. "+
		"Unless --requests or --duration is given, a point of the standard scenario measures 10 requests a slot or those of a minute, 100 at least; a shape, 100 times its batch after 10 times for warm-up.", "", &s.over, sweep.ParseOver).Required()
	terminal.Flag(set, "search", "Look for a limit between the two ends of --over, such as rate=1..64: slo is the highest load that keeps --slo, saturation the one from which on a server no longer gains (concurrency) or keeps up (rate). Doubles, then halves, and measures the highest load within the limit twice. A run that is invalid by the fault of the client is repeated twice.", "", &s.search, terminal.OneOf(sweep.Kinds()...))
	terminal.Flag(set, "tolerance", "How far apart the two loads may be that a search ends with, as a share of the lower.", "10%", &s.tolerance, percentWithin(0.01, 1)).IsSetByUser(&s.toleranceGiven)
	terminal.Flag(set, "pause", "Time between two runs; 30s between shapes, else 0s, if not given.", "", &s.pause, terminal.Duration).IsSetByUser(&s.pauseGiven)
	terminal.Flag(set, "stop-error-rate", "Share of failed requests from which on no further value of a list is measured, or off.", "10%", &s.stopErrorRatio, percentOrOff)
	set.Flag("same-prompts", "Send the same prompts in every run, of one seed: each point after the first may be answered from the server's prefix cache. Otherwise each run has prompts and a seed of its own. The prompts of a file are the same in any case.").BoolVar(&s.samePrompts)
	return s
}

// percentWithin returns a parser for a share, written as 10% or 0.1.
func percentWithin(least, most float64) func(string) (float64, error) {
	return func(s string) (float64, error) {
		text, percent := strings.CutSuffix(s, "%")
		v, err := strconv.ParseFloat(text, 64)
		if percent {
			v /= 100
		}
		if err != nil || !(v >= least && v <= most) {
			return 0, fmt.Errorf("%q is not between %g%% and %g%%", s, 100*least, 100*most)
		}
		return v, nil
	}
}

func percentOrOff(s string) (float64, error) {
	if s == "off" {
		return 0, nil
	}
	return percentWithin(0.0001, 1)(s)
}

// plan returns the sweep that the flags describe.
func (s *sweepSettings) plan(run *settings) (sweep.Plan, error) {
	p := sweep.Plan{Over: s.over, StopErrorRatio: s.stopErrorRatio, Pause: s.pause, Seed: run.Seed, SamePrompts: s.samePrompts}
	if s.over.Name == sweep.Shapes && !s.pauseGiven {
		p.Pause = sweep.ShapePause
	}
	if s.search == "" {
		if s.toleranceGiven {
			return p, errors.New("--tolerance: add --search")
		}
		var err error
		if p.Values, err = s.over.Points(); err != nil {
			err = fmt.Errorf("--over: %s: %w", s.over.Name, err)
		}
		return p, err
	}
	if s.search == sweep.ForSLO && len(run.SLO) == 0 {
		return p, errors.New("--search slo: add --slo")
	}
	search, err := sweep.NewSearch(s.search, s.over, s.tolerance)
	if err != nil {
		return p, fmt.Errorf("--search: %w", err)
	}
	p.Search = &search
	return p, nil
}

// given returns the flags on the command line, in order.
func (l *commandLine) given() ([]sweep.Flag, error) {
	context, err := l.app.ParseContext(l.args)
	if err != nil {
		return nil, err
	}
	var given []sweep.Flag
	for _, element := range context.Elements {
		if clause, is := element.Clause.(*kingpin.FlagClause); is && element.Value != nil {
			given = append(given, sweep.Flag{Name: clause.Model().Name, Value: *element.Value})
		}
	}
	return given, nil
}

// ofSweep returns the flags that describe the sweep and not its runs.
func ofSweep() []string {
	return []string{"over", "search", "tolerance", "pause", "stop-error-rate", "same-prompts", "out", "run-id", "seed", "web.listen-address", "web.allow-host", "web.config.file", "web.linger"}
}

// pointFlags returns the flags of a point's run: those of the sweep, and the point's own value.
func pointFlags(given []sweep.Flag, over sweep.Over, v sweep.Value) ([]sweep.Flag, error) {
	has := func(name string) bool {
		return slices.ContainsFunc(given, func(f sweep.Flag) bool { return f.Name == name })
	}
	fixed, fallback := over.Flags(v)
	flags := slices.DeleteFunc(slices.Clone(given), func(f sweep.Flag) bool { return slices.Contains(ofSweep(), f.Name) })
	for _, f := range fixed {
		if f.Name != "set" && has(f.Name) {
			return nil, fmt.Errorf("--%s: --over %s says it", f.Name, over.Name)
		}
		flags = append(flags, f)
	}
	sized := slices.ContainsFunc(given, func(f sweep.Flag) bool {
		return f.Name == "duration" || f.Name == "stages" || f.Name == "scenario" && f.Value != workload.ScenarioStandard
	})
	for _, f := range fallback {
		if !has(f.Name) && !(f.Name == "requests" && sized) {
			flags = append(flags, f)
		}
	}
	return append(flags, sweep.Flag{Name: "label", Value: over.Label() + "=" + v.Text}), nil
}

// arguments returns flags as arguments of a run's command line.
func (l *commandLine) arguments(flags []sweep.Flag) []string { return argumentsOf(l.run, flags) }
