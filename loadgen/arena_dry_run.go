package loadgen

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/umascope/umascope/loadgen/arena"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/runner"
)

// dryRun prints the cells with their sizes, and how they compare with those of the server.
func (d *arenaDriver) dryRun(ctx context.Context) error {
	run := *d.runs
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	run.Capture.Server = run.Target.URL
	if err := run.keeping.resolve(host); err != nil {
		return usage(err)
	}
	server, err := runner.Survey(ctx, run.Keep, run.Load, d.env)
	if err != nil {
		return err
	}
	caching, total, sums := d.profile.Caching, arenaSums{}, render.Table{Header: []string{"", "CELL", "REQUESTS", "PREFILL", "NO HITS", "KV", ""}, Words: []int{1, 6}}
	for i, c := range d.profile.Cells {
		total.add(c, caching, d.flags.rates, server)
		few, many := c.Prefill(caching)
		sums.Add(strconv.Itoa(i+1), c.String(), strconv.Itoa(c.Requests(caching)), strconv.Itoa(few), strconv.Itoa(many), strconv.Itoa(c.KVTokens()), fitOf(c, server))
	}
	if err := render.TextTable(d.env.Stdout, sums); err != nil {
		return err
	}
	return total.print(d, server)
}

// fitOf compares a cell with the server.
func fitOf(c arena.Cell, server runner.Surveyed) string {
	switch {
	case server.Context > 0 && c.Context() > server.Context:
		return "does not fit"
	case server.KVTokens > 0 && c.KVTokens() > server.KVTokens:
		return "queues"
	}
	return ""
}

// arenaSums are sums over the cells that are measured.
type arenaSums struct {
	measured, unfit, queued, requests, output, few, many int
	least, most                                          time.Duration
}

func (s *arenaSums) add(c arena.Cell, caching bool, rates *arena.Rates, server runner.Surveyed) {
	switch fitOf(c, server) {
	case "does not fit":
		s.unfit++
		return
	case "queues":
		s.queued++
	}
	s.measured++
	few, many := c.Prefill(caching)
	s.requests, s.output, s.few, s.many = s.requests+c.Requests(caching), s.output+c.Output(caching), s.few+few, s.many+many
	if rates != nil {
		least, most := rates.Duration(c, caching)
		s.least, s.most = s.least+least, s.most+most
	}
}

func (s arenaSums) print(d *arenaDriver, server runner.Surveyed) error {
	lines := []string{
		fmt.Sprintf("%d cells, %d requests, %d prompt tokens if the prefix cache holds every context, %d if none, at most %d output tokens; warm-up batches come on top", s.measured, s.requests, s.few, s.many, s.output),
		fmt.Sprintf("model %s, %s: context %s tokens, KV cache %s tokens", printable(server.Model), server.Engine, knownTokens(server.Context), knownTokens(server.KVTokens)),
	}
	if s.unfit > 0 {
		lines = append(lines, fmt.Sprintf("cells that do not fit the context of %d tokens and are left out: %d", server.Context, s.unfit))
	}
	if s.queued > 0 {
		lines = append(lines, fmt.Sprintf("cells that need more than the KV cache holds, so that requests queue or are preempted and the depth may be evicted: %d", s.queued))
	}
	if d.flags.rates == nil {
		lines = append(lines, "time: unknown; --rates PP,TG estimates it, such as --rates 3000,50")
	} else {
		lines = append(lines, fmt.Sprintf("time: at least %s if the prefix cache holds every context, %s if none", s.least.Round(time.Second), s.most.Round(time.Second)))
	}
	for _, line := range append([]string{""}, lines...) {
		if _, err := fmt.Fprintln(d.env.Stdout, line); err != nil {
			return err
		}
	}
	return nil
}

func knownTokens(n int) string {
	if n == 0 {
		return "of unknown"
	}
	return strconv.Itoa(n)
}
