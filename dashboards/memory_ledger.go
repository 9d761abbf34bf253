package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// ledgerFigures are the lines in their colours.
func ledgerFigures(of func(line string) expr.Expr) []figure {
	var figures []figure
	for _, kind := range ledger.Kinds() {
		figures = append(figures, figure{title: kind.Title, expr: of(kind.Name), look: colored(kind.Colour)})
	}
	return figures
}

// ledgerLineNow is a line of the ledger of the chosen host.
func ledgerLineNow(line string) expr.Expr {
	return one(metric.MemoryLedgerBytes, expr.Is(metric.LabelLine, line))
}

// freeNow is MemFree of the chosen host.
func freeNow() expr.Expr {
	return each(metric.MemoryLedgerBytes, expr.OneOf(metric.LabelLine, ledger.FreeNames()...)).Sum(byHost())
}

func poolLedger() panel {
	lines := ledgerFigures(ledgerLineNow)
	pool := areas(subject{
		title:   "Ledger of the pool",
		means:   "The pool, split into lines that add up to it at every moment. From below: processes, kernel, unattributed, cache, free. A negative remainder hangs below zero.",
		wrong:   "*unattributed* grows while no process starts, *page cache* takes what a server is about to need, or a line stays after its owner has stopped.",
		noData:  noExporter,
		queries: append(queriesOf(lines), query{"pool", one(metric.MemoryPoolBytes)}),
	})
	return painted(pool.Legend(legend(common.LegendPlacementRight)).OverrideByName("pool", limit("text")), lines)
}

// byHolder groups by the labels of holders of GPU memory; a process on several devices is one holder.
func byHolder() expr.Grouping {
	return expr.By(metric.LabelComm, metric.LabelPID, metric.LabelCgroup)
}

func holders() panel {
	return painted(areas(subject{
		title:   "GPU memory by process",
		means:   "The memory that GPUs take theirs from, which is the pool or the GPUs' own: what each process has allocated of it, touched or not, what else is occupied, and what is free. Only the largest holders have a series of their own; the others are in *other occupied*.",
		wrong:   "a process is there that should have ended, or one grows while its server answers nothing.",
		noData:  noExporter,
		queries: queriesOf(holdings()),
	}), holdings())
}

// holdings are the holders of GPU memory and the rest of what they hold it of: the pool, or the memory of all GPUs together
// where that is not in the pool.
func holdings() []figure {
	inPool := ledgerLineNow(ledger.GPUProcess)
	ofGPUs := func(d metric.Definer) expr.Expr { return each(d).Sum(byHost()).Unless(inPool) }
	host := expr.On(metric.LabelHost)

	poolFree := freeNow()
	used, total := ofGPUs(metric.GPUMemoryUsedBytes), ofGPUs(metric.GPUMemoryTotalBytes)
	occupied := used.Or(one(metric.MemoryPoolBytes).Minus(poolFree, host))
	held := each(metric.GPUProcessMemoryBytes)
	return []figure{
		{title: "{{comm}} ({{pid}})", expr: held.Sum(byHolder())},
		{title: "other occupied", expr: occupied.Minus(held.Sum(byHost()), host).Or(occupied), look: colored(ledger.Named(ledger.SlabUnreclaimable).Colour)},
		{title: ledger.Free, expr: total.Minus(used, host).Or(poolFree), look: colored(ledger.Named(ledger.Free).Colour)},
	}
}

func holderList() panel {
	return list(board{
		title:   "Holders now",
		means:   "The processes that hold GPU memory at the end of the time range, with the cgroup (container or service) they run in. None of it is charged to that cgroup.",
		wrong:   "a cgroup holds more than its memory limit: the limit does not cover GPU memory and will not stop it.",
		noData:  noHolder,
		keys:    []key{{label: metric.LabelComm, title: "Process"}, {label: metric.LabelPID, title: "PID", look: width(60)}, {label: metric.LabelCgroup, title: "Cgroup", look: width(150)}},
		figures: []figure{{title: "GPU memory", expr: each(metric.GPUProcessMemoryBytes).Sum(byHolder())}},
		sortBy:  "GPU memory", desc: true,
	})
}

func processList() panel {
	return number(subject{
		title:   "Process list of the driver",
		means:   "Whether the exporter sees the processes of the whole host. Outside the host's PID namespace the driver leaves processes out without saying so.",
		wrong:   "it says incomplete: then an empty list is no idle GPU, and GPU memory is in *unattributed*. Run the exporter with the host's PID namespace.",
		noData:  "no GPU or no exporter",
		queries: []query{{"process list", expr.Select(metric.GPUProcessListTrusted, onHost()).Min(byHost())}},
	}).
		Mappings(worded("incomplete", "complete")).
		ColorMode(common.BigValueColorModeBackground).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)).
		Thresholds(steps(colorDoubt, from(1, colorGood)))
}

func unknownLines() panel {
	unknown := expr.Select(metric.MemoryLedgerLineKnown, onHost()).Min(expr.By(metric.LabelLine)).Equals(expr.Number(0))
	return names(subject{
		title:   "Lines that are unknown",
		means:   "Lines of the ledger that exist on this machine but whose input cannot be read; their bytes are in *unattributed*.",
		wrong:   "any is shown; `uma-exporter doctor` says what is missing.",
		noData:  "none, or no exporter answers",
		queries: []query{{"{{line}}", unknown}},
	}, "none", steps(colorDoubt))
}

// placesOfLines are the places that lines of the ledger have in the vocabulary, from 1. Of a line that is not there it has
// none.
func placesOfLines(of func(line string) expr.Expr) expr.Expr {
	var places expr.Expr
	for i, line := range ledger.Names() {
		place := of(line).Clamp(float64(i+1), float64(i+1))
		if i > 0 {
			place = places.Or(place)
		}
		places = place
	}
	return places
}

// byLine is a table of ledgers in the order of the vocabulary: Grafana sorts by a column of places, which is not shown.
func byLine(b board, of func(line string) expr.Expr) *table.PanelBuilder {
	const place = "Order"
	b.figures = append(b.figures, figure{title: place, expr: placesOfLines(of)})
	rising := dashboard.DataTransformerConfig{Id: "sortBy", Options: map[string]any{"sort": []any{map[string]any{"field": place}}}}
	return servedList(b).WithTransformation(rising).WithTransformation(unshown(place))
}
