package cell

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// SettingPrefixCaching is the setting of an imported run that is true if its depth was sent ahead.
const SettingPrefixCaching = "prefix_caching_enabled"

// ErrNoCell is returned for a run that is no cell.
var ErrNoCell = errors.New("the run is no cell")

// Read returns the rows of a run: of a cell with a depth that was sent ahead those of the context and of the prompt,
// otherwise one.
func Read(run summary.Run) ([]Row, error) {
	rows, err := read(run)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", run.Folder, err)
	}
	return rows, nil
}

func read(run summary.Run) ([]Row, error) {
	m := run.Manifest
	row := Row{
		Run: string(run.Folder), Model: m.Server.Model, Simulated: m.Server.Simulated, Arm: m.Labels[string(metric.LabelArm)], Started: m.StartedAt, Ended: m.StartedAt,
		LatencyMode: m.Server.LatencyProbeMode, Context: m.Labels[rundir.LabelCellPhase] == rundir.CellContext,
		CacheBlock: m.Server.CacheBlock(supported.Engines()), PrefixCaching: m.Flags[SettingPrefixCaching] == "true",
	}
	if a := m.Workload.Script.Arena; a != nil {
		row.PrefixCaching = a.PrefixCaching
	}
	if m.EndedAt != nil {
		row.Ended = *m.EndedAt
	}
	var err error
	if row.Position, err = positionOf(m.Labels); err != nil {
		return nil, err
	}
	if s := m.Server.LatencyProbeSeconds; s != nil {
		row.LatencySeconds = *s
	}
	row.Cached = !row.Context && row.Depth > 0 && row.PrefixCaching
	row.Found = flagsOf(run)
	if j := m.Judging; j != nil && j.Tool != nil {
		return reported(row, m)
	}
	if !run.HasRequests() {
		return nil, fmt.Errorf("%w: it has no requests", ErrNoCell)
	}
	batches, err := batchesOf(run)
	if err != nil {
		return nil, err
	}
	inference := row
	inference.Batches, row.Batches = batches[rundir.BatchPhase], batches[rundir.ContextPhase]
	switch {
	case len(inference.Batches)+len(row.Batches) == 0:
		return nil, fmt.Errorf("%w: it has no phase batch_1", ErrNoCell)
	case len(row.Batches) == 0:
		err = sampled(run, map[string]*Row{rundir.BatchPhase: &inference})
		return []Row{inference}, err
	}
	row.Context, row.Cached = true, false
	inference.Context, inference.Cached = false, true
	err = sampled(run, map[string]*Row{rundir.ContextPhase: &row, rundir.BatchPhase: &inference})
	return []Row{row, inference}, err
}

// sampled adds to rows, by the kind of their phases, what the telemetry of the run shows.
func sampled(run summary.Run, rows map[string]*Row) error {
	log, err := run.Telemetry()
	if err != nil || log == nil {
		return err
	}
	phases, err := run.ReadPhases()
	if err != nil {
		return err
	}
	machines, err := run.Machines(log)
	if err != nil {
		return err
	}
	for kind, row := range rows {
		var spans []rundir.Span
		for _, phase := range phases {
			if strings.HasPrefix(phase.Name, kind) {
				spans = append(spans, phase)
			}
		}
		row.Used = machines.Used(spans)
		row.addQueued(log, spans)
	}
	return nil
}

// positionOf reads the position from the labels of a run.
func positionOf(labels map[string]string) (Position, error) {
	var p Position
	var missing []string
	for _, of := range []struct {
		label string
		into  *int
		least int
	}{{rundir.LabelDepth, &p.Depth, 0}, {rundir.LabelConcurrency, &p.Concurrency, 1}, {rundir.LabelPrompt, &p.Prompt, 0}, {rundir.LabelResponse, &p.Response, 0}} {
		text, given := labels[of.label]
		n, err := strconv.Atoi(text)
		switch {
		case !given:
			missing = append(missing, of.label)
		case err != nil || n < of.least || n > math.MaxInt32:
			return p, fmt.Errorf("%w: its label %s is %q, not a count", ErrNoCell, of.label, text)
		}
		*of.into = n
	}
	if len(missing) > 0 {
		return p, fmt.Errorf("%w: it lacks the labels %s", ErrNoCell, strings.Join(missing, ", "))
	}
	return p, nil
}

// batchesOf reads the requests, by the kind of their phase, then by its number.
func batchesOf(run summary.Run) (map[string][][]openai.Record, error) {
	numbered := map[string]map[int][]openai.Record{rundir.ContextPhase: {}, rundir.BatchPhase: {}}
	for record, err := range summary.Records(run.Path(rundir.RequestsFile)) {
		if errors.Is(err, summary.ErrTorn) {
			break
		}
		if err != nil {
			return nil, err
		}
		for kind, batches := range numbered {
			if number, is := strings.CutPrefix(record.Phase, kind); is {
				if n, err := strconv.Atoi(number); err == nil {
					batches[n] = append(batches[n], record)
				}
			}
		}
	}
	all := map[string][][]openai.Record{}
	for kind, batches := range numbered {
		for _, n := range slices.Sorted(maps.Keys(batches)) {
			slices.SortStableFunc(batches[n], func(a, b openai.Record) int { return a.Index - b.Index })
			all[kind] = append(all[kind], batches[n])
		}
	}
	return all, nil
}

