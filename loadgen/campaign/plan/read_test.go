package plan

import (
	"reflect"
	"testing"
	"time"
)

// small is a plan with one of each, in lines that the tests below change.
const small = `schema: umascope.plan/1
name: small
values: {models: /models, options: [--a, --b], none: ""}
models:
  - name: seven
    values: {weights: Seven-7B}
    expected_memory: 20GiB
arms:
  - name: native
    labels: {kind: bare}
    values: {python: /opt/venv/bin/python}
    files:
      - path: "{{.folder}}/engine.yaml"
        text: "model: {{.weights}}\n"
    processes:
      - name: engine
        argv: ["{{.python}}", -m, engine, --model, "{{.models}}/{{.weights}}", "{{.options}}", "{{.none}}", ""]
        env: {PORT: 8000}
        ready: {url: "http://127.0.0.1:8000/v1/models", timeout: 15m}
        alive: {port: 8000}
  - name: container
    values: {python: python3}
    processes:
      - name: server
        argv: [docker, run, "--name=uma-{{.arm}}"]
        stop: {argv: [docker, stop, "uma-{{.arm}}"], timeout: 1m}
    flags: {container: "uma-{{.arm}}"}
scenarios:
  - name: chat
    run: {requests: 64, set: [a.requests=2, b.requests=4], model: "{{.weights}}"}
    expected_duration: 2m
  - name: bench
    record: {argv: [trtllm-bench, "{{.scenario}}"], extract: trtllm}
iterations: 2
checks:
  - name: matmul
    argv: ["{{.python}}", -c, pass]
    when: [before]
    min: 1
collect:
  - {name: pip, argv: ["{{.python}}", -m, pip, freeze]}
abort_if:
  - {signal: ssd_rehydrate, arm: container}
telemetry: [spark1=http://127.0.0.1:10420/metrics]
flags: {url: "http://127.0.0.1:8000", concurrency: 4}
`

func parsed(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := Parse("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAPlanIsReadWithItsDefaults(t *testing.T) {
	p := parsed(t, small)
	native := p.Arms[0].Processes[0]
	for what, pair := range map[string][2]any{
		"a list is lines":        {p.Values["options"], "--a\n--b"},
		"a size":                 {p.Models[0].ExpectedBytes, Bytes(20 << 30)},
		"a number is a text":     {native.Env["PORT"], "8000"},
		"a list of flags":        {p.Scenarios[0].Run["set"], "a.requests=2\nb.requests=4"},
		"a flag keeps its text":  {p.Scenarios[0].Run["requests"], "64"},
		"a duration":             {native.Ready.Timeout, 15 * time.Minute},
		"a template is kept":     {native.Argv[0], "{{.python}}"},
		"iterations":             {p.Iterations, 2},
		"order":                  {p.Order, ABBA},
		"seed":                   {p.Seed, uint64(1337)},
		"page cache":             {p.PageCache.Policy, "keep"},
		"on invalid":             {p.OnInvalid, OnInvalid{Repeat: 2, Then: "skip", StopAfter: 3}},
		"gate time-out":          {p.Gates.Timeout, 30 * time.Minute},
		"cooldown":               {*p.Gates.Cooldown, 5 * time.Minute},
		"gpu temperature":        {*p.Gates.GPUCelsius, 45.0},
		"cpu share":              {*p.Gates.CPURatio, Ratio(0.1)},
		"equal MemFree":          {*p.Gates.MemFreeWithin, Bytes(1 << 30)},
		"no clock gate":          {p.Gates.SMClock == nil, true},
		"ready every":            {native.Ready.Every, 2 * time.Second},
		"ready consecutive":      {native.Ready.Consecutive, 2},
		"alive every":            {native.Alive.Every, 10 * time.Second},
		"alive consecutive":      {native.Alive.Consecutive, 3},
		"stop":                   {native.Stop, Stop{Signal: "SIGTERM", Timeout: 30 * time.Second}},
		"stop time-out as given": {p.Arms[1].Processes[0].Stop.Timeout, time.Minute},
		"mode":                   {p.Arms[0].Files[0].Mode, "0640"},
		"when":                   {p.Checks[0].When, []string{"before"}},
		"check time-out":         {p.Checks[0].Timeout, 5 * time.Minute},
		"absent after":           {p.AbortIf[0].AbsentAfter, 1},
		"extractor":              {p.Scenarios[1].Record.Extract, "trtllm"},
		"expected duration":      {p.Scenarios[0].Expected, 2 * time.Minute},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %v, want %v", what, pair[0], pair[1])
		}
	}
}
