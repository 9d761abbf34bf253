package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// byClient groups runs by client, in the order of the clients.
func byClient(outcomes []outcome) [][]outcome {
	var groups [][]outcome
	place := map[string]int{}
	for _, o := range outcomes {
		i, known := place[o.client.name]
		if !known {
			i = len(groups)
			place[o.client.name] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], o)
	}
	return groups
}

// each takes one figure of every run for which there is one.
func each(runs []outcome, figure func(outcome) float64) []float64 {
	var values []float64
	for _, r := range runs {
		if v := figure(r); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values
}

// of is a figure of a steady load.
func of(figure func(usage) float64) func(outcome) float64 {
	return func(o outcome) float64 {
		if !o.usage.ok {
			return math.NaN()
		}
		return figure(o.usage)
	}
}

// spreadOf is a median with least and most: "12.1 (11.9 to 12.4)".
func spreadOf(values []float64, format string) string {
	if len(values) == 0 {
		return "-"
	}
	text := fmt.Sprintf(format, quantile(values, 0.5))
	if len(values) == 1 {
		return text
	}
	return text + fmt.Sprintf(" ("+format+" to "+format+")", quantile(values, 0), quantile(values, 1))
}

func table(head string, rows ...[]string) string {
	columns := strings.Split(head, "|")
	var b strings.Builder
	for _, row := range append([][]string{columns, dashes(len(columns))}, rows...) {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String()
}

func dashes(n int) []string { return strings.Split(strings.Repeat("---,", n-1)+"---", ",") }

// costTable is CPU and memory; ratios are of the medians, to the bare reader.
func costTable(outcomes []outcome) string {
	var rows [][]string
	var base float64
	for _, runs := range byClient(outcomes) {
		perEvent := each(runs, of(usage.perEvent))
		if runs[0].client.name == bare().name {
			base = quantile(perEvent, 0.5)
		}
	}
	for _, runs := range byClient(outcomes) {
		perEvent := each(runs, of(usage.perEvent))
		rows = append(rows, []string{
			runs[0].client.name, spreadOf(perEvent, "%.2f"), fmt.Sprintf("%.2f", quantile(perEvent, 0.5)/base),
			spreadOf(each(runs, of(usage.coreShare)), "%.0f"), spreadOf(each(runs, of(usage.eventRate)), "%.0f"), spreadOf(each(runs, of(usage.mebibytes)), "%.0f"),
		})
	}
	return table("client|CPU of an event, µs|to the bare reader|share of a core, %|events/s|RSS, MiB", rows...)
}

func (u usage) coreShare() float64 { return 100 * u.cpu.Seconds() / u.wall.Seconds() }
func (u usage) eventRate() float64 { return float64(u.events) / u.wall.Seconds() }
func (u usage) mebibytes() float64 { return float64(u.bytes) / (1 << 20) }

// errorsOf returns the absolute differences between the report and the ground truth, in milliseconds. Only clients that
// report request IDs and single gaps have them.
func errorsOf(o outcome) (ttft, gaps []float64) {
	for i, r := range o.reported {
		truth := o.truth[i]
		ttft = append(ttft, math.Abs(r.TTFTMS-truth.ttft()))
		for k, gap := range truth.gaps() {
			if k < len(r.GapsMS) {
				gaps = append(gaps, math.Abs(r.GapsMS[k]-gap))
			}
		}
	}
	return ttft, gaps
}

func accuracyTable(outcomes []outcome) string {
	var rows [][]string
	for _, runs := range byClient(outcomes) {
		var allTTFT, allGaps, ttft99, gap99 []float64
		for _, o := range runs {
			ttft, gaps := errorsOf(o)
			allTTFT, allGaps = append(allTTFT, ttft...), append(allGaps, gaps...)
			ttft99, gap99 = append(ttft99, quantile(ttft, 0.99)), append(gap99, quantile(gaps, 0.99))
		}
		rows = append(rows, []string{
			runs[0].client.name, fmt.Sprint(len(allTTFT)),
			fmt.Sprintf("%.3f", quantile(allGaps, 0.5)), fmt.Sprintf("%.3f", quantile(allGaps, 0.99)), spreadOf(gap99, "%.3f"), fmt.Sprintf("%.2f", quantile(allGaps, 1)),
			fmt.Sprintf("%.3f", quantile(allTTFT, 0.5)), fmt.Sprintf("%.3f", quantile(allTTFT, 0.99)), spreadOf(ttft99, "%.3f"), fmt.Sprintf("%.2f", quantile(allTTFT, 1)),
		})
	}
	return table("client|requests|gap error p50, ms|p99, all|p99, by run|max|TTFT error p50, ms|p99, all|p99, by run|max", rows...)
}

// truthTable compares the figures of clients with the ground truth by the same definition: single gaps, or their mean
// for each request if a client reports only means.
func truthTable(streams int, outcomes []outcome) string {
	var rows [][]string
	for _, o := range outcomes {
		var ttft, trueTTFT, gaps, trueGaps []float64
		for i, r := range o.reported {
			ttft, trueTTFT = append(ttft, r.TTFTMS), append(trueTTFT, o.truth[i].ttft())
			if o.client.mean {
				gaps, trueGaps = append(gaps, r.GapMS), append(trueGaps, meanOf(o.truth[i].gaps()))
			} else {
				gaps, trueGaps = append(gaps, r.GapsMS...), append(trueGaps, o.truth[i].gaps()...)
			}
		}
		kind := "each"
		if o.client.mean {
			kind = "mean of a request"
		}
		rows = append(rows, []string{
			o.client.name, fmt.Sprint(len(o.reported)), both(ttft), both(trueTTFT), kind, both(gaps), both(trueGaps),
			spreadOf(each([]outcome{o}, of(usage.perEvent)), "%.1f"), spreadOf(each([]outcome{o}, of(usage.coreShare)), "%.0f"), spreadOf(each([]outcome{o}, of(usage.mebibytes)), "%.0f"),
		})
	}
	return fmt.Sprintf("%d streams\n\n", streams) +
		table("client|requests|TTFT reported p50, p99|true|gap|reported p50, p99|true|CPU of an event, µs|share of a core, %|RSS, MiB", rows...)
}

func both(values []float64) string {
	return fmt.Sprintf("%.2f, %.2f", quantile(values, 0.5), quantile(values, 0.99))
}

// lags are the lags that the client reports for its requests.
func lags(o outcome) []float64 {
	var values []float64
	for _, r := range o.reported {
		values = append(values, r.LagMS)
	}
	return values
}

// openTable has the lag by run: as reported by the client, and, for constant arrivals, as recorded by the server.
func openTable(outcomes []outcome) string {
	var rows [][]string
	for _, runs := range byClient(outcomes) {
		spread := func(values func(outcome) []float64, p float64) string {
			return spreadOf(each(runs, func(o outcome) float64 { return quantile(values(o), p) }), "%.3f")
		}
		rows = append(rows, []string{
			runs[0].client.name, spread(lags, 0.5), spread(lags, 0.99), spread(lags, 1), spread(late, 0.99),
			spread(totals, 0.99), spread(trueTotals, 0.99),
			spreadOf(each(runs, of(usage.perRequest)), "%.0f"), spreadOf(each(runs, of(usage.coreShare)), "%.0f"),
		})
	}
	return table("client, 2,000 arrivals/s|lag p50, ms|lag p99|lag max|late at the server p99|E2E p99, ms|in the server p99|CPU of a request, µs|share of a core, %", rows...)
}

// late returns how much later than due constant arrivals reached the server, none of them being early; nil for other
// arrivals.
func late(o outcome) []float64 {
	if o.load.arrival != "constant" {
		return nil
	}
	values := make([]float64, len(o.truth))
	for i, t := range o.truth {
		values[i] = milliseconds(t.AcceptedNS) - float64(i)*1e3/o.load.rate
	}
	earliest := slices.Min(values)
	for i := range values {
		values[i] -= earliest
	}
	return values
}

func totals(o outcome) []float64 {
	var values []float64
	for _, r := range o.reported {
		values = append(values, r.TotalMS)
	}
	return values
}

// trueTotals are from the start of the request in the server to its last write.
func trueTotals(o outcome) []float64 {
	var values []float64
	for _, t := range o.truth {
		values = append(values, milliseconds(t.WrittenNS[len(t.WrittenNS)-1]-t.AcceptedNS))
	}
	return values
}

func closedTable(hangUp bool, outcomes []outcome) string {
	kind := "connections kept"
	if hangUp {
		kind = "a connection for each request"
	}
	var rows [][]string
	for _, runs := range byClient(outcomes) {
		rows = append(rows, []string{
			runs[0].client.name, spreadOf(each(runs, of(usage.requestRate)), "%.0f"), spreadOf(each(runs, of(usage.perRequest)), "%.0f"), spreadOf(each(runs, of(usage.coreShare)), "%.0f"),
		})
	}
	return table("client, 32 in flight, "+kind+"|requests/s|CPU of a request, µs|share of a core, %", rows...)
}

func (u usage) requestRate() float64 { return float64(u.requests) / u.wall.Seconds() }

// burstTable is how far from the first request the others reached the server.
func burstTable(outcomes []outcome) string {
	var rows [][]string
	for _, runs := range byClient(outcomes) {
		spread := func(p float64) []float64 {
			return each(runs, func(o outcome) float64 { return quantile(arrivals(o), p) })
		}
		rows = append(rows, []string{runs[0].client.name, fmt.Sprint(len(runs[0].truth)), spreadOf(spread(0.5), "%.1f"), spreadOf(spread(0.99), "%.1f"), spreadOf(spread(1), "%.1f")})
	}
	return table("client|requests at once|arrival after the first p50, ms|p99|last", rows...)
}

func arrivals(o outcome) []float64 {
	first := o.truth[0].AcceptedNS
	for _, t := range o.truth {
		first = min(first, t.AcceptedNS)
	}
	var values []float64
	for _, t := range o.truth {
		values = append(values, milliseconds(t.AcceptedNS-first))
	}
	return values
}

// describe prints the environment of the figures.
func (l *lab) describe(ctx context.Context) {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	l.print(fmt.Sprintf("%s, kernel %s, %s; governor: %s; cores: server %q, client %q, clients of several processes %q",
		processor(), strings.TrimSpace(string(kernel)), runtime.Version(), governor(), l.serverCore, l.clientCore, l.manyCores))
	if l.umaLoad != "" {
		version, _ := exec.CommandContext(ctx, l.umaLoad, "--version").CombinedOutput()
		l.print(strings.TrimSpace(string(version)))
	}
	if l.python != "" {
		for _, name := range []string{"aiperf", "guidellm", "vllm", "aiohttp", "httpx", "uvloop"} {
			l.print(name + " " + versionOf(ctx, l.python, name))
		}
	}
}

// governor is that of the first core; machines in the cloud have none.
func governor() string {
	text, err := os.ReadFile("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	if err != nil {
		return "none"
	}
	return strings.TrimSpace(string(text))
}

// processor reads /proc/cpuinfo: "model name	: Intel(R) Xeon(R) Processor".
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
