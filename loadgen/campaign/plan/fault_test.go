package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsWrongIsNamedWithItsLineAndKey(t *testing.T) {
	for _, c := range []struct{ was, is, want string }{
		{"    processes:\n      - name: server", "    procesess:\n      - name: server", "plan.yaml:23: arms[1].procesess: unknown key; did you mean processes?"},
		{"stop: {argv:", "stop: {arvg:", "plan.yaml:26: arms[1].processes[0].stop.arvg: unknown key; did you mean argv?"},
		{"iterations: 2", "iterations: many", `plan.yaml:34: iterations: "many" is not a whole number of 0 or more`},
		{"iterations: 2", "iterations: 0", "plan.yaml:34: iterations: want 1 or more"},
		{"iterations: 2", "iterations: 90000", "plan.yaml:34: iterations: the plan has more than 100000 runs"},
		{"iterations: 2", "iterations: 2\niterations: 3", "plan.yaml:35: iterations: is in line 34 too"},
		{"iterations: 2", "order: baab", `plan.yaml:34: order: "baab" is none of abba, sequential, random`},
		{"iterations: 2", "keep_up: yes", `plan.yaml:34: keep_up: "yes" is neither true nor false`},
		{"iterations: 2", "seed: -1", `plan.yaml:34: seed: "-1" is not a whole number from 0 on`},
		{"iterations: 2", "gates: {cooldown: 5}", `plan.yaml:34: gates.cooldown: "5" is not a duration of 0s or more, such as 90s or 5m`},
		{"iterations: 2", "gates: {cooldown: 1000h}", "plan.yaml:34: gates.cooldown: 1000h is outside 0s..168h0m0s"},
		{"iterations: 2", "gates: {mem_free: 60}", `plan.yaml:34: gates.mem_free: "60" is no size with a unit, such as 60GiB or 512MiB`},
		{"iterations: 2", "gates: {gpu_celsius: .nan}", `plan.yaml:34: gates.gpu_celsius: ".nan" is no number`},
		{"iterations: 2", "gates: {cpu_ratio: 10}", "plan.yaml:34: gates.cpu_ratio: 10 is outside 0 to 1: write 10% or 0.1 for a tenth of all cores"},
		{"iterations: 2", "gates: {cpu_ratio: 200%}", "plan.yaml:34: gates.cpu_ratio: 2 is outside 0 to 1: write 10% or 0.1 for a tenth of all cores"},
		{"iterations: 2", "gates: {cpu_ratio: ten%}", `plan.yaml:34: gates.cpu_ratio: "ten%" is neither a share nor a percentage, such as 0.1 or 10%`},
		{"iterations: 2", "gates: {gpu_celsius: 45, within_first_celsius: 2}", "plan.yaml:34: gates: want gpu_celsius or within_first_celsius, one of the two"},
		{"iterations: 2", "gates: {within_first_celsius: -2}", "plan.yaml:34: gates.within_first_celsius: want 0 or more"},
		{"iterations: 2", "gates: {gpu_celsius: 45, off: [gpu_celsius]}", "plan.yaml:34: gates.off: gpu_celsius is there too: it is off or has a value"},
		{"iterations: 2", "gates: {off: [power]}", `plan.yaml:34: gates.off[0]: "power" is none of cooldown, gpu_celsius, cpu_ratio, mem_free_within`},
		{"iterations: 2", "gates: {sm_clock: {argv: [x]}}", "plan.yaml:34: gates.sm_clock: min_hertz is missing"},
		{"iterations: 2", "gates: {sm_clock: {min_hertz: 2100, argv: [x]}}", "plan.yaml:34: gates.sm_clock.min_hertz: 2100 is no clock of a GPU: 2.1e9 is 2100 MHz"},
		{"iterations: 2", "gates: {p_state: P0}", "plan.yaml:34: gates.p_state: needs sm_clock, whose command loads the GPU"},
		{"iterations: 2", "gates: {p_state: P9}", `plan.yaml:34: gates.p_state: "P9" is none of P0, usual`},
		{"iterations: 2", "clocks: {lock: 1500}", `plan.yaml:34: clocks.lock: "1500" is no clock of a GPU with its unit, such as 1500MHz or 1.5GHz`},
		{"iterations: 2", "clocks: {}", "plan.yaml:34: clocks: lock is missing"},
		{"iterations: 2", "page_cache: {policy: evict}", "plan.yaml:34: page_cache: paths belong to the policy evict, which needs them"},
		{"iterations: 2", "page_cache: {paths: [/models]}", "plan.yaml:34: page_cache: paths belong to the policy evict, which needs them"},
		{"iterations: 2", "page_cache: {policy: flush}", `plan.yaml:34: page_cache.policy: "flush" is none of keep, evict, drop`},
		{"iterations: 2", "on_invalid: {then: retry}", `plan.yaml:34: on_invalid.then: "retry" is none of skip, stop`},
		{"iterations: 2", "on_invalid: {stop_after: 0}", "plan.yaml:34: on_invalid.stop_after: want 1 or more"},
		{"arm: container}", "arm: contaner}", `plan.yaml:43: abort_if[0].arm: there is no arm "contaner"; did you mean container?`},
		{"arm: container}", "absent_after: 0}", "plan.yaml:43: abort_if[0].absent_after: want 1 or more"},
		{"{signal: ssd_rehydrate, arm", "{arm", "plan.yaml:43: abort_if[0]: signal is missing"},
		{"name: seven", "name: ../seven", `plan.yaml:5: models[0].name: "../seven": want letters, digits, . _ and -, not beginning with a dot, at most 128`},
		{"name: container", "name: native", `plan.yaml:21: arms[1].name: "native" is the name of arms[0] too`},
		{"name: bench", "name: chat", `plan.yaml:32: scenarios[1].name: "chat" is the name of scenarios[0] too`},
		{"name: server\n", "name: server\n        argv: [x]\n      - name: server\n", `plan.yaml:26: arms[1].processes[1].name: "server" is the name of arms[1].processes[0] too`},
		{"      - name: engine\n        argv", "      - argv", `plan.yaml:16: arms[0].processes[0].argv: "{{.python}}" is no name for a process: give it one with name`},
		{"[docker, run, \"--name=uma-{{.arm}}\"]", "[]", "plan.yaml:24: arms[1].processes[0]: argv is missing"},
		{"[docker, run, \"--name=uma-{{.arm}}\"]", "docker run", `plan.yaml:25: arms[1].processes[0].argv: want a list, found "docker run"`},
		{"[docker, run,", "[docker, ~,", "plan.yaml:25: arms[1].processes[0].argv[1]: has no value"},
		{"[docker, run,", "[\"{{.none}}\",", "plan.yaml:25: arms[1].processes[0].argv: becomes a command without a first word (model seven, arm container)"},
		{"[docker, run,", "[\"\",", "plan.yaml:25: arms[1].processes[0].argv: becomes a command without a first word (model seven, arm container)"},
		{"\"--name=uma-{{.arm}}\"", "{{.arm}}", `plan.yaml:25: arms[1].processes[0].argv[2]: want a single value, found {…}, which are keys: a template needs quotes, as in "{{.name}}"`},
		{"uma-{{.arm}}\"]", "uma-{{.amr}}\"]", "plan.yaml:25: arms[1].processes[0].argv[2]: there is no value .amr; did you mean arm? (model seven, arm container)"},
		{"uma-{{.arm}}\"]", "uma-{{.arm\"]", "plan.yaml:25: arms[1].processes[0].argv[2]: template: unclosed action (model seven, arm container)"},
		{"uma-{{.arm}}\"]", "{{range 9}}x{{end}}\"]", "plan.yaml:25: arms[1].processes[0].argv[2]: a template has values and {{if}}, not {{range 9}}x{{end}} (model seven, arm container)"},
		{"uma-{{.arm}}\"]", "{{if .nome}}x{{end}}\"]", "plan.yaml:25: arms[1].processes[0].argv[2]: there is no value .nome; did you mean none? (model seven, arm container)"},
		{"{PORT: 8000}", "{PORT: [8000]}", "plan.yaml:18: arms[0].processes[0].env.PORT: want a single value, found a list"},
		{"{PORT: 8000}", "{A-B: 8000}", "plan.yaml:18: arms[0].processes[0].env.A-B: is no name of an environment variable"},
		{"timeout: 15m}", "port: 80}", "plan.yaml:19: arms[0].processes[0].ready: want one of url, log, port, argv; found url and port"},
		{"{port: 8000}", "{every: 1s}", "plan.yaml:20: arms[0].processes[0].alive: want one of url, log, port, argv"},
		{"{port: 8000}", "{port: 80000}", "plan.yaml:20: arms[0].processes[0].alive.port: 80000 is no port"},
		{"{port: 8000}", "{log: ready}", "plan.yaml:20: arms[0].processes[0].alive.log: a line in a log does not show that a process is alive"},
		{"url: \"http://127.0.0.1:8000/v1/models\"", "log: '('", "plan.yaml:19: arms[0].processes[0].ready.log: no pattern: error parsing regexp: missing closing ): `(`"},
		{"{PORT: 8000}", "{PORT: \"8\\0\"}", "plan.yaml:18: arms[0].processes[0].env.PORT: has a byte 0, which no variable can (model seven, arm native)"},
		{"{port: 8000}", "{port: 80, consecutive: 0}", "plan.yaml:20: arms[0].processes[0].alive.consecutive: want 1 or more"},
		{"{port: 8000}", "{port: 80, every: 0s}", "plan.yaml:20: arms[0].processes[0].alive.every: want more than 0s"},
		{"{port: 8000}", "{port: 80, timeout: 0s}", "plan.yaml:20: arms[0].processes[0].alive.timeout: want more than 0s"},
		{"url: \"http://127.0.0.1:8000/v1/models\"", "url: \"{{.none}}\"", `plan.yaml:19: arms[0].processes[0].ready.url: "": want a URL such as http://127.0.0.1:8000/v1/models (model seven, arm native)`},
		{"      - name: engine", "      - name: engine\n        host: -oProxyCommand=x", `plan.yaml:17: arms[0].processes[0].host: "-oProxyCommand=x" is no name (model seven, arm native)`},
		{"        text: \"model: {{.weights}}\\n\"\n", "", "plan.yaml:13: arms[0].files[0]: want a text or a source, one of the two"},
		{"        text:", "        mode: 999\n        text:", `plan.yaml:14: arms[0].files[0].mode: "999" is no octal mode such as 0640`},
		{"{requests: 64,", "{requests: {a: b},", `plan.yaml:30: scenarios[0].run.requests: want a single value, found {…}, which are keys: a template needs quotes, as in "{{.name}}"`},
		{"    record: {argv", "    run: {}\n    record: {argv", "plan.yaml:32: scenarios[1]: want run or record, one of the two"},
		{"values: {models: /models,", "values: {models: /models, arm: x,", "plan.yaml:3: values.arm: is a value that every template has; choose another name"},
		{"{weights: Seven-7B}", "{weight-s: Seven-7B}", "plan.yaml:6: models[0].values.weight-s: want a name of letters, digits and _, so that {{.name}} can stand for it"},
		{"{python: python3}", "{python: \"{{.arm}}\"}", "plan.yaml:22: arms[1].values.python: a value is no template: put the parts together where they are used"},
		{"{kind: bare}", "{round: bare}", "plan.yaml:10: arms[0].labels.round: the campaign sets it itself"},
		{"{kind: bare}", "{a b: bare}", "plan.yaml:10: arms[0].labels.a b: want a name of letters, digits, . _ and -"},
		{"    when: [before]", "    when: [during]", `plan.yaml:38: checks[0].when[0]: "during" is none of before, after`},
		{"    min: 1", "    min: 1\n    max: 0", "plan.yaml:36: checks[0]: min 1 is more than max 0"},
		{"    min: 1", "    number: x", "plan.yaml:39: checks[0].number: the pattern has no group ( ) for the number"},
		{"    min: 1", "    timeout: 0s", "plan.yaml:39: checks[0].timeout: want more than 0s"},
		{"spark1=http", "http", `plan.yaml:44: telemetry: "http://127.0.0.1:10420/metrics": want NAME=VALUE with a plain name (model seven, arm native)`},
		{"spark1=http://", "spark1=http://me:secret@", `plan.yaml:44: telemetry: "spark1=http://me:secret@127.0.0.1:10420/metrics": a URL with user info would be recorded (model seven, arm native)`},
		{"schema: umascope.plan/1", "schema: umascope.plan/2", `plan.yaml:1: schema: "umascope.plan/2" is none of umascope.plan/1`},
		{"schema: umascope.plan/1\n", "", "plan.yaml:1: schema is missing"},
		{"models:\n  - name: seven\n    values: {weights: Seven-7B}\n    expected_memory: 20GiB\n", "models:\n", "plan.yaml:1: models is missing"},
		{"name: small", "name: [", "plan.yaml:4: no YAML: did not find expected ',' or ']'"},
		{"name: small", "name: *nothing", "plan.yaml:2: no YAML: unknown anchor 'nothing' referenced"},
		{"name: small", "? [a]\n: b", "plan.yaml:2: a key has to be a word, found a list"},
		{"\nflags:", "\n---\nflags:", "plan.yaml: more than one document: a plan has no line ---"},
	} {
		text := strings.Replace(small, c.was, c.is, 1)
		if text == small {
			t.Errorf("%q is not in the plan", c.was)
		}
		if _, err := Parse("plan.yaml", []byte(text)); err == nil || err.Error() != c.want {
			t.Errorf("%q for %q:\n got %v\nwant %s", c.is, c.was, err, c.want)
		}
	}
}

