package view

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/scrape"

	"github.com/umascope/umascope/dashboards"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
	"github.com/umascope/umascope/loadgen/promexport"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/render/report"
)

const (
	overviewRefresh = 15 // seconds
	newestRuns      = 5
	answerTimeout   = 2 * time.Second
	longestAnswer   = 1 << 20 // bytes
)

// overview shows the memory of this machine now, what needs attention, and where everything else is.
func (v *viewer) overview(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), pageQueryTimeout)
	defer cancel()
	d := render.Document{Title: v.host, Pages: bar(overviewPath), RefreshSeconds: overviewRefresh}
	d.Add(v.memoryBlocks(ctx)...)
	d.Add(v.alertLine(), v.lastBootLine(ctx), v.runLine(ctx))
	shown := v.results.Look()
	if len(shown.All) > 0 {
		d.Add(render.H2("Newest runs"))
		d.Add(promexport.RunBlocks(shown.All[:min(len(shown.All), newestRuns)], addressOfRun)...)
	}
	d.Add(render.P(render.Link("All runs", runsPath), render.Plain(": "+shown.Counts())), v.missingRuns())
	d.Add(render.H2("Dashboards"))
	list := render.List{Class: "files"}
	for _, one := range v.boards {
		list.Items = append(list.Items, []render.Span{render.Link(one.Title, addressOfDashboard(one.UID, url.Values{})), render.Plain(" " + one.Description)})
	}
	d.Add(list, render.Small(v.source+"; samples of "+v.database.retention+" in "+v.data+"; Prometheus’ API for Grafana and promtool is at /api/v1/."))
	v.write(w, http.StatusOK, d)
}

// hostLedger is the memory of a host.
type hostLedger struct {
	lines     ledger.Ledger // bytes; they add up to the pool
	upTo      *float64      // bytes that can be allocated of a pool from which a GPU allocates; nil elsewhere
	simulated string        // mode of its source; empty for a live machine
}

// sentence returns how much is occupied and how much is free, with what can be allocated where a GPU allocates from the
// pool.
func (l hostLedger) sentence() string {
	const gib = 1 << 30
	free, _ := l.lines.Free()
	text := fmt.Sprintf("%.1f of %.1f GiB occupied; ", (l.lines.Sum()-free)/gib, l.lines.Sum()/gib)
	if l.upTo == nil {
		text += fmt.Sprintf("%.1f GiB free.", free/gib)
	} else {
		cma := l.lines[ledger.FreeCMA]
		text += collector.NewAllocatable(int64(l.lines.Sum()), int64(free), int64(cma), int64(*l.upTo+cma)).Sentence() + "."
	}
	if l.simulated != "" {
		text = strings.ToUpper(l.simulated) + ": " + text
	}
	return text
}

// ledgers returns those of all hosts.
func (v *viewer) ledgers(ctx context.Context) (map[string]hostLedger, error) {
	lines, err := v.database.now(ctx, expr.Select(metric.MemoryLedgerBytes))
	if err != nil {
		return nil, err
	}
	can, err := v.database.now(ctx, expr.Select(metric.MemoryAllocatableBytes))
	if err != nil {
		return nil, err
	}
	modes, err := v.database.now(ctx, expr.Select(metric.ExporterMode).Equals(expr.Number(1)))
	all := map[string]hostLedger{}
	for _, s := range lines {
		host := label(s, metric.LabelHost)
		if all[host].lines == nil {
			all[host] = hostLedger{lines: ledger.Ledger{}}
		}
		all[host].lines[label(s, metric.LabelLine)] = s.F
	}
	for _, s := range can {
		host := label(s, metric.LabelHost)
		if l, known := all[host]; known {
			l.upTo = new(s.F)
			all[host] = l
		}
	}
	for _, s := range modes {
		host, mode := label(s, metric.LabelHost), label(s, metric.LabelMode)
		if l, known := all[host]; known && mode != metric.ModeLive {
			l.simulated = mode
			all[host] = l
		}
	}
	return all, err
}

