package summary

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"
	"github.com/umascope/umascope/loadgen/telemetry"
)

func codes(s Summary) []Code {
	var found []Code
	for _, reason := range s.InvalidReasons {
		if reason.Detail == "" {
			found = append(found, reason.Code+" without detail")
			continue
		}
		found = append(found, reason.Code)
	}
	return found
}

func late(by time.Duration) func(*openai.Record) {
	return func(r *openai.Record) { r.EligibleNS = new(*r.DispatchNS - by.Nanoseconds()) }
}

func inOnePiece(r *openai.Record) { clear(r.ReadIDs) }

func TestValidityByRecords(t *testing.T) {
	for name, test := range map[string]struct {
		records []openai.Record
		limits  []string
		want    []Code
	}{
		"good":                            {records: testrun.Steady(100)},
		"one failure of 100":              {records: testrun.Altered(100, 1, func(r *openai.Record) { r.Status = openai.StatusHTTP })},
		"two failures of 100":             {records: testrun.Altered(100, 2, func(r *openai.Record) { r.Status = openai.StatusHTTP }), want: []Code{CodeErrorRate}},
		"two cancelled of 100":            {records: testrun.Altered(100, 2, func(r *openai.Record) { r.Status = openai.StatusCancelled }), want: []Code{CodeErrorRate}},
		"an own limit of errors":          {records: testrun.Altered(100, 2, func(r *openai.Record) { r.Status = openai.StatusHTTP }), limits: []string{"error_rate=0.05"}},
		"nothing measured":                {want: []Code{CodeErrorRate}},
		"most answers in one read":        {records: testrun.Altered(100, 51, inOnePiece), want: []Code{CodeStreamBuffered}},
		"half of the answers in one read": {records: testrun.Altered(100, 50, inOnePiece)},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t)
			var err error
			if in.Limits, err = ParseLimits(test.limits); err != nil {
				t.Fatal(err)
			}
			s := summarize(t, in, test.records...)
			if got := codes(s); !slices.Equal(got, test.want) || s.Valid != (len(test.want) == 0) {
				t.Errorf("valid %v, reasons %v, want %v", s.Valid, s.InvalidReasons, test.want)
			}
		})
	}
}

func TestCheckedListsOnlyWhatWasChecked(t *testing.T) {
	in := input(t)
	if got := summarize(t, in, testrun.Steady(3)...).Checked; !slices.Equal(got, []string{"client", "errors", "model", "stream", "plan"}) {
		t.Errorf("without telemetry: %v", got)
	}
	in.Client.Watched, in.Judging.Model.Checked = false, false
	if got := summarize(t, in, testrun.Altered(3, 3, func(r *openai.Record) { r.ReadIDs = nil })...).Checked; !slices.Equal(got, []string{"errors", "plan"}) {
		t.Errorf("nothing watched: %v", got)
	}
	in.Limits = Limits{CodeErrorRate: {Off: true}, CodeNoOutput: {Off: true}, CodePhaseFailed: {Off: true}}
	s := summarize(t, in, testrun.Steady(3)...)
	if slices.Contains(s.Checked, "errors") || !strings.Contains(strings.Join(s.Warnings, "\n"), "error_rate was not judged") {
		t.Errorf("switched off: checked %v, warnings %q", s.Checked, s.Warnings)
	}
}

func TestValidityByTelemetry(t *testing.T) {
	all := []string{"client", "errors", "model", "telemetry", "thermal", "power", "swap", "counters", "stream", "plan"}
	s := summarize(t, machine(t, testrun.Page{}), testrun.Steady(40)...)
	if !s.Valid || !slices.Equal(s.Checked, all) {
		t.Errorf("a healthy machine: %v, checked %v", s.InvalidReasons, s.Checked)
	}
	for name, extra := range map[string]string{ // what breaks a rule is in rules_test.go
		"software power cap":   `uma_gpu_clock_event_seconds_total{uuid="GPU-2",reason="sw_power_cap"} AT`,
		"other counters reset": `uma_nvme_read_bytes_total{device="nvme0n1"} BACK`,
	} {
		page := testrun.Page{Mode: "live", Rest: testrun.Rest, Per: func(at float64) string {
			return strings.NewReplacer("AT", fmt.Sprint(at), "BACK", fmt.Sprint(math.Abs(8-at))).Replace(extra) + "\n"
		}}
		if s := summarize(t, machine(t, page), testrun.Steady(40)...); !s.Valid {
			t.Errorf("%s: %v", name, s.InvalidReasons)
		}
	}
}