func TestANameOfAnotherRoomIsCheckedByIt(t *testing.T) {
	all := Known{
		RunFlags: []string{"requests", "set", "model", "url", "concurrency", "container", "out"}, RecordFlags: []string{"container"},
		Own: []string{"out"}, Signals: []string{"ssd_rehydrate"}, Extractors: []string{"trtllm", "none"},
	}
	if err := parsed(t, small).CheckNames(all); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ was, is, want string }{
		{"concurrency: 4", "concurency: 4", "plan.yaml:45: flags.concurency: unknown flag of run; did you mean concurrency?"},
		{"concurrency: 4", "out: x", "plan.yaml:45: flags.out: the campaign sets it itself"},
		{"{container:", "{contain:", "plan.yaml:27: arms[1].flags.contain: unknown flag of run; did you mean container?"},
		{"{requests: 64", "{request: 64", "plan.yaml:30: scenarios[0].run.request: unknown flag of run; did you mean requests?"},
		{"extract: trtllm", "flags: {url: x}", "plan.yaml:33: scenarios[1].record.flags.url: unknown flag of record; there are container"},
		{"extract: trtllm", "extract: trt-llm", `plan.yaml:33: scenarios[1].record.extract: unknown extractor "trt-llm"; did you mean trtllm?`},
		{"ssd_rehydrate", "ssd_read", `plan.yaml:43: abort_if[0].signal: unknown signal "ssd_read"; there are ssd_rehydrate`},
	} {
		err := parsed(t, strings.Replace(small, c.was, c.is, 1)).CheckNames(all)
		if err == nil || err.Error() != c.want {
			t.Errorf("%q:\n got %v\nwant %s", c.is, err, c.want)
		}
	}
}

