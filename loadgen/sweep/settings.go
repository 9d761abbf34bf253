package sweep

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/workload"
)

// Settings are the flags of a sweep that a run does not have.
type Settings struct {
	over           Over
	search         SearchKind
	tolerance      float64
	toleranceGiven bool
	pause          time.Duration
	pauseGiven     bool
	stopErrorRatio float64
	samePrompts    bool
	// Resume is the folder or the name of the sweep to go on with; empty for a new one.
	Resume string
}

// Flags declares the flags of a sweep that a run does not have.
func Flags(set terminal.FlagSet) *Settings {
	s := &Settings{}
	terminal.Flag(set, "over", "What differs from point to point: concurrency=LIST, rate=LIST (poisson, unless --arrival is given), shape=LIST of T1 to T6, or set.KEY=LIST for a size of the scenario. A list has values such as 1,4,8,16 and ranges: 1..4, 1..9+2, 1..64x2, T1..T6. "+
		"Unless --requests or --duration is given, a point of the standard scenario measures 10 requests a slot or those of a minute, 100 at least; a shape, 100 times its batch after 10 times for warm-up.", "", &s.over, ParseOver).Required()
	terminal.Flag(set, "search", "Look for a limit within --over, such as rate=1..64: slo is the highest load that keeps --slo, saturation the one from which a server no longer gains (concurrency) or keeps up (rate).", "", &s.search, terminal.OneOf(SearchKinds()...))
	terminal.Flag(set, "tolerance", "How far apart the two loads may be that a search ends with, as a share of the lower.", "10%", &s.tolerance, terminal.ShareWithin(0.01, 1)).IsSetByUser(&s.toleranceGiven)
	terminal.Flag(set, "pause", "Time between two runs; 30s between shapes, else 0s, if not given.", "", &s.pause, terminal.Duration).IsSetByUser(&s.pauseGiven)
	terminal.Flag(set, "stop-error-rate", "Share of failed requests from which on no further value of a list is measured, or off.", "10%", &s.stopErrorRatio, shareOrOff)
	set.Flag("same-prompts", "Send the same prompts in every run, which a prefix cache may have; else each run has its own.").BoolVar(&s.samePrompts)
	terminal.Flag(set, "resume", "Go on with a sweep that was interrupted, by folder or ID; give its other flags again.", "", &s.Resume, terminal.Text).PlaceHolder("ID")
	return s
}

func shareOrOff(s string) (float64, error) {
	if s == "off" {
		return 0, nil
	}
	return terminal.ShareWithin(0.0001, 1)(s)
}

// Plan returns the sweep that the flags describe. Its runs derive their seeds from seed; hasSLO is true if they are
// judged by an SLO.
func (s *Settings) Plan(seed uint64, hasSLO bool) (Sweep, error) {
	p := Sweep{Over: s.over, StopErrorRatio: s.stopErrorRatio, Pause: s.pause, Seed: seed, SamePrompts: s.samePrompts}
	if s.over.Name == OverShape && !s.pauseGiven {
		p.Pause = shapePause
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
	if s.search == ForSLO && !hasSLO {
		return p, errors.New("--search slo: add --slo")
	}
	search, err := newSearch(s.search, s.over, s.tolerance)
	if err != nil {
		return p, fmt.Errorf("--search: %w", err)
	}
	p.Search = &search
	return p, nil
}

// Own returns the flags that describe the sweep and not its runs, and must be the same when it is resumed.
func Own() []string {
	return []string{"over", "search", "tolerance", "pause", "stop-error-rate", "same-prompts", "seed"}
}

// PointFlags returns the flags of a point's run: the flags of all runs, and the point's own value.
func PointFlags(given []plan.Flag, over Over, v Value) ([]plan.Flag, error) {
	has := func(name string) bool {
		return slices.ContainsFunc(given, func(f plan.Flag) bool { return f.Name == name })
	}
	fixed, fallback := over.Flags(v)
	flags := slices.Clone(given)
	for _, f := range fixed {
		if f.Name != "set" && has(f.Name) {
			return nil, fmt.Errorf("--%s: --over %s says it", f.Name, over.Name)
		}
		flags = append(flags, f)
	}
	sized := slices.ContainsFunc(given, func(f plan.Flag) bool {
		return f.Name == "duration" || f.Name == "stages" || f.Name == "scenario" && f.Value != workload.ScenarioStandard
	})
	for _, f := range fallback {
		if !has(f.Name) && !(f.Name == "requests" && sized) {
			flags = append(flags, f)
		}
	}
	return append(flags, plan.Flag{Name: "label", Value: over.Label() + "=" + v.Text}), nil
}
