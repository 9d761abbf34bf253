package plan

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/cmd/terminal"
)

// mostSlots is the most slots of a campaign: a year of runs of five minutes each.
const mostSlots = 100_000

// check returns the first error of a plan whose keys and values are decoded.
func (p *Plan) check() error {
	for _, step := range []func() error{p.checkNames, p.checkSize, p.checkValues, p.checkArms, p.checkScenarios, p.checkRules, p.checkChecks, p.checkCells} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) checkNames() error {
	if !terminal.PlainName(p.Name) { // it may come from the file's name
		return p.errorAt("name", "%q: want letters, digits, . _ and -, not beginning with a dot, at most 128", p.Name)
	}
	for _, list := range []struct {
		path  string
		names []string
	}{
		{"models", p.modelNames()}, {"arms", p.armNames()}, {"scenarios", p.scenarioNames()},
		{"checks", namesOf(p.Checks, func(c Check) string { return c.Name })},
		{"collect", namesOf(p.Collect, func(c Collect) string { return c.Name })},
	} {
		if err := p.checkUnique(list.path, list.names); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) checkUnique(path string, names []string) error {
	for i, name := range names {
		if first := slices.Index(names, name); first < i {
			return p.errorAt(item(path, i)+".name", "%q is the name of %s too", name, item(path, first))
		}
	}
	return nil
}

func (p *Plan) checkSize() error {
	if p.Iterations < 1 {
		return p.errorAt("iterations", "want 1 or more")
	}
	slots := p.Iterations
	for _, n := range []int{len(p.Models), len(p.Arms), len(p.Scenarios)} {
		if slots > mostSlots/n {
			return p.errorAt("iterations", "the plan has more than %d runs", mostSlots)
		}
		slots *= n
	}
	return nil
}

func (p *Plan) checkValues() error {
	if err := p.checkValueNames("values", p.Values); err != nil {
		return err
	}
	for i, m := range p.Models {
		if err := p.checkValueNames(item("models", i)+".values", m.Values); err != nil {
			return err
		}
	}
	for i, a := range p.Arms {
		if err := p.checkValueNames(item("arms", i)+".values", a.Values); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) checkValueNames(path string, values map[string]string) error {
	for _, name := range sortedKeys(values) {
		at := path + "." + name
		switch {
		case slices.Contains(reservedValues(), name):
			return p.errorAt(at, "is a value that every template has; choose another name")
		case !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(name):
			return p.errorAt(at, "want a name of letters, digits and _, so that {{.name}} can stand for it")
		case strings.Contains(values[name], "{{"):
			return p.errorAt(at, "a value is no template: put the parts together where they are used")
		}
	}
	return nil
}

// ownLabels returns the labels that a campaign gives to its runs.
func ownLabels() []string {
	return []string{"arm", "model", "campaign", "slot", "round", "iteration"}
}

func (p *Plan) checkArms() error {
	for i, a := range p.Arms {
		path := item("arms", i)
		for _, name := range sortedKeys(a.Labels) {
			if slices.Contains(ownLabels(), name) {
				return p.errorAt(path+".labels."+name, "the campaign sets it itself")
			}
			if !terminal.PlainName(name) {
				return p.errorAt(path+".labels."+name, "want a name of letters, digits, . _ and -")
			}
		}
		for j, f := range a.Files {
			if err := p.checkFile(item(path+".files", j), f); err != nil {
				return err
			}
		}
		if err := p.checkUnique(path+".processes", namesOf(a.Processes, func(p Process) string { return p.Name })); err != nil {
			return err
		}
		for j, one := range a.Processes {
			if err := p.checkProcess(item(path+".processes", j), one); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Plan) checkFile(path string, f File) error {
	if p.given(path+".text") == p.given(path+".source") {
		return p.errorAt(path, "want a text or a source, one of the two")
	}
	if mode, err := strconv.ParseUint(f.Mode, 8, 32); err != nil || mode > 0o777 {
		return p.errorAt(path+".mode", "%q is no octal mode such as 0640", f.Mode)
	}
	return nil
}

func (p *Plan) checkProcess(path string, one Process) error {
	if !terminal.PlainName(one.Name) { // it may come from the first word
		return p.errorAt(path+".argv", "%q is no name for a process: give it one with name", one.Name)
	}
	if err := p.checkEnv(path+".env", one.Env); err != nil {
		return err
	}
	if err := p.checkProbe(path+".ready", one.Ready); err != nil {
		return err
	}
	if p.given(path + ".alive.log") {
		return p.errorAt(path+".alive.log", "a line in a log does not show that a process is alive")
	}
	return p.checkProbe(path+".alive", one.Alive)
}

func (p *Plan) checkEnv(path string, env map[string]string) error {
	for _, name := range sortedKeys(env) {
		if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(name) {
			return p.errorAt(path+"."+name, "is no name of an environment variable")
		}
	}
	return nil
}

func (p *Plan) checkProbe(path string, probe *Probe) error {
	if probe == nil {
		return nil
	}
	var ways []string
	for _, way := range []string{"url", "log", "port", "argv"} {
		if p.given(path + "." + way) {
			ways = append(ways, way)
		}
	}
	switch {
	case len(ways) == 0:
		return p.errorAt(path, "want one of url, log, port, argv")
	case len(ways) > 1:
		return p.errorAt(path, "want one of url, log, port, argv; found %s", strings.Join(ways, " and "))
	case ways[0] == "port" && (probe.Port < 1 || probe.Port > 65535):
		return p.errorAt(path+".port", "%d is no port", probe.Port)
	case probe.Consecutive < 1:
		return p.errorAt(path+".consecutive", "want 1 or more")
	case probe.Every <= 0:
		return p.errorAt(path+".every", "want more than 0s")
	case p.given(path+".timeout") && probe.Timeout <= 0:
		return p.errorAt(path+".timeout", "want more than 0s")
	}
	return p.checkPattern(path+".log", probe.Log)
}

func (p *Plan) checkPattern(path, pattern string) error {
	if _, err := regexp.Compile(pattern); err != nil {
		return p.errorAt(path, "no pattern: %w", err)
	}
	return nil
}

func (p *Plan) checkScenarios() error {
	for i := range p.Scenarios {
		path := item("scenarios", i)
		if p.given(path+".run") == p.given(path+".record") {
			return p.errorAt(path, "want run or record, one of the two")
		}
	}
	return nil
}

// checkRules checks the rules for all runs.
func (p *Plan) checkRules() error {
	if (p.PageCache.Policy == "evict") != (len(p.PageCache.Paths) > 0) {
		return p.errorAt("page_cache", "paths belong to the policy evict, which needs them")
	}
	if err := p.checkGates(); err != nil {
		return err
	}
	if p.RepeatOutliers && p.Order == Sequential {
		return p.errorAt("repeat_outliers", "the order sequential has no rounds that could be repeated with every arm")
	}
	if p.OnInvalid.StopAfter < 1 {
		return p.errorAt("on_invalid.stop_after", "want 1 or more")
	}
	for i, a := range p.AbortIf {
		path := item("abort_if", i)
		if a.Arm != "" && !slices.Contains(p.armNames(), a.Arm) {
			return p.errorAt(path+".arm", "there is no arm %q%s", a.Arm, orNearest(a.Arm, p.armNames()))
		}
		if a.AbsentAfter < 1 {
			return p.errorAt(path+".absent_after", "want 1 or more")
		}
	}
	return nil
}

func (p *Plan) checkGates() error {
	g := p.Gates
	for _, off := range g.Off {
		if p.given("gates." + off) {
			return p.errorAt("gates.off", "%s is there too: it is off or has a value", off)
		}
	}
	switch {
	case g.GPUCelsius != nil && g.WithinFirstCelsius != nil:
		return p.errorAt("gates", "want gpu_celsius or within_first_celsius, one of the two")
	case g.WithinFirstCelsius != nil && *g.WithinFirstCelsius < 0:
		return p.errorAt("gates.within_first_celsius", "want 0 or more")
	case g.CPURatio != nil && (*g.CPURatio <= 0 || *g.CPURatio > 1):
		return p.errorAt("gates.cpu_ratio", "%g is outside 0 to 1: write 10%% or 0.1 for a tenth of all cores", float64(*g.CPURatio))
	case g.PState != "" && g.SMClock == nil:
		return p.errorAt("gates.p_state", "needs sm_clock, whose command loads the GPU")
	case g.SMClock != nil && g.SMClock.MinHertz < 1e6:
		return p.errorAt("gates.sm_clock.min_hertz", "%g is no clock of a GPU: 2.1e9 is 2100 MHz", g.SMClock.MinHertz)
	}
	return nil
}

func (p *Plan) checkChecks() error {
	for i, c := range p.Checks {
		path := item("checks", i)
		if err := p.checkPattern(path+".number", c.Number); err != nil {
			return err
		}
		if c.Number != "" && regexp.MustCompile(c.Number).NumSubexp() < 1 {
			return p.errorAt(path+".number", "the pattern has no group ( ) for the number")
		}
		if c.Min != nil && c.Max != nil && *c.Min > *c.Max {
			return p.errorAt(path, "min %g is more than max %g", *c.Min, *c.Max)
		}
		if c.Timeout <= 0 {
			return p.errorAt(path+".timeout", "want more than 0s")
		}
	}
	return nil
}

// checkCells fills in every placeholder once and checks the results.
func (p *Plan) checkCells() error {
	for _, m := range p.Models {
		for i, a := range p.Arms {
			c, err := p.Render(m.Name, a.Name, map[string]string{ValueFolder: "/folder"})
			if err != nil {
				return p.ofCell(m, a, err)
			}
			if err := p.checkCell(item("arms", i), c); err != nil {
				return p.ofCell(m, a, err)
			}
		}
	}
	return nil
}

// ofCell adds the model and the arm to an error, if there is more than one.
func (p *Plan) ofCell(m Model, a Arm, err error) error {
	fault, ok := errors.AsType[*Error](err)
	if ok && len(p.Models)*len(p.Arms) > 1 {
		fault.Err = fmt.Errorf("%w (model %s, arm %s)", fault.Err, m.Name, a.Name)
	}
	return err
}
