package dashboards

import (
	"time"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// fewestHosts is the number of hosts of a kind from which on they are compared: five peers and the host in question. Two
// broken ones of six leave median and MAD those of the other four. Where hosts differ by chance alone (normally
// distributed), a figure is marked at 3 % of six hosts; of three hosts it is 10 %, because MAD is then the distance of the
// nearer of two neighbours. A test counts both.
const fewestHosts = 6

// oddScore is the robust z-score from which on a host is unlike its peers, the cut of Iglewicz and Hoaglin.
const (
	oddScore = 3.5
	oddFrom  = "3.5 σ"
)

// scoredOver is the time over which figures are averaged before they are compared: a batch that ends is no difference.
const scoredOver = 5 * time.Minute

// Words of the column that names the odd one out.
const (
	alike          = "nothing"
	tooFew         = "fewer than 5 peers"
	oddMemory      = "occupied memory"
	oddAvailable   = "available memory"
	oddKV          = "KV cache"
	oddTemperature = "temperature"
	oddPower       = "power"
)

// peerFigure is a figure that hosts of a kind are compared by. The least deviation is what it may vary by for no reason: a
// host is odd only if it is 3.5 / 0.6745 = 5.2 times that from the median.
type peerFigure struct {
	name  string
	least float64
	of    expr.Expr
}

// peerFigures are the figures: a host is odd from 5 % of the pool, 26 % of the KV cache, 5 °C (as much as runs may be hotter
// than those before, RunThresholds.HotterCelsius) and 10 W on. The leasts are our own choices.
func peerFigures() []peerFigure {
	mean := func(g metric.Gauge, matchers ...expr.Matcher) expr.Expr {
		return expr.AvgOverTime(g, expr.Over(scoredOver), append([]expr.Matcher{onHosts()}, matchers...)...)
	}
	pool := mean(metric.MemoryPoolBytes).Max(byHost())
	free := mean(metric.MemoryLedgerBytes, expr.OneOf(metric.LabelLine, ledger.FreeNames()...)).Max(expr.By(metric.LabelHost, metric.LabelLine)).Sum(byHost())
	same := expr.On(metric.LabelHost)
	return []peerFigure{
		{oddMemory, 0.01, shareOf(pool.Minus(free, same), pool, same)},
		{oddAvailable, 0.01, shareOf(mean(metric.MemoryAvailableBytes).Max(byHost()), pool, same)},
		{oddKV, 0.05, mean(metric.EngineKVUsedRatio).Max(byHost())},
		{oddTemperature, 1, mean(metric.GPUTemperatureCelsius).Max(byHost())},
		{oddPower, 2, mean(metric.GPUPowerWatts).Max(by(metric.LabelUUID)).Sum(byHost())},
	}
}

// kinds are the hosts with the name of their GPU and the mode of their source: peers agree in both. A simulated host is no
// peer of a live one.
func kinds() expr.Expr {
	gpus := expr.Select(metric.GPUInfo, onHosts()).Max(by(metric.LabelName))
	return gpus.Times(modesOfHosts(), expr.On(metric.LabelHost).GroupLeft(metric.LabelMode))
}

// score is how far a figure of each host is from the median of its peers.
func (f peerFigure) score() expr.Expr {
	return kinds().Times(f.of, expr.On(metric.LabelHost).GroupLeft()).
		RobustZ(f.least, fewestHosts, metric.LabelName, metric.LabelMode).Max(byHost())
}

// peers is the number of hosts of the kind of each host, itself excluded.
func peers() expr.Expr {
	kind := expr.On(metric.LabelName, metric.LabelMode)
	count := kinds().Count(expr.By(metric.LabelName, metric.LabelMode)).Minus(expr.Number(1))
	return kinds().Times(count, kind.GroupLeft()).Max(byHost())
}

// odd names, for each host with a GPU, the figure in which it is farthest from its peers.
func odd() expr.Expr {
	few, all := peers().Below(expr.Number(fewestHosts-1)), peers()
	named := func(e expr.Expr, name string) expr.Expr {
		return e.Clamp(1, 1).Labelled(metric.LabelName, name)
	}
	var scores expr.Expr
	for i, f := range peerFigures() {
		score := f.score().Abs().AtLeast(expr.Number(oddScore)).Labelled(metric.LabelName, f.name)
		if i == 0 {
			scores = score
			continue
		}
		scores = scores.Or(score)
	}
	same := expr.On(metric.LabelHost)
	return named(few, tooFew).Or(scores.TopK(1, byHost()).Count(by(metric.LabelName)), same).Or(named(all, alike), same)
}
