package dashboards

import (
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// hostChoice is which hosts a page is about.
type hostChoice int

const (
	// oneHost is one of those with an exporter: figures of two machines are never added up.
	oneHost hostChoice = iota
	// hostOfRuns is one of those of the runs that serve shows.
	hostOfRuns
	// someHosts are one or several with an exporter, each with lines of its own. There is no choice of all: a link passes
	// the choice on to pages of one host, which take the first.
	someHosts
	// allHosts are all with an exporter, unless some are chosen. The variable has another name, because pages of one host
	// cannot take a choice of all.
	allHosts
)

// seenWithin is how long a host that is gone can be chosen.
const seenWithin = 7 * 24 * time.Hour

// variables are those that choose the hosts.
func (c hostChoice) variables() []variable {
	seen := expr.LastOverTime(metric.MemoryPoolBytes, expr.Over(seenWithin))
	switch c {
	case hostOfRuns:
		return []variable{later(), hosts(choice, "host", "Host", expr.Select(metric.RunInfo).OffsetBy(laterName))}
	case someHosts:
		return []variable{hosts(choice, "host", "Hosts", seen).Multi(true)}
	case allHosts:
		return []variable{hosts(choices, "hosts", "Hosts", seen)}
	default:
		return []variable{hosts(choice, "host", "Host", seen)}
	}
}

// matcher matches the chosen hosts. Grafana escapes the values of a variable for a regular expression only if it may
// have several.
func (c hostChoice) matcher() expr.Matcher {
	switch c {
	case someHosts:
		return expr.Matches(metric.LabelHost, "$host")
	case allHosts:
		return expr.Matches(metric.LabelHost, "$hosts")
	default:
		return expr.Is(metric.LabelHost, "$host")
	}
}

// onHost matches the host of a page of one host.
func onHost() expr.Matcher { return oneHost.matcher() }

// onChosenHosts matches the hosts of a page of some hosts.
func onChosenHosts() expr.Matcher { return someHosts.matcher() }

// hosts is a variable of the hosts of series.
func hosts(of func(string, string, expr.Expr, metric.Label) choosable, name, label string, seen expr.Expr) choosable {
	return resulting(of(name, label, seen, metric.LabelHost), seen.Max(byHost()), metric.LabelHost).Sort(dashboard.VariableSortNaturalAsc)
}