func TestSourcesOfFilesAreReadWithThePlan(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "plan.yaml")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("plan.yaml", strings.Replace(small, `text: "model: {{.weights}}\n"`, "source: engine.tmpl", 1))
	if _, err := Read(path); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), path+":14: arms[0].files[0].source: ") {
		t.Errorf("without the source: %v", err)
	}
	write("engine.tmpl", "kv: {{.model}}\n")
	p, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if cell, err := p.Render("seven", "native", map[string]string{ValueFolder: "/f"}); err != nil || cell.Arm.Files[0].Text != "kv: seven\n" {
		t.Errorf("%v, %v", cell, err)
	}
	write("engine.tmpl", "kv: {{.modle}}\n")
	if _, err := Read(path); err == nil || !strings.HasPrefix(err.Error(), path+":14: arms[0].files[0].source: there is no value .modle; did you mean model") {
		t.Errorf("of a source that is wrong: %v", err)
	}
}

func TestAPlanIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(path, []byte(small+"# "+strings.Repeat("x", mostPlan)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || err.Error() != path+": more than 1 MiB" {
		t.Errorf("a large file: %v", err)
	}
	if _, err := Read(filepath.Dir(path)); err == nil {
		t.Error("a folder is a plan")
	}
	if _, err := Read("/dev/zero"); err == nil || err.Error() != "/dev/zero: more than 1 MiB" {
		t.Errorf("a file without an end: %v", err)
	}
	var bomb strings.Builder
	fmt.Fprintf(&bomb, "schema: umascope.plan/1\nvalues: {a: &a [%s]}\n", strings.Repeat("x, ", 5000))
	bomb.WriteString("flags: {")
	for i := range 5000 {
		fmt.Fprintf(&bomb, "f%d: *a, ", i)
	}
	bomb.WriteString("}\n")
	if _, err := Parse("plan.yaml", []byte(bomb.String())); err == nil || !strings.Contains(err.Error(), "more than 200000 values, counted as often as aliases repeat them") {
		t.Errorf("aliases: %v", err)
	}
	deep := strings.Repeat("[", 20000)
	if _, err := Parse("plan.yaml", []byte("values: "+deep)); err == nil {
		t.Error("20,000 brackets are a plan")
	}
	if _, err := Parse("plan.yaml", []byte("schema: umascope.plan/1\nvalues: &a {a: *a}")); err == nil {
		t.Error("an alias within itself is a plan")
	}
	long := strings.Replace(small, `text: "model: {{.weights}}\n"`, `text: '`+strings.Repeat(`{{printf "%999999d" 1}}`, 3)+`'`, 1)
	if _, err := Parse("plan.yaml", []byte(long)); err == nil || !strings.Contains(err.Error(), "becomes more than 1 MiB") {
		t.Errorf("a text that grows: %v", err)
	}
}
