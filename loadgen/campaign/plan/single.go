package plan

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Flag is a flag of a verb, by its long name.
type Flag struct{ Name, Value string }

// Join returns flags as a plan has them: a flag that is there several times has a line for each.
func Join(flags []Flag) map[string]string {
	joined := map[string]string{}
	for _, f := range flags {
		if before, there := joined[f.Name]; there {
			f.Value = before + "\n" + f.Value
		}
		joined[f.Name] = f.Value
	}
	return joined
}

// Differing returns the flags, joined, that a list has and another has not, or has otherwise.
func Differing(flags, from []Flag) map[string]string {
	all, known := Join(flags), Join(from)
	for name, value := range known {
		if all[name] == value {
			delete(all, name)
		}
	}
	return all
}

// Single is a plan with one model, one arm and one run of each scenario, against a server that runs already.
type Single struct {
	Name, Arm string
	// Values are what the scenarios are made from, for readers of the plan.
	Values    map[string]string
	Flags     []Flag
	Scenarios []Scenario
	// Cooldown is the least time between two runs, GPUCelsius the temperature to wait for; 0 waits for none.
	Cooldown   time.Duration
	GPUCelsius float64
}

// SingleModel is the name of the model of such a plan: the one that is served.
const SingleModel = "served"

// Text returns the plan as a file. A run that fails or is invalid is not repeated.
func (s Single) Text() ([]byte, error) {
	gates := map[string]any{}
	off := []string{"cpu_ratio", "mem_free_within"}
	if s.Cooldown > 0 {
		gates["cooldown"] = s.Cooldown.String()
	} else {
		off = append(off, "cooldown")
	}
	if s.GPUCelsius > 0 {
		gates["gpu_celsius"] = s.GPUCelsius
	} else {
		off = append(off, "gpu_celsius")
	}
	gates["off"] = off
	flags := Join(s.Flags)
	pages := map[string]any{}
	for _, name := range []string{"telemetry", "scrape"} {
		if text, given := flags[name]; given {
			pages[name] = strings.Split(literal(text), "\n")
			delete(flags, name)
		}
	}
	var scenarios []map[string]any
	for _, one := range s.Scenarios {
		scenarios = append(scenarios, map[string]any{"name": one.Name, "run": asList(one.Run)})
	}
	document := map[string]any{
		"schema": Schema, "name": s.Name, "values": s.Values, "models": []map[string]any{{"name": SingleModel}}, "arms": []map[string]any{{"name": s.Arm}},
		"scenarios": scenarios, "iterations": 1, "order": Sequential, "gates": gates, "flags": asList(flags),
		"on_invalid": map[string]any{"repeat": 0, "stop_after": mostSlots},
	}
	for name, list := range pages {
		document[name] = list
	}
	return yaml.Marshal(document)
}

// asList returns flags for the file. Those that are there several times are lists.
func asList(flags map[string]string) map[string]any {
	all := map[string]any{}
	for name, text := range Literals(flags) {
		all[name] = text
		if lines := strings.Split(text, "\n"); len(lines) > 1 {
			all[name] = lines
		}
	}
	return all
}

// Literals returns the templates that render to the texts.
func Literals(texts map[string]string) map[string]string {
	all := map[string]string{}
	for name, text := range texts {
		all[name] = literal(text)
	}
	return all
}

func literal(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }
