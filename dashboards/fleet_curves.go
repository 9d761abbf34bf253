package dashboards

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/common"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// hostsDrawn is how many hosts a curve panel of the fleet draws: more lines cannot be told apart by their colours.
const hostsDrawn = 12

// farBelow is below every score. The colour below all thresholds is that of a cell without a value.
const farBelow = -1e9

func hostDistances() panel {
	figures := []figure{{title: "Peers", expr: peers(), look: looks(width(75), cells("transparent", from(0, colorUnknown), from(fewestHosts-1, "transparent")))}}
	for _, f := range peerFigures() {
		figures = append(figures, figure{title: strings.ToUpper(f.name[:1]) + f.name[1:], expr: f.score(), look: cells("transparent", from(farBelow, colorDoubt), from(-oddScore, "transparent"), from(oddScore, colorDoubt))})
	}
	return list(board{
		title: "Distance from peers",
		means: "How far each host is from the median of the hosts with the same GPU and the same kind of source, as a robust z-score: 0.6745 times the distance over the median distance (MAD), of means over 5 minutes; memory as a share of the pool. " +
			"From " + oddFrom + " on it is unlike them. Distances that mean nothing count as none: below about 5 % of the pool, 26 % of the KV cache, 5 °C and 10 W no host is marked. With fewer than 5 peers there is no score.",
		wrong:   "a host is far off in a figure that should not depend on what it serves, such as temperature or power at the same load.",
		noData:  noHosts + ", or no host has a GPU",
		keys:    []key{{label: metric.LabelHost, title: "Host", look: looks(width(170), linked(pagesOfHost()...))}},
		figures: figures,
		sortBy:  "Host",
	})
}

// byHostCurve is a figure of every host over time.
type byHostCurve struct {
	title, means, wrong, noData string
	of                          expr.Expr
}

func hostCurve(c byHostCurve) panel {
	return lines(subject{
		title:  c.title,
		means:  c.means + " Dashed is the median of all; with more than 12 hosts, the 12 that are farthest from it at the end of the time range are drawn, and those that are gone.",
		wrong:  c.wrong,
		noData: c.noData,
		queries: []query{
			{"{{host}}", farthest(c.of)},
			{"{{host}}, gone", c.of.Unless(c.of.AtEnd(), expr.On(metric.LabelHost))},
			{"median", c.of.Quantile(0.5, expr.By())},
		},
	}).Min(0).Legend(legend(common.LegendPlacementRight)).OverrideByName("median", looks(dashed(), colored("text")))
}

// farthest are the hosts that are farthest from the median at the end of the time range.
func farthest(e expr.Expr) expr.Expr {
	distance := e.Minus(e.Quantile(0.5, expr.By()), expr.On().GroupLeft()).Abs()
	return e.And(distance.TopK(hostsDrawn, expr.By()).AtEnd(), expr.On(metric.LabelHost))
}

func occupiedByHost() byHostCurve {
	pool := expr.Select(metric.MemoryPoolBytes, onHosts()).Max(byHost())
	free := expr.Select(metric.MemoryLedgerBytes, onHosts(), expr.OneOf(metric.LabelLine, ledger.FreeNames()...)).Max(expr.By(metric.LabelHost, metric.LabelLine)).Sum(byHost())
	same := expr.On(metric.LabelHost)
	return byHostCurve{"Occupied, share of the pool", "Pool less free memory, as a share of the pool, by host. Page cache counts.",
		"one host climbs while the others stay.", noHosts, shareOf(pool.Minus(free, same), pool, same)}
}

func kvByHost() byHostCurve {
	return byHostCurve{"KV cache in use, by host", "Share of the KV cache that requests hold, of the fullest engine of each host.",
		"one host is full while others are not: requests are not spread evenly.", "no engine reports it", expr.Select(metric.EngineKVUsedRatio, onHosts()).Max(byHost())}
}

func temperatureByHost() byHostCurve {
	return byHostCurve{"Temperature, by host", "Temperature of the hottest GPU of each host.",
		"one host is hotter than others of its kind at the same load: dust, the room, or what stands beside it.", "no host has a GPU", expr.Select(metric.GPUTemperatureCelsius, onHosts()).Max(byHost())}
}

func powerByHost() byHostCurve {
	return byHostCurve{"Power, by host", "Power draw of all GPUs of each host together.",
		"a host draws less than others that are as busy: power delivery, or a slow state.", "no host has a GPU", expr.Select(metric.GPUPowerWatts, onHosts()).Max(by(metric.LabelUUID)).Sum(byHost())}
}
