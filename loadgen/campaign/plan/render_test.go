package plan

import (
	"reflect"
	"strings"
	"testing"
)

func cellOf(t *testing.T, p *Plan, model, arm string) *Cell {
	t.Helper()
	c, err := p.Render(model, arm, map[string]string{ValueFolder: "/runs/arm"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACellHasItsTextsFilledIn(t *testing.T) {
	p := parsed(t, small)
	before := parsed(t, small)
	native, container := cellOf(t, p, "seven", "native"), cellOf(t, p, "seven", "container")
	chat, _ := native.Scenario("chat")
	bench, _ := native.Scenario("bench")
	for what, pair := range map[string][2]any{
		"a list value gives words, an empty one none, an empty word stays": {
			native.Arm.Processes[0].Argv, []string{"/opt/venv/bin/python", "-m", "engine", "--model", "/models/Seven-7B", "--a", "--b", ""}},
		"a file":               {native.Arm.Files[0], File{Path: "/runs/arm/engine.yaml", Text: "model: Seven-7B\n", Mode: "0640"}},
		"a check of the arm":   {native.Checks[0].Argv[0], "/opt/venv/bin/python"},
		"... and of the other": {container.Checks[0].Argv[0], "python3"},
		"collect":              {container.Collect[0].Argv[0], "python3"},
		"stop":                 {container.Arm.Processes[0].Stop.Argv[2], "uma-container"},
		"flags of the plan":    {native.Flags, map[string]string{"url": "http://127.0.0.1:8000", "concurrency": "4"}},
		"flags of the arm":     {container.Flags, map[string]string{"url": "http://127.0.0.1:8000", "concurrency": "4", "container": "uma-container"}},
		"flags of a scenario":  {chat.Run["model"], "Seven-7B"},
		"the scenario's name":  {bench.Record.Argv[1], "bench"},
		"telemetry":            {native.Telemetry, []string{"spark1=http://127.0.0.1:10420/metrics"}},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s:\n got %v\nwant %v", what, pair[0], pair[1])
		}
	}
	if !reflect.DeepEqual(p, before) {
		t.Error("filling in changed the plan")
	}
	if _, there := native.Scenario("none"); there {
		t.Error("a scenario that is not there is")
	}
}

func TestTheNearestValueIsTaken(t *testing.T) {
	p := campaign(1, 1, 1, 1, ABBA)
	p.Values = map[string]string{"a": "plan", "b": "plan", "c": "plan", "d": "plan"}
	p.Models[0].Values = map[string]string{"b": "model", "c": "model", "d": "model"}
	p.Arms[0].Values = map[string]string{"c": "arm", "d": "arm"}
	p.Arms[0].Processes = []Process{{Argv: []string{"{{.a}} {{.b}} {{.c}} {{.d}} {{.model}} {{.arm}}"}}}
	c, err := p.Render("m1", "a", map[string]string{"d": "extra"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Arm.Processes[0].Argv[0], "plan model arm extra m1 a"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestWhatRendersToNothingIsLeftOut(t *testing.T) {
	p := campaign(1, 2, 1, 1, ABBA)
	p.Values = map[string]string{"none": "", "two": "x\ny"}
	p.Arms[0].Processes = []Process{{
		Argv: []string{"{{.none}}", "{{if .none}}a{{end}}", "", "{{.two}}", "-{{.two}}"},
		Env:  map[string]string{"A": "{{.none}}", "B": "", "C": "{{.two}}"},
	}}
	p.Scrape = []string{"{{.none}}", "{{if eq .arm \"a\"}}kvbm=http://127.0.0.1:6880/metrics{{end}}"}
	one := cellOf(t, p, "m1", "a")
	if got, want := one.Arm.Processes[0].Argv, []string{"", "", "x", "y", "-x\ny"}; !reflect.DeepEqual(got, want) {
		t.Errorf("argv %q, want %q", got, want)
	}
	if got, want := one.Arm.Processes[0].Env, map[string]string{"B": "", "C": "x\ny"}; !reflect.DeepEqual(got, want) {
		t.Errorf("env %q, want %q", got, want)
	}
	if got, want := one.Scrape, []string{"kvbm=http://127.0.0.1:6880/metrics"}; !reflect.DeepEqual(got, want) {
		t.Errorf("scrape %q, want %q", got, want)
	}
	if got := cellOf(t, p, "m1", "b").Scrape; len(got) != 0 {
		t.Errorf("scrape of the other arm: %q", got)
	}
}

func TestACellThatIsNotThereIsNamed(t *testing.T) {
	p := parsed(t, small)
	for _, c := range [][3]string{
		{"sevn", "native", `the plan has no model "sevn"; did you mean seven?`},
		{"seven", "natve", `the plan has no arm "natve"; did you mean native?`},
	} {
		if _, err := p.Render(c[0], c[1], nil); err == nil || err.Error() != c[2] {
			t.Errorf("%v", err)
		}
	}
	if _, err := p.Render("seven", "native", nil); err == nil || !strings.Contains(err.Error(), "there is no value .folder") {
		t.Errorf("without the folder: %v", err)
	}
}

func TestASizeIsReadAndShown(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "0GiB": 0, "512MiB": 512 << 20, "60GiB": 60 << 30, "1.5 GiB": 3 << 29, "2GB": 2e9, "7 B": 7, "1TiB": 1 << 40, "3kB": 3000, "16EiB": 1,
		"20000000TiB": 1, "-1GiB": 1, "GiB": 1, "60": 1, "60gib": 1, "NaNGiB": 1, "InfB": 1, "": 1, "1e3MiB": 1000 << 20,
	} {
		got, err := ParseBytes(text)
		if want == 1 {
			if err == nil || err.Error() != `"`+text+`" is no size with a unit, such as 60GiB or 512MiB` {
				t.Errorf("%q: %d, %v", text, got, err)
			}
		} else if err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for size, want := range map[Bytes]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 3 << 29: "1.5 GiB", 60 << 30: "60 GiB", 1<<64 - 1: "16777216 TiB"} {
		if got := size.String(); got != want {
			t.Errorf("%d: %s, want %s", uint64(size), got, want)
		}
	}
}