// flagsOf returns the flags that the run's own evidence shows.
func flagsOf(run summary.Run) []Flag {
	var all []Flag
	add := func(name, evidence string) {
		if evidence != "" {
			all = append(all, Flag{name, evidence})
		}
	}
	preempted := 0.
	for _, phase := range run.Summary.Phases {
		for series, delta := range phase.Deltas {
			if family, _, _ := strings.Cut(series, "{"); family == metric.EnginePreemptionsTotal.Def().Name {
				preempted += delta.Delta
			}
		}
	}
	if preempted > 0 {
		add(Preempted, fmt.Sprintf("the engine put off %.0f requests for lack of KV cache", preempted))
	}
	for _, reason := range run.Summary.InvalidReasons {
		switch reason.Code {
		case summary.CodeThermalThrottle:
			add(Throttled, reason.Detail)
		case summary.CodePromptLimit:
			add(DoesNotFit, reason.Detail)
		case summary.CodeErrorRate, summary.CodeDepthEvicted: // the requests show them
		default:
			add(Invalid, string(reason.Code)+": "+reason.Detail)
		}
	}
	return all
}

// addQueued adds the flag of requests that waited in the engine, by its page.
func (r *Row) addQueued(log *telemetry.Log, phases []rundir.Span) {
	if r.Concurrency == 1 {
		return
	}
	most, waiting := 0., 0.
	for _, source := range log.Sources {
		for _, series := range source.Find(metric.EngineRequests) {
			for _, phase := range phases {
				for point := range series.Between(phase.StartNS, phase.EndNS) {
					switch series.Labels[string(metric.LabelState)] {
					case "running":
						most = max(most, point.Value)
					case "waiting":
						waiting = max(waiting, point.Value)
					}
				}
			}
		}
	}
	if waiting > 0 && most < float64(r.Concurrency) {
		r.Found = append(r.Found, Flag{Queued, fmt.Sprintf("the engine's page has at most %.0f running and up to %.0f waiting, of %d", most, waiting, r.Concurrency)})
	}
}

// reported returns the row of a tool that recorded no requests.
func reported(row Row, m rundir.Manifest) ([]Row, error) {
	tool := m.Judging.Tool
	if m.Imported == nil || !slices.Contains([]string{"llama-benchy", "sparkrun"}, m.Imported.Format) {
		return nil, fmt.Errorf("%w: its figures are of %s, by other definitions", ErrNoCell, tool.Program)
	}
	f := LlamaBenchy{}
	for _, of := range reportedMetrics(&f) {
		*of.into = metricOf(tool.Values, of.name, of.perUnit)
	}
	row.Reported = &f
	if !strings.HasPrefix(tool.Version, "umascope ") {
		row.Tool = strings.TrimSpace(tool.Program + " " + tool.Version)
	}
	row.LatencyMode = m.Flags["latency_mode"]
	for _, v := range tool.Values {
		switch v.Name {
		case spec.NetworkSeconds:
			row.LatencySeconds = v.Value
			if ms, err := strconv.ParseFloat(v.Text, 64); err == nil {
				row.ReportedLatencyMS = &ms
			}
		case spec.FailedRequests:
			row.Found = append(row.Found, Flag{fmt.Sprintf("errors %.0f", v.Value), "requests that have no value in the file"})
		}
	}
	return []Row{row}, nil
}

// reportedMetric is where a figure of a tool's report belongs; perUnit is how many of llama-benchy's units the base
// unit has.
type reportedMetric struct {
	name    spec.Quantity
	into    **Metric
	perUnit float64
}

func reportedMetrics(f *LlamaBenchy) []reportedMetric {
	return []reportedMetric{
		{spec.PrefillTokensPerSecond, &f.Prefill, 1}, {spec.PrefillTokensPerSecondEach, &f.PrefillEach, 1},
		{spec.DecodeTokensPerSecond, &f.Decode, 1}, {spec.UserTokensPerSecond, &f.DecodeEach, 1},
		{spec.PeakTokensPerSecond, &f.Peak, 1}, {spec.PeakTokensPerSecondEach, &f.PeakEach, 1},
		{spec.FirstEventSeconds, &f.FirstEvent, 1e3}, {spec.PrefillSeconds, &f.PrefillTime, 1e3}, {spec.TTFTSeconds, &f.TTFT, 1e3},
	}
}

// metricOf returns a figure with its values: as the file had it, if the run has its text.
func metricOf(values []spec.Reported, name spec.Quantity, perUnit float64) *Metric {
	var m *Metric
	for _, v := range values {
		if v.Name != name {
			continue
		}
		switch v.Statistic {
		case "mean":
			var text struct {
				Mean   *float64
				Std    float64
				Values []float64
			}
			if json.Unmarshal([]byte(v.Text), &text) == nil && text.Mean != nil {
				return &Metric{Mean: *text.Mean, SD: text.Std, Values: text.Values}
			}
			m = &Metric{Mean: v.Value * perUnit}
			for _, one := range v.Values {
				m.Values = append(m.Values, one*perUnit)
			}
		case "sd":
			if m != nil && len(m.Values) > 1 {
				n := float64(len(m.Values))
				m.SD = v.Value * perUnit * math.Sqrt((n-1)/n)
			}
		case "population_sd":
			if m != nil {
				m.SD = v.Value * perUnit
			}
		}
	}
	return m
}