// memoryBlocks show the memory of this machine, and a sentence on that of each other one.
func (v *viewer) memoryBlocks(ctx context.Context) []render.Block {
	all, err := v.ledgers(ctx)
	if err != nil {
		return []render.Block{render.Notice(render.Bad, render.Plain("The samples cannot be read: "+err.Error()))}
	}
	var blocks []render.Block
	own, known := all[v.host]
	if known {
		sentence, lines, between := own.sentence(), own.lines, ""
		if now := v.explain(ctx); now.Answer != "" {
			sentence, lines = now.Answer, now.lines(lines)
			between = now.Memory.Allocatable.Between()
		}
		blocks = append(blocks, render.Paragraph{Class: "big", Spans: []render.Span{render.Plain(sentence)}})
		if between != "" {
			blocks = append(blocks, render.Small(between))
		}
		blocks = append(blocks,
			render.Figures{report.LedgerBar("Memory now", "The parts add up to the pool, the memory that the kernel manages.", lines)},
			render.P(render.Link("Where every GiB is, over time", addressOfDashboard(dashboards.MemoryUID, url.Values{"var-host": {v.host}}))))
	} else {
		blocks = append(blocks, render.Notice(render.Note, render.Plain("There are no figures of this machine’s memory yet: the first come within "+(2*v.interval).String()+".")))
	}
	blocks = append(blocks, v.lostTargets())
	for _, l := range all {
		if l.simulated != "" {
			blocks = append(blocks, render.Small("Samples of simulated machines stay in the same folder as those of real ones: --data names another."))
			break
		}
	}
	delete(all, v.host)
	others := render.List{Class: "files"}
	for _, host := range slices.Sorted(maps.Keys(all)) {
		others.Items = append(others.Items, []render.Span{render.Link(host, addressOfDashboard(dashboards.MemoryUID, url.Values{"var-host": {host}})), render.Plain(": " + all[host].sentence())})
	}
	if !others.Empty() {
		blocks = append(blocks, render.H2("Other machines"), others)
	}
	return blocks
}

// lostTargets names the exporters that do not answer.
func (v *viewer) lostTargets() render.Block {
	list := render.List{Tone: render.Bad, Lead: []render.Span{render.Strong("No figures come from")}}
	for _, target := range v.database.scraping.TargetsActive()[exporterJob] {
		if err := target.LastError(); target.Health() == scrape.HealthBad && err != nil {
			list.Items = append(list.Items, render.Coded(target.GetValue(string(metric.LabelHost)), err.Error()))
		}
	}
	return list
}

// explanation is the answer of uma-exporter explain, and the ledger that it is about.
type explanation struct {
	Answer string
	Memory struct {
		Allocatable *collector.Allocatable
		Lines       []ledger.Line
	}
}

// lines returns the lines of the ledger, or others where it has none.
func (x explanation) lines(others ledger.Ledger) ledger.Ledger {
	if all := ledger.Of(x.Memory.Lines); len(all) > 0 {
		return all
	}
	return others
}

// explain asks the exporter where the memory is. The answer is empty if it does not come soon, or the exporter is an older one.
func (v *viewer) explain(ctx context.Context) explanation {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.target.ResolveReference(&url.URL{Path: "explain.json"}).String(), http.NoBody)
	if err != nil {
		return explanation{}
	}
	response, err := v.client.Do(request)
	if err != nil {
		return explanation{}
	}
	defer response.Body.Close()
	var found explanation
	if response.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(response.Body, longestAnswer)).Decode(&found) != nil {
		return explanation{}
	}
	return found
}

// runLine names the run in progress.
func (v *viewer) runLine(ctx context.Context) render.Block {
	running, err := v.running(ctx)
	if err != nil || len(running) == 0 {
		return render.P(render.Plain("No run is in progress."))
	}
	spans := []render.Span{render.Strong("In progress: ")}
	for i, r := range running {
		if i > 0 {
			spans = append(spans, render.Plain("; "))
		}
		spans = append(spans, render.Link(r.name, livePath), render.Plain(", "+r.words()))
	}
	return render.Notice(render.Note, spans...)
}
