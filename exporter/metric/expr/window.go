package expr

import (
	"fmt"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

// over applies a function to the values that the selector finds within its window.
func over(function string, s selector, extra ...metric.Label) Expr {
	e := s.expr(extra...).wrapped(function+"(", ")")
	if s.window == "" || s.window == "0s" || strings.HasPrefix(string(s.window), "-") {
		e = e.refused("", "%s needs a window, not %q", function, s.window)
	}
	return e
}

// Rate is the growth of a counter per second.
func Rate(c metric.Counter, window Window, matchers ...Matcher) Expr {
	e := over("rate", selector{def: c.Def(), window: window, matchers: matchers})
	e.unit.PerSecond = true
	return e
}

// Increase is the growth of a counter within the window.
func Increase(c metric.Counter, window Window, matchers ...Matcher) Expr {
	return over("increase", selector{def: c.Def(), window: window, matchers: matchers})
}

// Delta is the change of a gauge within the window.
func Delta(g metric.Gauge, window Window, matchers ...Matcher) Expr {
	return over("delta", selector{def: g.Def(), window: window, matchers: matchers})
}

// Changes is how many times a gauge changed within the window.
func Changes(g metric.Gauge, window Window, matchers ...Matcher) Expr {
	e := over("changes", selector{def: g.Def(), window: window, matchers: matchers})
	e.unit = Unit{Base: metric.Count}
	return e
}

// PredictLinear is the value that a gauge will have after a while if its trend within the window continues.
func PredictLinear(g metric.Gauge, window Window, ahead time.Duration, matchers ...Matcher) Expr {
	e := over("predict_linear", selector{def: g.Def(), window: window, matchers: matchers})
	e.parts[len(e.parts)-1].text = fmt.Sprintf(", %s)", number(ahead.Seconds()))
	return e
}

// LastOverTime is the newest value within the window, of series that have ended too.
func LastOverTime(d metric.Definer, window Window, matchers ...Matcher) Expr {
	return over("last_over_time", selector{def: d.Def(), window: window, matchers: matchers})
}

// LastScraped is the time of the last scrape of a family within the window, evaluated at every step of it.
func LastScraped(d metric.Definer, window, step Window, matchers ...Matcher) Expr {
	e := Select(d, matchers...).wrapped("max_over_time(timestamp(", ")["+string(window)+":"+string(step)+"])")
	e.unit = Unit{Base: metric.Timestamp}
	e.addends = []addend{{family: d.Def().Name, rule: metric.SumNever()}}
	return e
}

// CountOverTime is the number of samples within the window.
func CountOverTime(d metric.Definer, window Window, matchers ...Matcher) Expr {
	e := over("count_over_time", selector{def: d.Def(), window: window, matchers: matchers})
	e.unit = Unit{Base: metric.Count}
	return e
}

// MaxOverTime is the greatest value of a gauge within the window, of series that have ended too.
func MaxOverTime(g metric.Gauge, window Window, matchers ...Matcher) Expr {
	return over("max_over_time", selector{def: g.Def(), window: window, matchers: matchers})
}

// AvgOverTime is the mean of the values of a gauge within the window.
func AvgOverTime(g metric.Gauge, window Window, matchers ...Matcher) Expr {
	return over("avg_over_time", selector{def: g.Def(), window: window, matchers: matchers})
}

// QuantileOverTime is the q-quantile of the values of a gauge within the window.
func QuantileOverTime(q float64, g metric.Gauge, window Window, matchers ...Matcher) Expr {
	e := over("quantile_over_time", selector{def: g.Def(), window: window, matchers: matchers})
	e.parts[0].text += number(q) + ", "
	e.percentile = true
	if q < 0 || q > 1 {
		e = e.refused("", "quantile %v is not within 0 and 1", q)
	}
	return e
}
