package campaign

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// timed is a plan whose times are known to the second.
const timed = `schema: umascope.plan/1
name: timed
models: [{name: seven, expected_memory: 20GiB}]
arms:
  - name: a
    processes:
      - {name: engine, argv: [engine], ready: {port: 8000, timeout: 10m, every: 2s, consecutive: 3}, delay: 1s}
  - name: b
    optional: true
    processes:
      - {name: engine, argv: [sudo, engine], stop: {timeout: 1m}}
      - {name: agent, argv: [agent], root: true}
scenarios:
  - {name: fixed, run: {url: "http://127.0.0.1:8000", duration: 60s}}
  - {name: open, run: {url: "http://127.0.0.1:8000", requests: 10}}
iterations: 3
gates: {cooldown: 5m, timeout: 30m}
`

func TestAnEstimateIsWrittenWithItsSlotsNeedsAndDefaults(t *testing.T) {
	p, err := plan.Parse("plan.yaml", []byte(timed+"page_cache: {policy: drop}\n"))
	if err != nil {
		t.Fatal(err)
	}
	slots, err := p.Select(plan.Filter{Arms: []string{"b"}, Iterations: 2})
	if err != nil {
		t.Fatal(err)
	}
	e, err := p.Estimate(slots, plan.Facts{MemTotalBytes: 1 << 30, FreeBytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := WriteEstimate(&text, e); err != nil {
		t.Fatal(err)
	}
	want := `timed: 4 of 12 runs: 1 model x 2 arms x 2 scenarios x 3 iterations, order abba

slot  after        model  arm  scenario  iteration
3     0 s          seven  b    fixed     1
4     6 min 5 s    seven  b    open      1
5     11 min 10 s  seven  b    fixed     2
6     17 min 15 s  seven  b    open      2

duration: 17 min 20 s at least, 15 min of it cooldowns, 6 h 23 min if every gate, start and stop takes its time-out; besides, the load of 2 runs, of which the plan does not say how long it lasts (duration or expected_duration)
disk: about 90.28 MiB for the run folders, 1 TiB free
root:
  page_cache.policy: drop
  arms[1].processes[0]: engine, of b
  arms[1].processes[1]: agent, of b
gates that cannot open:
  models[0].expected_memory: 20 GiB is more than this machine has, 1 GiB
notes:
  iterations: 3 is odd: the last way forth has no way back, and drift does not cancel
  telemetry: none is named: unless an exporter answers on this machine, temperature and clock are not observable and their gates are passed over
  optional: b: an arm that cannot be started is skipped
defaults, which the plan does not set:
  order: abba
  on_invalid.repeat: 2
  on_invalid.then: skip
  on_invalid.stop_after: 3
  gates.gpu_celsius: 45
  gates.cpu_ratio: 10%
  gates.mem_free_within: 1 GiB
  arms[].processes[].stop.signal: SIGTERM
  arms[].processes[].stop.timeout: 30s
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
}
