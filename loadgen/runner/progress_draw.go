package runner

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Limits of the width that progress is drawn for, in columns.
const (
	leastColumns = 40
	mostColumns  = 300
	// narrowColumns is the width from which labels have more room.
	narrowColumns = 60
)

// Draw draws the state of a run for so many columns. No line is wider. Bands of memory have the style band- and their
// name; the other styles are strong, soft, good, bad and note.
func (p Progress) Draw(columns int) [][]render.Span {
	d := &drawing{columns: min(max(columns, leastColumns), mostColumns), labels: 12}
	if d.columns < narrowColumns {
		d.labels = 9
	}
	if s := p.Series; s != nil {
		s.draw(d, p.At)
	}
	if p.Run != "" {
		p.drawRun(d)
		p.drawPhase(d)
	}
	p.drawWaiting(d)
	p.drawRequests(d)
	for _, m := range p.Machines {
		m.draw(d)
	}
	if s := p.Series; s != nil {
		s.drawResults(d)
	}
	return d.lines
}

// drawing is lines of a fixed width.
type drawing struct {
	columns int
	labels  int // columns of the labels
	lines   [][]render.Span
}

func words(format string, args ...any) []render.Span {
	return []render.Span{render.Plain(fmt.Sprintf(format, args...))}
}

func styled(style, text string) []render.Span { return []render.Span{{Text: text, Style: style}} }

// itemGap is between two items of a row.
const itemGap = "   "

// row adds a label and its items, on as many lines as they need. An item that is wider than a line is cut.
func (d *drawing) row(label string, items ...[]render.Span) {
	if len(items) == 0 {
		return
	}
	line := styled("soft", padded(label, d.labels))
	used := d.labels
	for i, item := range items {
		item = cut(item, d.columns-d.labels)
		gap, width := 0, width(item)
		if i > 0 {
			gap = len(itemGap)
		}
		if used+gap+width > d.columns && i > 0 {
			d.lines = append(d.lines, line)
			line, used, gap = words("%s", strings.Repeat(" ", d.labels)), d.labels, 0
		}
		if gap > 0 {
			line = append(line, render.Plain(itemGap))
		}
		line, used = append(line, item...), used+gap+width
	}
	d.lines = append(d.lines, line)
}

// padded fills a text with blanks to so many columns, at its end; with a negative number, at its begin.
func padded(text string, columns int) string {
	blanks := strings.Repeat(" ", max(max(columns, -columns)-ansi.StringWidth(text), 0))
	if columns < 0 {
		return blanks + text
	}
	return text + blanks
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
	if left := p.PhaseLeftSeconds; left != nil || p.Requests != nil {
		items = append(items, words("%s", p.leftText()))
	}
	items = append(items, styled("soft", "elapsed "+duration(p.ElapsedSeconds)))
	if done, known := p.done(); known {
		room := d.columns - d.labels
		for _, item := range items {
			room -= width(item) + len(itemGap)
		}
		items = slices.Insert(items, 1, progressBar(done, min(max(room-len(" 100 %"), leastBar), mostBar)))
	}
	d.row("phase", items...)
}

// drawWaiting draws what the run waits for.
func (p Progress) drawWaiting(d *drawing) {
	if p.Waiting == "" {
		return
	}
	items := d.folded("note", "for "+p.Waiting)
	if p.WaitingSeconds != nil {
		items = append(items, words("at most %s", duration(*p.WaitingSeconds)))
	}
	d.row("waiting", items...)
}

// Limits of the length of a progress bar, in columns.
const (
	leastBar = 10
	mostBar  = 30
)

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
	failed := [][]render.Span{words("0 failed")}
	if r.Failed > 0 {
		var by []string
		for _, status := range slices.Sorted(maps.Keys(r.FailedBy)) {
			by = append(by, fmt.Sprintf("%d %s", r.FailedBy[status], status))
		}
		failed = d.folded("bad", fmt.Sprintf("%d failed: %s", r.Failed, strings.Join(by, ", ")))
	}
	d.row("requests", append([][]render.Span{words("%d%s ended", r.Ended, total), words("%d in flight", r.InFlight)}, failed...)...)
	p.drawFigures(d)
}

// Columns of the table of figures.
const (
	figureLabel = 12
	figureCell  = 10
	curveGap    = 2
)