func TestAPowerDeliveryFaultIsOfAGB10Only(t *testing.T) {
	s := summarize(t, machine(t, powerFault("NVIDIA H200")), testrun.Steady(40)...)
	if !s.Valid || slices.Contains(s.Checked, "power") {
		t.Errorf("another GPU: %v, checked %v", s.InvalidReasons, s.Checked)
	}
}

func TestLostTelemetryIsInvalidOnlyWhenItWasAskedFor(t *testing.T) {
	gone := machine(t, testrun.Page{Silent: func(s float64) bool { return s > 9.5 && s < 12.5 }})
	s := summarize(t, gone, testrun.Steady(40)...)
	if got := codes(s); !slices.Equal(got, []Code{CodeTelemetryLost}) || !strings.Contains(s.InvalidReasons[0].Detail, "spark: 3 of 1") {
		t.Errorf("reasons %v", s.InvalidReasons)
	}
	gone.TelemetryStats = nil
	if got := codes(summarize(t, gone, testrun.Steady(40)...)); !slices.Equal(got, []Code{CodeTelemetryLost}) {
		t.Errorf("from the file alone: %v", got)
	}
	gone.TelemetryRequested = false
	if s := summarize(t, gone, testrun.Steady(40)...); !s.Valid || slices.Contains(s.Checked, "telemetry") {
		t.Errorf("not asked for: %v, checked %v", s.InvalidReasons, s.Checked)
	}
	border := machine(t, testrun.Page{Silent: func(s float64) bool { return s == 5 }})
	if s := summarize(t, border, testrun.Steady(40)...); !slices.Contains(codes(s), CodeTelemetryLost) {
		t.Errorf("a border is missing: %v", s.InvalidReasons)
	}
	nothingAtAll := input(t)
	nothingAtAll.TelemetryRequested = true
	if got := codes(summarize(t, nothingAtAll, testrun.Steady(40)...)); !slices.Equal(got, []Code{CodeTelemetryLost}) {
		t.Errorf("nothing was recorded: %v", got)
	}
}

func TestMachineFiguresAreThoseOfTheMeasuredPhases(t *testing.T) {
	in := machine(t, testrun.Page{Extra: "uma_nvme_read_bytes_total{device=\"nvme0n1\"} 5\n"})
	s := summarize(t, in, testrun.Steady(40)...)
	load := 1 - math.Exp(-10./8) // at 15 s
	held, free := (70+24*load)*testrun.GiB, (119.7-70-24*load-6-load-9+3*load-1.4-1.1)*testrun.GiB
	for name, test := range map[string]struct {
		got  *float64
		want float64
	}{
		"GPU-held peak":        {s.Memory.GPUHeldPeak, held},
		"CUDA free, least":     {s.Memory.CUDAFreeMin, free},
		"pool":                 {s.Memory.Pool, 119.7 * testrun.GiB},
		"unavailable peak":     {s.Memory.UnavailablePeak, 119.7*testrun.GiB - free - .9*(9-3*load)*testrun.GiB},
		"available, least":     {s.Memory.AvailableMin, free + .9*(9-3*load)*testrun.GiB},
		"occupied peak":        {s.Memory.OccupiedPeak, 119.7*testrun.GiB - free},
		"start temperature":    {s.Thermal.StartCelsius, 45},
		"highest temperature":  {s.Thermal.MaxCelsius, math.Round(45 + 25*load)},
		"joules per token":     {s.Energy.JoulesPerOutputToken, 400. / (40 * 8)},
		"ledger, ready, anon":  {ptr(s.Memory.LedgerAt.Ready["anon"]), 6 * testrun.GiB},
		"ledger, peak, anon":   {ptr(s.Memory.LedgerAt.Peak["anon"]), (6 + load) * testrun.GiB},
		"joules":               {&s.Energy.Joules, 400},
		"power cap seconds":    {ptr(s.Thermal.ThrottleSeconds["sw_power_cap"]), 10. / 3},
		"delta of the warm-up": {ptr(s.Phases["warmup"].Deltas[`uma_gpu_energy_joules_total{uuid="GPU-1"}`].Delta), 200},
	} {
		if test.got == nil || math.Abs(*test.got-test.want) > 1e-5*math.Abs(test.want) {
			t.Errorf("%s: %v, want %v", name, format.Optional(test.got, format.Digits), test.want)
		}
	}
	if s.Memory.LedgerAt.Start != nil {
		t.Error("a ledger before the engine was started, by a run that did not start it")
	}
	if d, ok := s.Phases["measure"].Deltas[`uma_nvme_read_bytes_total{device="nvme0n1"}`]; !ok || d.Delta != 0 || d.Reset {
		t.Errorf("a counter that stood still: %+v, there %v", d, ok)
	}
}

