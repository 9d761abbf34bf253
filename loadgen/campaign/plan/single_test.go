package plan

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// ofSingle reads the plan that a Single writes.
func ofSingle(t *testing.T, s Single) *Plan {
	t.Helper()
	text, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse("plan.yaml", text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return p
}

func TestAPlanOfOneArmHasTheGatesThatWereAskedFor(t *testing.T) {
	s := Single{
		Name: "s", Arm: "a", Values: map[string]string{"over": "rate=1,2"}, Cooldown: 30 * time.Second, GPUCelsius: 60,
		Flags:     []Flag{{Name: "url", Value: "http://h:1"}, {Name: "telemetry", Value: "x=http://h:2"}, {Name: "telemetry", Value: "y=http://h:3"}, {Name: "label", Value: "k=v"}},
		Scenarios: []Scenario{{Name: "01-a", Run: map[string]string{"label": "k=v\nrate=1"}}, {Name: "02-b", Run: map[string]string{"rate": "2"}}},
	}
	p := ofSingle(t, s)
	g := p.Gates
	if *g.Cooldown != 30*time.Second || *g.GPUCelsius != 60 || g.CPURatio != nil || g.MemFreeWithin != nil || p.OnInvalid.Repeat != 0 || p.Values["over"] != "rate=1,2" {
		t.Errorf("%+v %+v", p, g)
	}
	c, err := p.Render(SingleModel, "a", nil)
	if err != nil || !slices.Equal(c.Telemetry, []string{"x=http://h:2", "y=http://h:3"}) || c.Flags["telemetry"] != "" || c.Scenarios[0].Run["label"] != "k=v\nrate=1" {
		t.Errorf("%+v (%v)", c, err)
	}
	var order []string
	for _, slot := range p.Schedule() {
		order = append(order, slot.Scenario)
	}
	if !slices.Equal(order, []string{"01-a", "02-b"}) {
		t.Errorf("%v", order)
	}
	if none := ofSingle(t, Single{Name: "s", Arm: "a", Scenarios: s.Scenarios}).Gates; none.Cooldown != nil || none.GPUCelsius != nil {
		t.Errorf("%+v", none)
	}
}

func TestWhatDiffersBetweenFlagsIsJoined(t *testing.T) {
	given := []Flag{{Name: "set", Value: "a=1"}, {Name: "url", Value: "u"}}
	got := Differing(append(slices.Clone(given), Flag{Name: "set", Value: "b=2"}, Flag{Name: "rate", Value: "3"}), given)
	if len(got) != 2 || got["set"] != "a=1\nb=2" || got["rate"] != "3" {
		t.Errorf("%v", got)
	}
}

// FuzzSingle: whatever the value of a flag is, the plan has it, also if it looks like a template or has several lines.
func FuzzSingle(f *testing.F) {
	for _, seed := range []string{"", "x", "{{.arm}}", "{{", "a\nb\n", "- ~", `{"a": {"b": "{{c}}"}}`, "#", "true", "'\"\\", "\t", " x "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if !utf8.ValidString(value) || strings.ContainsAny(value, "\x00\r\u0085\u2028\u2029\ufeff") || len(value) > 1000 {
			return
		}
		p := ofSingle(t, Single{Name: "s", Arm: "a", Flags: []Flag{{Name: "extra-body", Value: value}}, Scenarios: []Scenario{{Name: "01-a", Run: map[string]string{"stop": value}}}})
		c, err := p.Render(SingleModel, "a", nil)
		if err != nil || c.Flags["extra-body"] != value || c.Scenarios[0].Run["stop"] != value {
			t.Errorf("%q is %q and %q (%v)", value, c.Flags["extra-body"], c.Scenarios[0].Run["stop"], err)
		}
	})
}
