package plan

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// FuzzParse: what is read is whole and can be used without an error; what is not says why in one
// line that names the file.
func FuzzParse(f *testing.F) {
	f.Add(small)
	f.Add("schema: umascope.plan/1\nmodels: [&m {name: a}, *m]\narms: [{name: a}]\nscenarios: [{name: a, run: {}}]\n")
	f.Add("a: &a [*a]\n")
	f.Add(timed)
	f.Add("schema: umascope.plan/1\nvalues: {a: {{.b}}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("plan.yaml", []byte(text))
		if err != nil {
			fault, ok := errors.AsType[*Error](err)
			if !ok || fault.File != "plan.yaml" || fault.Line < 0 || fault.Line > lines(text) || strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("%v (%T)", err, err)
			}
			return
		}
		again, err := Parse("plan.yaml", []byte(text))
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("read twice, two plans: %v", err)
		}
		slots := p.Schedule()
		if len(slots) != len(p.Models)*len(p.Arms)*len(p.Scenarios)*p.Iterations || len(slots) > mostSlots {
			t.Errorf("%d slots", len(slots))
		}
		e, err := p.Estimate(slots, Facts{MemTotalBytes: 1 << 37})
		if err != nil || e.Least < 0 || e.Most < e.Least {
			t.Errorf("it takes %s to %s, %v", e.Least, e.Most, err)
		}
		for _, m := range p.Models {
			for _, a := range p.Arms {
				c, err := p.Render(m.Name, a.Name, map[string]string{ValueFolder: "/f"})
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range c.Arm.Processes {
					if len(one.Argv) == 0 || one.Argv[0] == "" || one.Stop.Signal == "" {
						t.Errorf("a process that cannot be started: %+v", one)
					}
				}
			}
		}
	})
}

// lines are those of a text as YAML counts them, and the one after its end.
func lines(text string) int {
	n := 2
	for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		n += strings.Count(text, end)
	}
	return n
}

// FuzzExpand: a text without {{ is itself; what is filled in holds the values and is bounded.
func FuzzExpand(f *testing.F) {
	f.Add("{{.a}}/{{.b}}", "x")
	f.Add("{{if .a}}{{.b}}{{else}}y{{end}}", "")
	f.Add(`{{printf "%s" .a}}{{/* no */}}`, "z")
	f.Add("{{range 1000000000}}{{end}}", "")
	f.Add(`{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`, "")
	f.Add("{{$x := .a}}{{$x}}", "")
	f.Fuzz(func(t *testing.T, text, value string) {
		got, err := expand(text, map[string]string{"a": value, "b": ""})
		switch {
		case err != nil && (got != "" || err.Error() == ""):
			t.Errorf("%q with the error %v", got, err)
		case err == nil && len(got) > mostText:
			t.Errorf("%d bytes", len(got))
		case err == nil && !strings.Contains(text, "{{") && got != text:
			t.Errorf("%q became %q", text, got)
		}
		if whole, err := expand("<{{.a}}>", map[string]string{"a": value}); err != nil || whole != "<"+value+">" {
			t.Errorf("%q, %v", whole, err)
		}
	})
}