// The energy of one of two phases must not be shared out to the tokens of both.
func TestWhatGrewInAPartOfTheMeasuredTimeIsNoFigureOfAllOfIt(t *testing.T) {
	in := input(t)
	in.Phases = []rundir.Span{{Name: "warmup", StartNS: 0, EndNS: 5e9}, {Name: "measure", StartNS: 5e9, EndNS: 10e9}, {Name: "again", StartNS: 10e9, EndNS: 20e9}}
	borders := []telemetry.Phase{{Name: "warmup"}, {Name: "measure", AtNS: 5e9}, {Name: "again", AtNS: 10e9}}
	seen := func(silentAt float64, swapped string) Summary {
		page := testrun.Page{Mode: "live", Rest: testrun.Rest, Silent: func(s float64) bool { return s == silentAt }, Per: func(at float64) string {
			return strings.ReplaceAll(swapped, "AT", fmt.Sprint(at*(20<<20))) + "\n"
		}}
		in.Telemetry = testrun.Sampled(t, map[string]testrun.Page{"spark": page}, borders, 20*time.Second)
		return summarize(t, in, append(testrun.Steady(40), testrun.Altered(40, 40, func(r *openai.Record) { r.Phase = "again" })...)...)
	}
	const swapped = `uma_vmstat_swapped_in_bytes_total{x="1"} AT`
	whole := seen(-1, "")
	if whole.Energy == nil || whole.Energy.JoulesPerOutputToken == nil || !slices.Contains(whole.Checked, "thermal") || !slices.Contains(whole.Checked, "swap") {
		t.Fatalf("energy %+v, checked %v", whole.Energy, whole.Checked)
	}
	cut := seen(20, "") // the border that ends the last measured phase
	if cut.Energy != nil || !strings.Contains(strings.Join(cut.Warnings, "\n"), "a border of the measured phases has no sample") {
		t.Errorf("energy %+v, warnings %q", cut.Energy, cut.Warnings)
	}
	for _, check := range []string{"thermal", "swap", "counters"} {
		if slices.Contains(cut.Checked, check) {
			t.Errorf("%s passes for checked: %v", check, cut.Checked)
		}
	}
	if got := codes(seen(20, swapped)); !slices.Equal(got, []Code{CodeSwapIn}) {
		t.Errorf("swapped in where it was looked: %v", got)
	}
}

func TestDeltasOfAPhaseThatRanTwiceAreThoseOfBothOrNone(t *testing.T) {
	in := input(t)
	in.Phases = []rundir.Span{{Name: "measure", StartNS: 0, EndNS: 5e9}, {Name: "between", StartNS: 5e9, EndNS: 10e9}, {Name: "measure", StartNS: 10e9, EndNS: 20e9}}
	borders := []telemetry.Phase{{Name: "measure"}, {Name: "between", AtNS: 5e9}, {Name: "measure", AtNS: 10e9}}
	const energy = `uma_gpu_energy_joules_total{uuid="GPU-1"}`
	for silentAt, want := range map[float64]bool{-1: true, 10: false} {
		page := testrun.Page{Mode: "live", Rest: testrun.Rest, Silent: func(s float64) bool { return s == silentAt }}
		in.Telemetry = testrun.Sampled(t, map[string]testrun.Page{"spark": page}, borders, 20*time.Second)
		d, there := summarize(t, in, testrun.Steady(40)...).Phases["measure"].Deltas[energy]
		if there != want || there && math.Abs(d.Delta-40*15) > 1e-6 {
			t.Errorf("silent at %v s: delta %+v, there %v", silentAt, d, there)
		}
	}
}

func TestTheLedgerAtStartIsOfARunThatStartsTheEngine(t *testing.T) {
	in := machine(t, testrun.Page{})
	in.Telemetry.Phases[0].Name = "start"
	s := summarize(t, in, testrun.Steady(40)...)
	if at := s.Memory.LedgerAt; at.Start["anon"] != 6*testrun.GiB || at.Ready["anon"] != 6*testrun.GiB {
		t.Errorf("start %v, ready %v", at.Start, at.Ready)
	}
}

