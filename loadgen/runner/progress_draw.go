package runner

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Limits of the width that progress is drawn for, in columns.
const (
	leastColumns = 40
	mostColumns  = 300
)

// Draw draws the state of a run for so many columns. No line is wider. Bands of memory have the style band- and their
// name; the other styles are strong, soft, good, bad and note.
func (p Progress) Draw(columns int) [][]render.Span {
	d := &drawing{columns: min(max(columns, leastColumns), mostColumns), labels: 12}
	if d.columns < 60 {
		d.labels = 2
	}
	p.drawRun(d)
	p.drawPhase(d)
	p.drawRequests(d)
	for _, m := range p.Machines {
		m.draw(d)
	}
	if s := p.Series; s != nil {
		s.draw(d)
	}
	return d.lines
}

// drawing is lines of a fixed width.
type drawing struct {
	columns int
	labels  int // columns of the labels, which have a line of their own in a narrow drawing
	lines   [][]render.Span
}

func words(format string, args ...any) []render.Span {
	return []render.Span{render.Plain(fmt.Sprintf(format, args...))}
}

func styled(style, text string) []render.Span { return []render.Span{{Text: text, Style: style}} }

// row adds a label and its items, on as many lines as they need. An item that is wider than a line is cut.
func (d *drawing) row(label string, items ...[]render.Span) {
	if len(items) == 0 {
		return
	}
	line := styled("soft", label)
	if width := ansi.StringWidth(label); width < d.labels {
		line[0].Text += strings.Repeat(" ", d.labels-width)
	} else {
		d.lines, line = append(d.lines, line), words("%s", strings.Repeat(" ", d.labels))
	}
	used := d.labels
	for i, item := range items {
		item = cut(item, d.columns-d.labels)
		gap, width := 0, width(item)
		if i > 0 {
			gap = 3
		}
		if used+gap+width > d.columns && i > 0 {
			d.lines = append(d.lines, line)
			line, used, gap = words("%s", strings.Repeat(" ", d.labels)), d.labels, 0
		}
		if gap > 0 {
			line = append(line, render.Plain(strings.Repeat(" ", gap)))
		}
		line, used = append(line, item...), used+gap+width
	}
	d.lines = append(d.lines, line)
}

// width returns the columns that spans take on a terminal.
func width(spans []render.Span) int {
	sum := 0
	for _, s := range spans {
		sum += ansi.StringWidth(s.Text)
	}
	return sum
}

// cut makes the text of spans printable, and shortens them to so many columns.
func cut(spans []render.Span, columns int) []render.Span {
	var kept []render.Span
	for _, s := range spans {
		s.Text = render.Printable(s.Text)
		if w := ansi.StringWidth(s.Text); w > columns {
			s.Text = ansi.Truncate(s.Text, columns, "…")
		}
		columns -= ansi.StringWidth(s.Text)
		kept = append(kept, s)
	}
	return kept
}

func (p Progress) drawRun(d *drawing) {
	items := [][]render.Span{styled("strong", p.Run)}
	for _, fact := range [][2]string{{"arm", p.Arm}, {"scenario", p.Scenario}, {"model", p.Model}} {
		if fact[1] != "" {
			items = append(items, words("%s %s", fact[0], fact[1]))
		}
	}
	if p.Simulated {
		items = append(items, styled("note", "simulated engine"))
	}
	switch p.State {
	case rundir.StateRunning:
	case rundir.StateComplete:
		items = append(items, styled("good", p.State))
	default:
		items = append(items, styled("bad", p.State))
	}
	d.row("run", items...)
}

func (p Progress) drawPhase(d *drawing) {
	var items [][]render.Span
	if p.Phase != "" {
		items = append(items, []render.Span{render.Strong(p.Phase), render.Plain(place(p.PhaseNumber, p.Phases))})
	}
	if done, known := p.done(); known {
		items = append(items, progressBar(done, min(30, (d.columns-d.labels)/3)))
	}
	if left := p.PhaseLeftSeconds; left != nil || p.Requests != nil {
		items = append(items, words("%s", p.leftText()))
	}
	items = append(items, styled("soft", "elapsed "+duration(p.ElapsedSeconds)))
	d.row("phase", items...)
}

