package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Values that templates have in addition to those of the plan.
const (
	ValuePlan     = "plan"
	ValueModel    = "model"
	ValueArm      = "arm"
	ValueScenario = "scenario" // in scenarios only: an arm may stay up for several
	ValueFolder   = "folder"   // the folder of the arm's logs, absolute; the caller passes it to Render
)

func reservedValues() []string {
	return []string{ValuePlan, ValueModel, ValueArm, ValueScenario, ValueFolder}
}

// Cell is the part of a plan for one model and one arm, with all templates filled in.
type Cell struct {
	Model     Model
	Arm       Arm
	Scenarios []Scenario
	Checks    []Check
	Collect   []Collect
	Gates     Gates
	PageCache PageCache
	// Telemetry and Scrape are those of the plan, then those of the arm.
	Telemetry, Scrape []string
	// Flags are flags of run: those of the plan, overridden by those of the arm. A scenario's own flags override both.
	Flags map[string]string
	// Values are the values that the templates were filled in with.
	Values map[string]string
}

// Scenario returns the cell's scenario with this name.
func (c *Cell) Scenario(name string) (Scenario, bool) {
	i := slices.IndexFunc(c.Scenarios, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, false
	}
	return c.Scenarios[i], true
}

// Command is a command of a cell that no process of its arm runs.
type Command struct {
	Key        string // in the plan, such as checks[0]
	Kind, Name string // such as check and its name
	Argv       []string
}

// Commands returns the commands of recorded scenarios, of checks, of collected facts and of the clock gate.
func (c *Cell) Commands() []Command {
	var all []Command
	for i, s := range c.Scenarios {
		if s.Record != nil {
			all = append(all, Command{item("scenarios", i) + ".record", "scenario", s.Name, s.Record.Argv})
		}
	}
	for i, one := range c.Checks {
		all = append(all, Command{item("checks", i), "check", one.Name, one.Argv})
	}
	for i, one := range c.Collect {
		all = append(all, Command{item("collect", i), "collect", one.Name, one.Argv})
	}
	if probe := c.Gates.SMClock; probe != nil {
		all = append(all, Command{"gates.sm_clock", "gate", "sm_clock", probe.Argv})
	}
	return all
}

// Render fills in the templates for a model and an arm. extra are values that are available only when the arm is about
// to start, such as ValueFolder; they override all others.
//
// A template that renders to an empty text is left out of lists and maps: an option of a command may be an empty
// value. The first word of a command stays. A list item that is only a template and renders to several lines becomes
// one item for each line.
func (p *Plan) Render(model, arm string, extra map[string]string) (*Cell, error) {
	m, a := slices.Index(p.modelNames(), model), slices.Index(p.armNames(), arm)
	if m < 0 {
		return nil, fmt.Errorf("the plan has no model %q%s", model, orNearest(model, p.modelNames()))
	}
	if a < 0 {
		return nil, fmt.Errorf("the plan has no arm %q%s", arm, orNearest(arm, p.armNames()))
	}
	r := &renderer{plan: p, values: p.valuesOf(p.Models[m], p.Arms[a], extra)}
	c := &Cell{Model: p.Models[m], Values: r.values, Scenarios: make([]Scenario, len(p.Scenarios))}
	c.Arm = fill(r, item("arms", a), p.Arms[a], "")
	c.Arm.Clocks = p.Clocks
	c.Checks, c.Collect = fill(r, "checks", p.Checks, ""), fill(r, "collect", p.Collect, "")
	c.Gates, c.PageCache = fill(r, "gates", p.Gates, ""), fill(r, "page_cache", p.PageCache, "")
	c.Telemetry = append(fill(r, "telemetry", p.Telemetry, isTemplate), c.Arm.Telemetry...)
	c.Scrape = append(fill(r, "scrape", p.Scrape, isTemplate), c.Arm.Scrape...)
	c.Flags = map[string]string{}
	maps.Copy(c.Flags, fill(r, "flags", p.Flags, isTemplate))
	maps.Copy(c.Flags, c.Arm.Flags)
	for i, s := range p.Scenarios {
		r.values = maps.Clone(c.Values)
		r.values[ValueScenario] = s.Name
		c.Scenarios[i] = fill(r, item("scenarios", i), s, "")
	}
	return c, r.failed
}

// valuesOf returns the values for a model with an arm.
func (p *Plan) valuesOf(m Model, a Arm, extra map[string]string) map[string]string {
	values := map[string]string{}
	for _, some := range []map[string]string{
		p.Values, m.Values, a.Values, {ValuePlan: p.Name, ValueModel: m.Name, ValueArm: a.Name}, extra,
	} {
		maps.Copy(values, some)
	}
	return values
}

// item returns the path of a list's item.
func item(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// renderer fills in templates and keeps the first error.
type renderer struct {
	plan   *Plan
	values map[string]string
	failed error
}

// fill returns v with its templates filled in. v is not changed.
func fill[T any](r *renderer, path string, v T, is string) T {
	return r.fill(path, reflect.ValueOf(v), is).Interface().(T)
}

func (r *renderer) fill(path string, v reflect.Value, is string) reflect.Value {
	switch {
	case v.Kind() == reflect.Struct:
		return r.fields(path, v)
	case v.Kind() == reflect.Slice && !v.IsNil():
		return r.items(path, v, is)
	case v.Kind() == reflect.Map && !v.IsNil() && has(is, isTemplate):
		return r.pairs(path, v)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		filled := reflect.New(v.Type().Elem())
		filled.Elem().Set(r.fill(path, v.Elem(), is))
		return filled
	case v.Kind() == reflect.String && has(is, isTemplate):
		return reflect.ValueOf(r.text(path, v.String())).Convert(v.Type())
	default:
		return v
	}
}

func (r *renderer) fields(path string, v reflect.Value) reflect.Value {
	filled := reflect.New(v.Type()).Elem()
	filled.Set(v)
	for _, f := range fieldsOf(v.Type()) {
		filled.Field(f.index).Set(r.fill(path+"."+f.key, v.Field(f.index), f.is))
	}
	return filled
}

func (r *renderer) items(path string, v reflect.Value, is string) reflect.Value {
	filled := reflect.MakeSlice(v.Type(), 0, v.Len())
	for i := range v.Len() {
		one := r.fill(item(path, i), v.Index(i), is)
		if one.Kind() != reflect.String || one.String() == v.Index(i).String() {
			filled = reflect.Append(filled, one)
			continue
		}
		words := []string{one.String()}
		if alone(v.Index(i).String()) {
			words = Lines(one.String())
		}
		for _, word := range words {
			// A command without its program would be another command.
			if word != "" || i == 0 && strings.HasSuffix(path, "argv") {
				filled = reflect.Append(filled, reflect.ValueOf(word).Convert(one.Type()))
			}
		}
	}
	return filled
}

func (r *renderer) pairs(path string, v reflect.Value) reflect.Value {
	filled := reflect.MakeMap(v.Type())
	for _, key := range v.MapKeys() {
		given := v.MapIndex(key).String()
		text := r.text(path+"."+key.String(), given)
		if text != "" || given == "" {
			filled.SetMapIndex(key, reflect.ValueOf(text))
		}
	}
	return filled
}

// Lines returns the items of a value that was given as a list: of a flag that is repeated.
func Lines(value string) []string {
	return strings.Split(strings.TrimSuffix(value, "\n"), "\n")
}
