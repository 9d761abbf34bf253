package demo

import (
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	hostsim "github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/promexport"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// machineTick is the step of the simulated machine: its state is the same until the next one.
const machineTick = 100 * time.Millisecond

// moment is the truth of a machine from one of its ticks to the next.
type moment struct {
	from time.Time
	hostsim.Truth
}

// witness notes the truth of a machine between its ticks.
type witness struct {
	mutex sync.Mutex
	seen  []moment
}

// watch notes moments until ctx ends. Call it when the machine has been opened, before any time passes.
func (w *witness) watch(ctx context.Context, s *specimen) {
	tick := time.Now()
	s.running.Go(func() {
		for ; pause(ctx, time.Until(tick.Add(machineTick/2))) == nil; tick = tick.Add(machineTick) {
			w.mutex.Lock()
			w.seen = append(w.seen, moment{tick, s.host.Truth()})
			w.mutex.Unlock()
		}
	})
}

// between returns the moments of a span of time.
func (w *witness) between(from, to time.Time) []moment {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	after := func(t time.Time) int { // the first tick after a time
		return sort.Search(len(w.seen), func(i int) bool { return w.seen[i].from.After(t) })
	}
	return slices.Clone(w.seen[after(from)-1 : after(to)])
}

// runFigure is a figure of a run as the machine, its summary, its pages and comparisons have it.
type runFigure struct {
	// name is that of the comparison, row matches what stands before the figure in a report, and family is that of the page of
	// finished runs; empty where they do not have it.
	name, row string
	family    metric.Definer
	// summary may differ from truth by atMost.
	summary, truth, atMost float64
}

// figuresOf holds the summary of a run against the machine, and returns what its pages and its comparison have to show.
func figuresOf(run summary.Run, w *witness, of account) ([]runFigure, error) {
	s := run.Summary
	phase := s.Phases["measure"]
	at := func(seconds float64) time.Time { return run.Manifest.StartedAt.Add(time.Duration(seconds * 1e9)) }
	load := w.between(at(phase.Start), at(phase.End))
	first, last := load[0], load[len(load)-1]
	duration := phase.End - phase.Start
	var hottest, watts, mostWatts float64
	for _, m := range load[1:] {
		hottest, watts, mostWatts = max(hottest, m.DieCelsius), watts+m.PowerWatts, max(mostWatts, m.PowerWatts)
	}
	watts /= float64(len(load) - 1)

	ready, err := momentOfLedger(run, w)
	if err != nil {
		return nil, err
	}
	lines := s.Memory.LedgerAt.Ready
	sum := 0.0
	for _, bytes := range lines {
		sum += bytes
	}
	for line, bytes := range map[string]int64{ledger.Free: ready.FreeBytes, ledger.GPUProcess: ready.GPUHeldBytes, ledger.Unattributed: ready.UnattributedBytes} {
		if lines[line] != float64(bytes) {
			return nil, fmt.Errorf("when the engine was ready %s was %.0f by the ledger, and %d by the machine", line, lines[line], bytes)
		}
	}
	if sum != float64(ready.PoolBytes) {
		return nil, fmt.Errorf("when the engine was ready the lines of the ledger were %.0f, and the pool %d", sum, ready.PoolBytes)
	}
	kv := float64(of.kvBytes)

	ttft, e2e, tpot := s.Latency.TTFT.Send, s.Latency.E2E.Send, s.Latency.TPOT.Send
	const nanosecond = 1e-9
	return []runFigure{
		// A page is read when the load begins and when it ends, and the driver counts millijoules.
		{name: "energy_joules", row: `energy`, family: metric.RunEnergyJoules, summary: s.Energy.Joules, truth: last.EnergyJoules - first.EnergyJoules, atMost: 0.002},
		// The load begins and ends within a tick of the power.
		{name: "gpu_power_mean_watts", family: metric.RunGPUPowerWatts, summary: s.Energy.Joules / duration, truth: watts, atMost: 2 * mostWatts * machineTick.Seconds() / duration},
		// The driver reports whole degrees, and the page is read once a second.
		{name: "gpu_max_celsius", row: `GPU temperature, highest`, family: metric.RunGPUTemperatureCelsius, summary: *s.Thermal.MaxCelsius, truth: hottest, atMost: 2},
		{name: figure.KVCapacity, row: `KV cache, by [^|]*`, family: metric.RunKVCapacityBytes, summary: *s.KV.CapacityBytes, truth: kv},
		{name: figure.MemoryOccupiedWithoutKV, row: `occupied without KV cache`, family: metric.RunMemoryOccupiedWithoutKVBytes, summary: *s.Memory.OccupiedWithoutKV, truth: float64(ready.PoolBytes-ready.FreeBytes) - kv},
		{row: `TTFT from send \| \d+`, summary: *ttft.Mean, truth: engineMean(phase, "vllm:time_to_first_token_seconds"), atMost: nanosecond},
		{row: `E2E from send \| \d+`, summary: *e2e.Mean, truth: engineMean(phase, "vllm:e2e_request_latency_seconds"), atMost: nanosecond},
		{row: `TPOT \| \d+`, summary: *tpot.Mean, truth: engineMean(phase, "vllm:request_time_per_output_token_seconds"), atMost: nanosecond},
		// On a virtual clock a request is sent when it is due.
		{name: figure.TimeToFirstToken, summary: *s.Latency.TTFT.Intended.P50, truth: *ttft.P50},
		{name: figure.RequestDuration, summary: *s.Latency.E2E.Intended.P50, truth: *e2e.P50},
	}, nil
}

// momentOfLedger returns the moment of the page that the ledger of the ready engine is from.
func momentOfLedger(run summary.Run, w *witness) (moment, error) {
	log, err := telemetry.Read(run.Path(rundir.TelemetryFile))
	if err != nil {
		return moment{}, err
	}
	windows := log.Windows(log.Source(truthHost), "measure")
	if len(windows) != 1 {
		return moment{}, fmt.Errorf("%d windows of the load", len(windows))
	}
	at := run.Manifest.StartedAt.Add(time.Duration(windows[0].FromNS))
	return w.between(at, at)[0], nil
}

// engineMean is the mean of a latency by the engine's own counters; NaN if it does not count it.
func engineMean(phase summary.PhaseSummary, family string) float64 {
	grown := func(suffix string) float64 {
		for series, d := range phase.Deltas {
			if strings.HasPrefix(series, family+suffix+"{") {
				return d.Delta
			}
		}
		return math.NaN()
	}
	return grown("_sum") / grown("_count")
}

// number is a figure on a page, with its unit.
const number = `[| ]+(-?[0-9.]+) ?(GiB|J|°C|W|s|ms|µs|)\b`

// unitsOfPages are the units of pages in those of summaries.
func unitsOfPages() map[string]float64 {
	return map[string]float64{"GiB": gib, "J": 1, "°C": 1, "W": 1, "s": 1, "ms": 1e-3, "µs": 1e-6}
}

// onPage returns a figure of a page in the unit of the summary, and by how much rounding may have changed it. A table that has
// its unit in the head is one of GiB.
func onPage(page, row string) (value, rounding float64, err error) {
	found := regexp.MustCompile(`\| ` + row + number).FindStringSubmatch(page)
	if found == nil {
		return 0, 0, fmt.Errorf("no row %q", row)
	}
	if value, err = strconv.ParseFloat(found[1], 64); err != nil {
		return 0, 0, err
	}
	_, decimals, _ := strings.Cut(found[1], ".")
	unit, known := unitsOfPages()[found[2]]
	if !known {
		unit = gib
	}
	return value * unit, unit / 2 * math.Pow10(-len(decimals)), nil
}

// pagesOf returns the report of a run for people as Markdown has it, and as HTML, with | between the cells of tables.
func pagesOf(run summary.Run) (map[string]string, error) {
	all := map[string]string{}
	for _, name := range []string{rundir.ReportFile, rundir.HTMLFile} {
		text, err := os.ReadFile(run.Path(name))
		if err != nil {
			return nil, err
		}
		all[name] = string(text)
	}
	all[rundir.HTMLFile] = html.UnescapeString(regexp.MustCompile(`(\s*<[^>]*>\s*)+`).ReplaceAllString(all[rundir.HTMLFile], " | "))
	return all, nil
}

// checkedRun is a run whose figures and ledger are those of the machine.
type checkedRun struct {
	arm, id string
	figures []runFigure
	ledger  map[string]float64 // when the engine was ready, by line
}

// figuresAgree holds what a run says of latency, power, energy, temperature and memory against the truth, and its report,
// its comparison and the page of finished runs against its summary.
func figuresAgree(t *testing.T, seeds []uint64) {
	eachSeed(t, seeds, func(ctx context.Context, s *specimen) error {
		var w witness
		w.watch(ctx, s)
		var runs []checkedRun
		for i, a := range []arm{nativeArm(), containerArm(), containerArm(), nativeArm()} {
			a.dropsCaches = true
			load := []string{"--requests", "24", "--concurrency", "4", "--input-tokens", "256:1024", "--output-tokens", "32:96"}
			of, run, err := s.measured(ctx, a, []string{"campaign=truth", fmt.Sprintf("pair=%d", i/2)}, load...)
			if err != nil {
				return err
			}
			figures, err := figuresOf(run, &w, of)
			if err == nil {
				err = agreeWithReport(run, figures)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", run.Summary.Run, err)
			}
			runs = append(runs, checkedRun{a.name, run.Summary.Run, figures, run.Summary.Memory.LedgerAt.Ready})
		}
		c, err := s.compared(ctx, "arm", metric.ArmNative)
		if err != nil {
			return err
		}
		return errors.Join(agreeWithComparison(c, runs), agreeWithExport(s.folder, runs))
	})
}

// agreeWithReport holds the figures of a run against the machine, and its report against them.
func agreeWithReport(run summary.Run, figures []runFigure) error {
	pages, err := pagesOf(run)
	if err != nil {
		return err
	}
	for _, f := range figures {
		if !within(f.summary, f.truth, f.atMost) {
			return fmt.Errorf("%s%s: %v in the summary, by the machine %v", f.name, f.row, f.summary, f.truth)
		}
		for name, page := range pages {
			if f.row == "" {
				continue
			}
			shown, rounding, err := onPage(page, f.row)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if !within(shown, f.summary, 1.001*rounding) {
				return fmt.Errorf("%q is %v in %s, and %v in the summary", f.row, shown, name, f.summary)
			}
		}
	}
	return nil
}

// agreeWithComparison holds the values and the ledgers of a comparison against those of its runs, in their order.
func agreeWithComparison(c compare.Comparison, runs []checkedRun) error {
	pair := c.Strata[0].Pairs[0]
	for arm, ledger := range map[string]summary.Ledgers{pair.A: pair.Ledgers.A, pair.B: pair.Ledgers.B} {
		values, lines, n := map[string][]float64{}, map[string]float64{}, 0.0
		for _, r := range runs {
			if r.arm != arm {
				continue
			}
			n++
			for _, f := range r.figures {
				values[f.name] = append(values[f.name], f.summary)
			}
			for line, bytes := range r.ledger {
				lines[line] += bytes
			}
		}
		delete(values, "") // is not compared
		for _, series := range c.Strata[0].Arms[arm].Metrics {
			for i, value := range values[series.Name] {
				if got := series.Values[i]; got == nil || *got != value {
					return fmt.Errorf("%s of run %d of %s is %v in the summary, and not in the comparison", series.Name, i+1, arm, value)
				}
			}
			delete(values, series.Name)
		}
		if len(values) > 0 {
			return fmt.Errorf("%v of %s are not compared", slices.Sorted(maps.Keys(values)), arm)
		}
		for line, sum := range lines {
			if got, is := ledger.Ready[line]; !is || got != sum/n {
				return fmt.Errorf("%s of %s is %v in the ledger of the comparison, and %v in the summaries", line, arm, got, sum/n)
			}
		}
	}
	return nil
}

// agreeWithExport holds the page of finished runs, as Prometheus reads it, against the figures of the runs.
func agreeWithExport(folder string, runs []checkedRun) error {
	handler, err := promexport.Handler(promexport.New(folder, len(runs), len(runs)), promexport.Program{}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	page := httptest.NewRecorder()
	handler.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, r := range runs {
		want := map[string]float64{}
		for _, f := range r.figures {
			if f.family != nil {
				want[fmt.Sprintf("%s{run=%q}", f.family.Def().Name, r.id)] = f.summary
			}
		}
		for line, bytes := range r.ledger {
			want[fmt.Sprintf("%s{line=%q,moment=%q,run=%q}", metric.RunLedgerBytes.Def().Name, line, metric.MomentReady, r.id)] = bytes
		}
		for series, value := range want {
			found := regexp.MustCompile("(?m)^" + regexp.QuoteMeta(series) + " (.*)$").FindStringSubmatch(page.Body.String())
			if found == nil {
				return fmt.Errorf("the page of finished runs has no %s", series)
			}
			if got, err := strconv.ParseFloat(found[1], 64); err != nil || got != value {
				return fmt.Errorf("%s is %s on the page of finished runs, and %v in the summary", series, found[1], value)
			}
		}
	}
	return nil
}
