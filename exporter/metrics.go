package exporter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// transferTime is what is left of a scrape's timeout for sending the page.
const transferTime = 500 * time.Millisecond

// serveMetrics makes one page, of the collectors in ?collect[]=NAME or of all.
func (e *Exporter) serveMetrics(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := scrapeContext(r)
	defer cancel()
	var own []prometheus.Gatherer
	for _, one := range e.own {
		own = append(own, begun(one))
	}
	scrape, err := e.runner.Scrape(ctx, r.URL.Query()["collect[]"]...)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	promhttp.HandlerFor(joined(append(own, scrape)), promhttp.HandlerOpts{
		// What can be served is served; a page that is not there at all would hide more.
		ErrorHandling:     promhttp.ContinueOnError,
		ErrorLog:          gatherLog{e.settings.Logger},
		EnableOpenMetrics: true,
	}).ServeHTTP(w, r)
}

// begun gathers at once, in the background, what is asked for later: the exporter looks at its own
// process while the collectors wait for the driver, instead of making the scrape longer.
func begun(g prometheus.Gatherer) prometheus.Gatherer {
	gather := sync.OnceValues(g.Gather)
	go gather()
	return prometheus.GathererFunc(gather)
}

// joined gathers from gatherers that have no family in common. prometheus.Gatherers would check
// every series a second time for clashes, which is a fifth of what a page costs.
type joined []prometheus.Gatherer

// Gather implements prometheus.Gatherer.
func (j joined) Gather() ([]*dto.MetricFamily, error) {
	var all []*dto.MetricFamily
	var errs []error
	for _, one := range j {
		families, err := one.Gather()
		all, errs = append(all, families...), append(errs, err)
	}
	slices.SortFunc(all, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all, errors.Join(errs...)
}

// scrapeContext ends early enough before the scraper's own timeout, which Prometheus states in
// X-Prometheus-Scrape-Timeout-Seconds, for the page to be sent. A header that is no positive
// number is ignored.
func scrapeContext(r *http.Request) (context.Context, context.CancelFunc) {
	seconds, err := strconv.ParseFloat(r.Header.Get("X-Prometheus-Scrape-Timeout-Seconds"), 64)
	const longest = 3600 // beyond it the timeout is no limit, and a Duration could overflow
	if err != nil || !(seconds > 0 && seconds < longest) {
		return context.WithCancel(r.Context())
	}
	timeout := time.Duration(seconds * float64(time.Second))
	return context.WithTimeout(r.Context(), max(timeout-transferTime, timeout/2))
}

// limit answers 503 to more requests at a time than are allowed: scrapes that pile up are a sign
// of trouble and must not add to it.
func (e *Exporter) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case e.slots <- struct{}{}:
			defer func() { <-e.slots }()
			next.ServeHTTP(w, r)
		default:
			http.Error(w, fmt.Sprintf("%d requests are being served, no more at a time", cap(e.slots)), http.StatusServiceUnavailable)
		}
	})
}

// serveHealth says that the server answers. It asks no collector: a machine in trouble is when
// the exporter is needed, not when it should be restarted.
func serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}

// gatherLog passes promhttp's complaints to the log, one line each.
type gatherLog struct{ logger *slog.Logger }

// Println implements promhttp.Logger.
func (l gatherLog) Println(v ...any) {
	l.logger.Error("page", "problem", strings.TrimSpace(fmt.Sprintln(v...)))
}