// TestThePageOfOurExporterIsUnderstood reads what the exporter really serves of a whole GB10.
func TestThePageOfOurExporterIsUnderstood(t *testing.T) {
	page, err := os.ReadFile("../../exporter/testdata/gb10-load.prom")
	if err != nil {
		t.Fatal(err)
	}
	// As if it were a live one: of a constructed machine only what it shows is told, nothing is judged.
	live := strings.NewReplacer(`{mode="constructed"} 1`, `{mode="constructed"} 0`, `{mode="live"} 0`, `{mode="live"} 1`).Replace(string(page))
	s := summarize(t, machine(t, testrun.Page{Raw: live}), testrun.Steady(40)...)
	if s.Memory == nil || s.Memory.Mode != "live" || s.Memory.LedgerAt == nil {
		t.Fatalf("memory %+v", s.Memory)
	}
	total := 0.0
	for _, bytes := range s.Memory.LedgerAt.Peak {
		total += bytes
	}
	if pool := 127600748. * 1024; math.Abs(total-pool) > 1 {
		t.Errorf("the ledger's lines are %v of a pool of %v", total, pool)
	}
	if s.Memory.UnavailablePeak == nil || s.Memory.CUDAFreeMin == nil || s.Memory.GPUHeldPeak == nil || s.Thermal == nil || s.Thermal.MaxCelsius == nil {
		t.Errorf("memory %+v, thermal %+v", s.Memory, s.Thermal)
	}
	for _, reason := range []string{"sw_thermal", "hw_thermal", "hw_power_brake", "sw_power_cap"} {
		if _, ok := s.Thermal.ThrottleSeconds[reason]; !ok {
			t.Errorf("no seconds of %s: %v", reason, s.Thermal.ThrottleSeconds)
		}
	}
	for _, check := range []string{"thermal", "power", "swap", "counters", "telemetry"} {
		if !slices.Contains(s.Checked, check) {
			t.Errorf("%s was not checked: %v", check, s.Checked)
		}
	}
}

func TestSourcesAreNeverMixed(t *testing.T) {
	in := read(t, testrun.Example(t, 20*time.Second))
	in.Phases[1].EndNS = 20e9
	s := summarize(t, in, testrun.Steady(20)...)
	if len(s.Machines) != 2 || s.Memory.Source != "spark-1" || s.Memory.Mode != "live" || s.Machines[1].Memory.Mode != "constructed" {
		t.Fatalf("machines %+v, memory of %+v", s.Machines, s.Memory)
	}
	if a, b := s.Machines[0].Energy, s.Machines[1].Energy; a.JoulesPerOutputToken == nil || b != nil {
		t.Errorf("energy per token of the measured host %+v, of a constructed one %+v", a, b)
	}
	in.Labels["host"] = "another"
	s = summarize(t, in, testrun.Steady(20)...)
	if s.Memory != nil || s.Energy != nil || s.Thermal != nil || s.Phases["measure"].Deltas != nil || slices.Contains(s.Checked, "thermal") {
		t.Error("figures of some machine stand for the measured one")
	}
	if !strings.Contains(strings.Join(s.Warnings, "\n"), "no telemetry source is named like the measured host") {
		t.Errorf("warnings %q", s.Warnings)
	}
	only := machine(t, testrun.Page{Mode: "constructed"})
	only.Labels["host"] = "another"
	s = summarize(t, only, testrun.Steady(20)...)
	if s.Memory == nil || s.Memory.Mode != "constructed" || !strings.Contains(strings.Join(s.Warnings, "\n"), "constructed, not live") {
		t.Errorf("the only source: %+v, warnings %q", s.Memory, s.Warnings)
	}
	if s.Phases["measure"].Deltas != nil || slices.Contains(s.Checked, "thermal") || slices.Contains(s.Checked, "swap") {
		t.Errorf("a run is judged by a machine that it did not load: checked %v, deltas %v", s.Checked, s.Phases["measure"].Deltas)
	}
	if !strings.Contains(strings.Join(s.Warnings, "\n"), `is taken for the measured host "another"`) {
		t.Errorf("one machine stands for another without a word: %q", s.Warnings)
	}
}