// drawFigures draws throughput and latencies as a table: of the last seconds, of the phase, and as a curve of as many
// seconds as the drawing has room for. It has the same rows during the whole phase, so that nothing moves.
func (p Progress) drawFigures(d *drawing) {
	room := min(d.columns-figureLabel-2*figureCell-curveGap, historySeconds)
	seconds := p.History[max(0, len(p.History)-room):]
	over := fmt.Sprintf("last %d s", len(seconds))
	if len(over) > room {
		over = fmt.Sprintf("%d s", len(seconds))
	}
	d.line(styled("soft", padded("", figureLabel)+padded(fmt.Sprintf("last %d s", lastSeconds), -figureCell)+padded("phase", -figureCell)+
		strings.Repeat(" ", curveGap)+over))
	row := func(label, last, phase string, point func(Second) float64) {
		var values []float64
		for _, s := range seconds {
			values = append(values, point(s))
		}
		d.line([]render.Span{
			{Text: padded(label, figureLabel), Style: "soft"}, {Text: padded(last, -figureCell), Style: "strong"}, render.Plain(padded(phase, -figureCell) + strings.Repeat(" ", curveGap)),
			{Text: curve(values), Style: "c0"},
		})
	}
	rate := func(label string, of func(Rates) float64) {
		text := func(r *Rates) string {
			if r == nil {
				return format.None
			}
			return format.Digits(of(*r))
		}
		row(label, text(p.LastRates), text(p.PhaseRates), func(s Second) float64 { return of(s.Rates) })
	}
	rate("requests/s", func(r Rates) float64 { return r.RequestsPerSecond })
	rate("tokens/s", func(r Rates) float64 { return r.OutputTokensPerSecond })
	rate("events/s", func(r Rates) float64 { return r.StreamEventsPerSecond })
	latency := func(label string, l *Latencies, of func(Quantiles) float64, point func(Second) float64) {
		text := func(q *Quantiles) string {
			if q == nil {
				return format.None
			}
			return format.Seconds(of(*q))
		}
		if l == nil {
			l = &Latencies{}
		}
		row(label, text(l.Last), text(l.Phase), point)
	}
	p50, p99 := func(q Quantiles) float64 { return q.P50Seconds }, func(q Quantiles) float64 { return q.P99Seconds }
	latency("TTFT p50", p.TTFT, p50, func(s Second) float64 { return s.TTFTP50Seconds })
	latency("TTFT p99", p.TTFT, p99, func(s Second) float64 { return s.TTFTP99Seconds })
	latency("gap p50", p.ChunkGap, p50, func(s Second) float64 { return s.ChunkGapP50Seconds })
	latency("gap p99", p.ChunkGap, p99, func(s Second) float64 { return s.ChunkGapP99Seconds })
}

// line adds a line as it is. It must not be wider than the drawing.
func (d *drawing) line(spans []render.Span) { d.lines = append(d.lines, spans) }

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
	d.row("machine", append([][]render.Span{host}, known([]shownFigure{{"GPU", m.GPUCelsius, format.Celsius}, {"power", m.GPUWatts, watts}, {"KV cache", m.KVCacheBytes, format.Bytes}})...)...)
	d.row("memory", known([]shownFigure{{"pool", m.PoolBytes, format.Bytes}, {"occupied", m.OccupiedBytes, format.Bytes}, {"available", m.AvailableBytes, format.Bytes}})...)
	if bar, legend := m.memory(d.columns - d.labels); len(legend) > 0 {
		d.row("", bar)
		d.row("", legend...)
	}
}

// shownFigure is a value with its name; nil if it is unknown.
type shownFigure struct {
	name  string
	value *float64
	text  func(float64) string
}

// known returns the items of the figures that are known.
func known(figures []shownFigure) [][]render.Span {
	var items [][]render.Span
	for _, f := range figures {
		if f.value != nil {
			items = append(items, words("%s %s", f.name, f.text(*f.value)))
		}
	}
	return items
}

func watts(v float64) string { return format.Digits(v) + " W" }

