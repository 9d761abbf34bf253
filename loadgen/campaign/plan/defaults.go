package plan

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// setDefaults sets all defaults. No other function sets one.
func (p *Plan) setDefaults() {
	if p.Name == "" && p.from != nil {
		base := filepath.Base(p.from.file)
		p.Name = strings.TrimSuffix(strings.TrimSuffix(base, ".yaml"), ".yml")
	}
	otherwise(p, "iterations", &p.Iterations, 10)
	otherwise(p, "order", &p.Order, ABBA)
	otherwise(p, "seed", &p.Seed, 1337)
	otherwise(p, "page_cache.policy", &p.PageCache.Policy, "keep")
	otherwise(p, "on_invalid.repeat", &p.OnInvalid.Repeat, 2)
	otherwise(p, "on_invalid.then", &p.OnInvalid.Then, "skip")
	otherwise(p, "on_invalid.stop_after", &p.OnInvalid.StopAfter, 3)
	p.gateDefaults()
	for i := range p.Arms {
		p.armDefaults(item("arms", i), &p.Arms[i])
	}
	for i := range p.Scenarios {
		if record := p.Scenarios[i].Record; record != nil {
			otherwise(p, item("scenarios", i)+".record.extract", &record.Extract, "none")
		}
	}
	for i := range p.Checks {
		path, c := item("checks", i), &p.Checks[i]
		otherwise(p, path+".timeout", &c.Timeout, 5*time.Minute)
		if len(c.When) == 0 {
			c.When = []string{"before", "after"}
			p.defaulted(path+".when", "before, after")
		}
	}
	for i := range p.AbortIf {
		otherwise(p, item("abort_if", i)+".absent_after", &p.AbortIf[i].AbsentAfter, 1)
	}
}

// otherwise sets a default if the file does not have the path.
func otherwise[T any](p *Plan, path string, into *T, fallback T) {
	if !p.given(path) {
		*into = fallback
		p.defaulted(path, fallback)
	}
}

// defaulted records a default for the dry run, once for all arms and processes that use it.
func (p *Plan) defaulted(path string, value any) {
	if path == "seed" && p.Order != Random {
		return // no output shows it
	}
	text := fmt.Sprint(value)
	if d, ok := value.(time.Duration); ok {
		text = planDuration(d)
	}
	line := regexp.MustCompile(`\[\d+\]`).ReplaceAllString(path, "[]") + ": " + text
	if !slices.Contains(p.defaults, line) {
		p.defaults = append(p.defaults, line)
	}
}

// planDuration formats a duration as in a plan: 5m, not 5m0s.
func planDuration(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// orOff is otherwise for a gate, which may be off.
func orOff[T any](p *Plan, name string, into **T, fallback T) {
	if *into == nil && !slices.Contains(p.Gates.Off, name) {
		*into = &fallback
		p.defaulted("gates."+name, fallback)
	}
}

func (p *Plan) gateDefaults() {
	g := &p.Gates
	otherwise(p, "gates.timeout", &g.Timeout, 30*time.Minute)
	orOff(p, "cooldown", &g.Cooldown, 5*time.Minute)
	if g.WithinFirstCelsius == nil {
		orOff(p, "gpu_celsius", &g.GPUCelsius, 45)
	}
	orOff(p, "cpu_ratio", &g.CPURatio, 0.1)
	orOff(p, "mem_free_within", &g.MemFreeWithin, Bytes(1<<30))
}

func (p *Plan) armDefaults(path string, a *Arm) {
	for i := range a.Files {
		otherwise(p, item(path+".files", i)+".mode", &a.Files[i].Mode, "0640")
	}
	for i := range a.Processes {
		at, one := item(path+".processes", i), &a.Processes[i]
		if one.Name == "" && len(one.Argv) > 0 {
			one.Name = filepath.Base(one.Argv[0])
		}
		otherwise(p, at+".stop.signal", &one.Stop.Signal, "SIGTERM")
		otherwise(p, at+".stop.timeout", &one.Stop.Timeout, 30*time.Second)
		if one.Ready != nil {
			otherwise(p, at+".ready.timeout", &one.Ready.Timeout, 10*time.Minute)
			otherwise(p, at+".ready.every", &one.Ready.Every, 2*time.Second)
			otherwise(p, at+".ready.consecutive", &one.Ready.Consecutive, 2)
		}
		if one.Alive != nil {
			otherwise(p, at+".alive.every", &one.Alive.Every, 10*time.Second)
			otherwise(p, at+".alive.consecutive", &one.Alive.Consecutive, 3)
		}
	}
}
