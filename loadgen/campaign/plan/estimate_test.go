package plan

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
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

func estimated(t *testing.T, p *Plan, facts Facts) *Estimate {
	t.Helper()
	e, err := p.Estimate(p.Schedule(), facts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestWhatSlotsTakeIsTheSumOfWhatThePlanSays(t *testing.T) {
	e := estimated(t, parsed(t, timed), Facts{})
	// The first: no cooldown, two looks at the processors 5 s apart, 1 s delay, two pauses of 2 s between three answers, the load of 60 s.
	first, second := e.Slots[0], e.Slots[1]
	if first.After != 0 || first.Least != 70*time.Second || first.Unknown {
		t.Errorf("the first slot: %+v", first)
	}
	// At most: its load, the delay, 10 min until ready, 30 s to stop, and three gates (temperature, CPU, equal MemFree) of 30 min.
	if want := 60*time.Second + time.Second + 10*time.Minute + 30*time.Second + 90*time.Minute; first.Most != want {
		t.Errorf("the first slot takes at most %s, want %s", first.Most, want)
	}
	if second.After != 70*time.Second+5*time.Minute || second.Least != 5*time.Minute+10*time.Second || !second.Unknown {
		t.Errorf("the second slot: %+v", second)
	}
	if want := 11 * 5 * time.Minute; e.Cooldowns != want {
		t.Errorf("%s of cooldowns, want %s", e.Cooldowns, want)
	}
	if e.Unknown != 6 {
		t.Errorf("%d slots are unknown, want 6", e.Unknown)
	}
	var least time.Duration
	for _, s := range e.Slots {
		least += s.Least
	}
	if e.Least != least || e.Most <= e.Least {
		t.Errorf("in all %s..%s, want %s and more", e.Least, e.Most, least)
	}
}

func TestWhatWasMeasuredWinsOverWhatThePlanSays(t *testing.T) {
	facts := Facts{BytesOfRun: 7e6, Measured: func(s Slot) (time.Duration, bool) { return 3 * time.Minute, s.Scenario == "open" }}
	e := estimated(t, parsed(t, timed), facts)
	if s := e.Slots[1]; s.Unknown || s.Least != 8*time.Minute {
		t.Errorf("%+v", s)
	}
	if e.Unknown != 0 || e.DiskBytes != 12*7e6 {
		t.Errorf("%d unknown, %d bytes", e.Unknown, e.DiskBytes)
	}
}

func TestAnArmThatStaysUpIsStartedOncePerTurn(t *testing.T) {
	anew := estimated(t, parsed(t, timed), Facts{})
	stays := estimated(t, parsed(t, timed+"keep_up: true\n"), Facts{})
	// With three iterations of two scenarios a has 6 slots in 3 turns. The second and the third adjoin (a, b b, a a, b)
	// and are of two rounds. Arm a starts three times instead of six, each 5 s.
	if got, want := anew.Least-stays.Least, 3*5*time.Second; got != want {
		t.Errorf("staying up saves %s, want %s", got, want)
	}
	if got := anew.Most - stays.Most; got <= 3*10*time.Minute {
		t.Errorf("staying up saves at most %s", got)
	}
}

func TestACampaignWithoutAnEndIsLongAndNotNegative(t *testing.T) {
	long := strings.NewReplacer("timeout: 30m", "timeout: 168h", "iterations: 3", "iterations: 9000", "cooldown: 5m", "cooldown: 168h").Replace(timed)
	if e := estimated(t, parsed(t, long), Facts{}); e.Most != math.MaxInt64 || e.Least < 0 {
		t.Errorf("%s to %s", e.Least, e.Most)
	}
}

func TestGatesThatCannotOpenAreFoundBefore(t *testing.T) {
	for _, c := range []struct{ was, is, want string }{
		{"timeout: 30m", "timeout: 4m", "gates.cooldown: 5m0s is longer than gates.timeout, 4m0s"},
		{"timeout: 30m", "mem_free: 130GiB", "gates.mem_free: 130 GiB is more than this machine has, 120 GiB"},
		{"timeout: 30m", "gpu_celsius: 4.5", "gates.gpu_celsius: 4.5 C is colder than a room"},
		{"20GiB", "240GiB", "models[0].expected_memory: 240 GiB is more than this machine has, 120 GiB"},
	} {
		p := parsed(t, strings.Replace(timed, c.was, c.is, 1))
		if got := estimated(t, p, Facts{MemTotalBytes: 120 << 30}).Never; !slices.Equal(got, []string{c.want}) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := estimated(t, parsed(t, timed), Facts{MemTotalBytes: 120 << 30}).Never; len(got) != 0 {
		t.Errorf("gates that can open cannot: %q", got)
	}
	if got := estimated(t, parsed(t, strings.Replace(timed, "20GiB", "240GiB", 1)), Facts{}).Never; len(got) != 0 {
		t.Errorf("of a machine of unknown size: %q", got)
	}
}

func TestWhatNeedsRootIsNamed(t *testing.T) {
	e := estimated(t, parsed(t, timed+"page_cache: {policy: drop}\n"), Facts{})
	want := []string{"page_cache.policy: drop", "arms[1].processes[0]: engine, of b", "arms[1].processes[1]: agent, of b"}
	if !slices.Equal(e.Root, want) {
		t.Errorf("%q, want %q", e.Root, want)
	}
	p := parsed(t, strings.NewReplacer(
		"- name: a\n", "- name: a\n    values: {as: [sudo, -n]}\n", "optional: true", "values: {as: env}",
		"{name: open, run: {url: \"http://127.0.0.1:8000\", requests: 10}}", "{name: open, record: {argv: [\"{{.as}}\", bench]}}",
		"gates: {", "gates: {sm_clock: {min_hertz: 2e9, argv: [sudo, burn]}, ",
	).Replace(timed)+"checks: [{name: clock, argv: [\"{{.as}}\", clock]}]\ncollect: [{name: list, argv: [sudo, list]}]\n")
	slots, err := p.Select(Filter{Arms: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	part, err := p.Estimate(slots, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	want = []string{"scenarios[1].record: open, of a", "checks[0]: clock, of a", "collect[0]: list, of a", "gates.sm_clock: sm_clock, of a"}
	if !slices.Equal(part.Root, want) {
		t.Errorf("of a part %q, want %q", part.Root, want)
	}
}

func TestWhatMakesACampaignSayLessIsNoted(t *testing.T) {
	for _, c := range []struct{ was, is, note string }{
		{"iterations: 3", "order: sequential", "order: sequential confounds arm and time"},
		{"iterations: 3", "iterations: 3", "iterations: 3 is odd"},
		{"iterations: 3", "iterations: 2", "iterations: 2 for each arm is too few for a verdict"},
		{"iterations: 3", "iterations: 3", "telemetry: none is named"},
		{"iterations: 3", "iterations: 3", "optional: b: "},
	} {
		notes := estimated(t, parsed(t, strings.Replace(timed, c.was, c.is, 1)), Facts{}).Notes
		if !slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, c.note) }) {
			t.Errorf("%s: no note %q in %q", c.is, c.note, notes)
		}
	}
	good := strings.NewReplacer("iterations: 3", "iterations: 10\ntelemetry: [spark1=http://127.0.0.1:10420/metrics]", "optional: true", "optional: false").Replace(timed)
	if notes := estimated(t, parsed(t, good), Facts{FreeBytes: 1 << 40}).Notes; len(notes) != 0 {
		t.Errorf("a good plan has notes: %q", notes)
	}
	one := campaign(1, 1, 1, 10, ABBA)
	if notes := estimated(t, one, Facts{FreeBytes: 1}).Notes; len(notes) != 2 || !strings.HasPrefix(notes[0], "arms: there is one") || !strings.HasPrefix(notes[1], "the disk has 1 B free") {
		t.Errorf("one arm on a full disk: %q", notes)
	}
}

func TestAnEstimateListsTheKeysThatThePlanLeavesToDefaults(t *testing.T) {
	e := estimated(t, parsed(t, timed), Facts{})
	want := []string{
		"order: abba", "page_cache.policy: keep", "on_invalid.repeat: 2", "on_invalid.then: skip", "on_invalid.stop_after: 3", "gates.gpu_celsius: 45", "gates.cpu_ratio: 10%",
		"gates.mem_free_within: 1 GiB", "arms[].processes[].stop.signal: SIGTERM", "arms[].processes[].stop.timeout: 30s",
	}
	if e.Cooldowns != 55*time.Minute || !slices.Equal(e.Defaults[:len(want)], want) {
		t.Errorf("%v of cooldowns, %q", e.Cooldowns, e.Defaults)
	}
	for _, set := range []string{"iterations: 10", "gates.cooldown", "gates.timeout", "seed", "ready.every"} {
		if strings.Contains(strings.Join(e.Defaults, "\n"), set) {
			t.Errorf("%q is there: %q", set, e.Defaults)
		}
	}
}