// memory draws the ledger as a bar of so many columns, and names its bands, which add up to the pool. The bar leaves out
// a negative remainder.
func (m Machine) memory(columns int) (bar []render.Span, legend [][]render.Span) {
	var bands []ledger.Band
	sizes, sum := map[string]float64{}, 0.0
	for _, band := range ledger.Bands() {
		if bytes := band.Bytes(m.LedgerBytes); bytes != 0 {
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
		legend = append(legend, []render.Span{{Text: bandMark(band.Name), Style: style}, render.Plain(" " + format.Bytes(sizes[band.Name]) + " " + band.Title)})
	}
	return bar, legend
}

func (s Series) draw(d *drawing, now time.Time) {
	items := [][]render.Span{{render.Strong(s.Name)}}
	if at := s.place(); at != "" {
		items = append(items, words("%s", at))
	}
	for _, text := range []string{s.Point, s.Results} {
		if text != "" {
			items = append(items, words("%s", text))
		}
	}
	if s.EndsAt != nil && s.EndsAt.After(now) {
		items = append(items, words("about %s left", estimated(s.EndsAt.Sub(now))))
	}
	d.row(s.Kind, items...)
}

// place returns the place of the run in the series, such as slot 5 of 12.
func (s Series) place() string {
	unit := map[string]string{rundir.KindCampaign: "slot", rundir.KindSweep: "point", rundir.KindArena: "cell"}[s.Kind]
	switch {
	case s.Number == 0:
		return ""
	case s.Of == 0:
		return fmt.Sprintf("%s %d", unit, s.Number)
	}
	return fmt.Sprintf("%s %d of %d", unit, s.Number, s.Of)
}

// estimated formats a duration that is an estimate.
func estimated(left time.Duration) string {
	if left < time.Minute {
		return left.Round(time.Second).String()
	}
	return strings.TrimSuffix(left.Round(time.Minute).String(), "0s")
}

// drawResults draws the verdicts so far, and the results of runs as a table, the newest first: a screen that is too low
// leaves out the oldest.
func (s Series) drawResults(d *drawing) {
	for i, verdict := range s.Verdicts {
		label := ""
		if i == 0 {
			label = "so far"
		}
		d.row(label, d.folded("", verdict)...)
	}
	if len(s.Runs) == 0 {
		return
	}
	var rows [][]render.Span
	add := func(style string, cells ...string) {
		row := styled(style, cells[0])
		for _, cell := range cells[1:] {
			row = append(row, styled(style, cell)...)
		}
		rows = append(rows, row)
	}
	header := []string{"tokens/s", "TTFT p50", "TTFT p99", "gap p50", "gap p99"}
	if s.Kind == rundir.KindArena { // a cell has too few requests for percentiles
		header = []string{"pp t/s", "tg t/s", "tokens/s"}
	}
	add("soft", append([]string{"", ""}, header...)...)
	for _, r := range slices.Backward(s.Runs) {
		status := r.Status
		if r.Why != "" && d.columns >= narrowColumns {
			status += ": " + r.Why
		}
		seconds := func(v *float64) string { return format.Optional(v, format.Seconds) }
		rate := func(v *float64) string { return format.Optional(v, format.Digits) }
		figures := []string{rate(r.OutputTokensPerSecond), seconds(r.TTFTP50Seconds), seconds(r.TTFTP99Seconds), seconds(r.ChunkGapP50Seconds), seconds(r.ChunkGapP99Seconds)}
		if s.Kind == rundir.KindArena {
			figures = []string{rate(r.PP), rate(r.TG), rate(r.OutputTokensPerSecond)}
		}
		add("", append([]string{render.Printable(r.Name), render.Printable(status)}, figures...)...)
		rows[len(rows)-1][1].Style = map[string]string{"finished": "good", "invalid": "bad", "failed": "bad"}[r.Status]
	}
	d.table("results", rows)
}

// table adds rows of as many cells each. The first two columns are words. Columns for which there is no room are left
// out.
func (d *drawing) table(label string, rows [][]render.Span) {
	widths, room := make([]int, len(rows[0])), d.columns-d.labels
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], ansi.StringWidth(row[i].Text))
		}
	}
	widths[0] = min(widths[0], room/2)
	widths[1] = min(widths[1], room/3)
	for _, row := range rows {
		line, left := styled("soft", padded(label, d.labels)), room
		label = ""
		for j, cell := range row {
			gap := min(2*j, 2)
			if left -= gap + widths[j]; left < 0 {
				break
			}
			columns := -widths[j]
			if j < 2 {
				columns = widths[j]
			}
			line = append(line, render.Span{Text: strings.Repeat(" ", gap) + padded(ansi.Truncate(cell.Text, widths[j], "…"), columns), Style: cell.Style})
		}
		d.line(line)
	}
}

// folded splits a text into parts of a line, between words.
func (d *drawing) folded(style, text string) [][]render.Span {
	var parts [][]render.Span
	line := ""
	for word := range strings.FieldsSeq(render.Printable(text)) {
		switch {
		case line == "":
			line = word
		case ansi.StringWidth(line)+1+ansi.StringWidth(word) <= d.columns-d.labels:
			line += " " + word
		default:
			parts, line = append(parts, styled(style, line)), word
		}
	}
	return append(parts, styled(style, line))
}