// leftText describes the remaining time of the phase.
func (p Progress) leftText() string {
	if p.PhaseLeftSeconds == nil {
		return leftText(0, false)
	}
	return leftText(time.Duration(*p.PhaseLeftSeconds*float64(time.Second)), true)
}

// done returns the part of the phase that is over, 0 to 1.
func (p Progress) done() (ratio float64, known bool) {
	if p.PhaseLeftSeconds == nil {
		return 0, false
	}
	if whole := p.PhaseElapsedSeconds + *p.PhaseLeftSeconds; whole > 0 {
		return p.PhaseElapsedSeconds / whole, true
	}
	return 0, false
}

func progressBar(done float64, columns int) []render.Span {
	full := min(int(done*float64(columns)), columns)
	return []render.Span{
		{Text: strings.Repeat("━", full), Style: "good"}, {Text: strings.Repeat("─", columns-full), Style: "soft"},
		render.Plain(fmt.Sprintf(" %3.0f %%", 100*done)),
	}
}

// place returns the place of something among others; the number of the others is 0 if it is unknown.
func place(number, of int) string {
	if number == 0 || of == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of %d", number, of)
}

func duration(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Truncate(time.Second).String()
}

func (p Progress) drawRequests(d *drawing) {
	r := p.Requests
	if r == nil {
		return
	}
	total := ""
	if r.Planned > 0 {
		total = fmt.Sprintf(" of %d", r.Planned)
	}
	failed := words("0 failed")
	if r.Failed > 0 {
		var by []string
		for _, status := range slices.Sorted(maps.Keys(r.FailedBy)) {
			by = append(by, fmt.Sprintf("%d %s", r.FailedBy[status], status))
		}
		failed = styled("bad", fmt.Sprintf("%d failed: %s", r.Failed, strings.Join(by, ", ")))
	}
	d.row("requests", words("%d%s ended", r.Ended, total), words("%d in flight", r.InFlight), failed)
	p.drawRates(d)
	p.drawLatency(d, "TTFT", p.TTFT, func(s Second) float64 { return s.TTFTP50Seconds })
	p.drawLatency(d, "chunk gap", p.ChunkGap, func(s Second) float64 { return s.ChunkGapP50Seconds })
}

func (p Progress) drawRates(d *drawing) {
	var items [][]render.Span
	for _, stretch := range []struct {
		name string
		of   *Rates
	}{{fmt.Sprintf("last %d s", lastSeconds), p.LastRates}, {"phase", p.PhaseRates}} {
		if r := stretch.of; r != nil {
			items = append(items, []render.Span{{Text: stretch.name, Style: "soft"}, render.Plain(" " + render.Digits(r.RequestsPerSecond) + " requests/s")},
				words("%s tokens/s", render.Digits(r.OutputTokensPerSecond)), words("%s events/s", render.Digits(r.StreamEventsPerSecond)))
		}
	}
	d.row("throughput", p.withCurve(d, items, func(s Second) float64 { return s.StreamEventsPerSecond })...)
}

func (p Progress) drawLatency(d *drawing, label string, l *Latencies, point func(Second) float64) {
	if l == nil {
		return
	}
	var items [][]render.Span
	for _, stretch := range []struct {
		name string
		of   *Quantiles
	}{{fmt.Sprintf("last %d s", lastSeconds), l.Last}, {"phase", l.Phase}} {
		if q := stretch.of; q != nil {
			items = append(items, []render.Span{{Text: stretch.name, Style: "soft"},
				render.Plain(fmt.Sprintf(" p50 %s, p99 %s", render.FormatSeconds(q.P50Seconds), render.FormatSeconds(q.P99Seconds)))})
		}
	}
	d.row(label, p.withCurve(d, items, point)...)
}

const (
	// leastCurve is the least number of seconds that are drawn as a curve.
	leastCurve = 8
	// besideCurve is the room for the figures next to a curve, in columns.
	besideCurve = 58
)

// withCurve puts the curve of the last seconds before the items, as many seconds as the drawing has room for.
func (p Progress) withCurve(d *drawing, items [][]render.Span, point func(Second) float64) [][]render.Span {
	room := min(d.columns-d.labels-besideCurve, historySeconds)
	if room < leastCurve {
		return items
	}
	var values []float64
	for _, s := range p.History[max(0, len(p.History)-room):] {
		values = append(values, point(s))
	}
	text := curve(values)
	return slices.Insert(items, 0, styled("c0", strings.Repeat(" ", room-ansi.StringWidth(text))+text))
}