func TestAbsentSeriesAreAbsentFigures(t *testing.T) {
	in := machine(t, testrun.Page{Replace: strings.NewReplacer("uma_gpu", "other_gpu", "uma_memory_cuda", "other", "uma_vmstat", "other")})
	s := summarize(t, in, testrun.Steady(40)...)
	if s.Thermal != nil || s.Energy != nil || s.Memory.GPUHeldPeak != nil || s.Memory.CUDAFreeMin != nil || s.Memory.UnavailablePeak == nil {
		t.Errorf("thermal %v, energy %v, memory %+v", s.Thermal, s.Energy, s.Memory)
	}
	for _, check := range []string{"thermal", "power", "swap", "counters"} {
		if slices.Contains(s.Checked, check) {
			t.Errorf("%s was checked without a series", check)
		}
	}
}

func TestALimitThatMakesNoSenseIsRefused(t *testing.T) {
	for _, text := range []string{"", "error_rate", "error_rate=", "error_rate=5", "error_rate=-1%", "error_rate=NaN", "client_lag=5", "client_lag=-1ms",
		"swap_in=lots", "swap_in=-1", "model_changed=1", "no_such_code=off", "=off"} {
		if limits, err := ParseLimits([]string{text}); err == nil {
			t.Errorf("%q became %v", text, limits)
		}
	}
	if _, err := ParseLimits([]string{"swap_in=1MiB", "swap_in=off"}); err == nil {
		t.Error("a limit given twice")
	}
	if _, err := ParseLimits([]string{"no_such_code=off"}); err == nil || !strings.Contains(err.Error(), "client_lag") {
		t.Errorf("the error does not list the codes: %v", err)
	}
}

func TestEveryRuleIsDistinctAndShowsItsLimit(t *testing.T) {
	seen := map[Code]bool{}
	for _, rule := range Rules() {
		if seen[rule.Code] {
			t.Errorf("%s twice", rule.Code)
		}
		seen[rule.Code] = true
		if text := rule.String(); strings.Contains(text, "%!") || strings.Contains(text, "%s") {
			t.Errorf("%s: %s", rule.Code, text)
		}
		if rule.Unit == LimitNone {
			continue
		}
		limits, err := ParseLimits([]string{string(rule.Code) + "=" + rule.Unit.format(rule.Limit)})
		if err != nil || math.Abs(limits[rule.Code].Value-rule.Limit) > 1e-12*rule.Limit {
			t.Errorf("%s: %v became %v (%v)", rule.Code, rule.Limit, limits, err)
		}
	}
}

// FuzzParseLimits and SLOs: what is accepted is a limit that a run can be judged by.
func FuzzParseLimits(f *testing.F) {
	for _, text := range []string{"client_lag=2ms", "error_rate=5%", "error_rate=0.05", "swap_in=64MiB", "model_changed=off", "swap_in=1e999", "error_rate=Inf%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		limits, err := ParseLimits([]string{text})
		if err != nil {
			return
		}
		for code, limit := range limits {
			if limit.Value < 0 || math.IsNaN(limit.Value) || math.IsInf(limit.Value, 0) {
				t.Errorf("%q became %v", text, limit)
			}
			if limit.Off != strings.HasSuffix(text, "=off") || !strings.HasPrefix(text, string(code)+"=") {
				t.Errorf("%q became %s %+v", text, code, limit)
			}
		}
	})
}

// FuzzParseSLO: what is accepted is written and read back as the same.
func FuzzParseSLO(f *testing.F) {
	for _, text := range []string{"ttft=500ms,tpot=50ms", "e2e=1h", "ttfo=1ns", "ttft=1e9s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		slo, err := ParseSLO(text)
		if err != nil {
			return
		}
		again, err := ParseSLO(slo.String())
		if err != nil || !slices.Equal(slo, again) || len(slo) == 0 {
			t.Errorf("%q became %v, then %v (%v)", text, slo, again, err)
		}
	})
}

// TestADepthIsEvictedByTheBlocksOfItsCache: of a depth shorter than a block a cache holds nothing, and misses nothing.
func TestADepthIsEvictedByTheBlocksOfItsCache(t *testing.T) {
	for _, of := range []struct {
		depth, block, cached int
		evicted              bool
	}{
		{64, 128, 0, false}, {64, 16, 0, true}, {64, 0, 0, true}, {256, 128, 128, false}, {256, 128, 0, true}, {1000, 16, 800, true}, {1000, 0, 800, false},
	} {
		in := input(t)
		in.DepthTokens, in.CacheBlock = of.depth, of.block
		s := summarize(t, in, testrun.Altered(100, 100, cached(of.depth+100, of.cached, of.depth+100, of.cached))...)
		if got := slices.Contains(codes(s), CodeDepthEvicted); got != of.evicted {
			t.Errorf("%+v: %v", of, s.InvalidReasons)
		}
	}
}