// curve draws values from 0 on, one a column. A value that is NaN is a blank.
func curve(values []float64) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	highest := 0.0
	for _, v := range values {
		if v > highest { // false for NaN
			highest = v
		}
	}
	var text strings.Builder
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			text.WriteRune(' ')
		case highest == 0:
			text.WriteRune(levels[0])
		default:
			text.WriteRune(levels[min(int(v/highest*float64(len(levels))), len(levels)-1)])
		}
	}
	return text.String()
}

// bandMark returns the character of a band of memory, so that bands differ without colours too.
func bandMark(name string) string {
	return map[string]string{"gpu": "█", "managed": "▓", "anon": "▒", "shmem": "%", "huge": "#", "kernel": "+", "rest": "?", "cache": "=", "free": "·"}[name]
}

func (m Machine) draw(d *drawing) {
	host := []render.Span{render.Strong(m.Host)}
	if m.Mode != "" && m.Mode != metric.ModeLive {
		host = append(host, render.Span{Text: " " + m.Mode, Style: "note"})
	}
	items := [][]render.Span{host}
	for _, figure := range []struct {
		name  string
		value *float64
		text  func(float64) string
	}{
		{"pool", m.PoolBytes, render.FormatBytes}, {"occupied", m.OccupiedBytes, render.FormatBytes}, {"available", m.AvailableBytes, render.FormatBytes},
		{"KV cache", m.KVCacheBytes, render.FormatBytes}, {"GPU", m.GPUCelsius, render.FormatCelsius}, {"GPU power", m.GPUWatts, watts},
	} {
		if figure.value != nil {
			items = append(items, words("%s %s", figure.name, figure.text(*figure.value)))
		}
	}
	d.row("machine", items...)
	if bar, legend := m.memory(d.columns - d.labels); len(legend) > 0 {
		d.row("memory", bar)
		d.row("", legend...)
	}
}

func watts(v float64) string { return render.Digits(v) + " W" }

// memory draws the ledger as a bar of so many columns, and names its bands, which add up to the pool. The bar leaves out
// a negative remainder.
func (m Machine) memory(columns int) (bar []render.Span, legend [][]render.Span) {
	var bands []metric.LedgerBand
	sizes, sum := map[string]float64{}, 0.0
	for _, band := range metric.LedgerBands() {
		bytes := 0.0
		for _, line := range band.Lines {
			bytes += m.LedgerBytes[line]
		}
		if bytes != 0 {
			bands, sizes[band.Name], sum = append(bands, band), bytes, sum+max(bytes, 0)
		}
	}
	if sum == 0 {
		return nil, nil
	}
	drawn, before := 0, 0.0
	for _, band := range bands {
		style := "band-" + band.Name
		before += max(sizes[band.Name], 0)
		cells := int(math.Round(before/sum*float64(columns))) - drawn
		drawn += cells
		bar = append(bar, render.Span{Text: strings.Repeat(bandMark(band.Name), cells), Style: style})
		legend = append(legend, []render.Span{{Text: bandMark(band.Name), Style: style}, render.Plain(" " + band.Title + " " + render.FormatBytes(sizes[band.Name]))})
	}
	return bar, legend
}

func (s Series) draw(d *drawing) {
	items := [][]render.Span{{render.Strong(s.Name), render.Plain(place(s.Number, s.Of))}}
	for _, text := range []string{s.Point, s.Results} {
		if text != "" {
			items = append(items, words("%s", text))
		}
	}
	d.row(s.Kind, items...)
	for i, verdict := range s.Verdicts {
		label := ""
		if i == 0 {
			label = "so far"
		}
		d.row(label, d.folded(verdict)...)
	}
}

// folded splits a text into parts of a line, between words.
func (d *drawing) folded(text string) [][]render.Span {
	var parts [][]render.Span
	for line := range strings.Lines(ansi.Wordwrap(render.Printable(text), d.columns-d.labels, "")) {
		parts = append(parts, words("%s", strings.TrimSpace(line)))
	}
	return parts
}
