package demo

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

// resultsInterval is the interval, on the machines' clocks, at which finished runs are scraped: that at which the rules on them
// are evaluated.
const resultsInterval = time.Minute

// resultsHost is the machine of the page of finished runs. The series on the page have the name of the machine that was
// measured.
const resultsHost = "uma-demo"

// keepResults makes uma-load serve the runs as they are finished, and scrapes that page as the stack's Prometheus does:
// so rules on finished runs apply to those of the demo, and dashboards show them. It runs as long as ctx; once wanted
// has ended, a second interrupt may end it before that, which is no problem.
func (s *showing) keepResults(ctx, wanted context.Context) error {
	results, err := listenHere()
	if err != nil {
		return err
	}
	if err := results.Close(); err != nil { // uma-load opens it again
		return err
	}
	s.running.Go(func() {
		args := []string{"serve", "--runs", s.folder, "--web.listen-address", results.at, "--log-level", "warn"}
		if _, message := s.load(ctx, "results", args, io.Discard); ctx.Err() == nil && wanted.Err() == nil { // it serves until ctx ends
			s.problem("finished runs are not served: " + message)
		}
	})
	page := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: results.at})
	page.Transport, page.ErrorLog = &http.Transport{Proxy: nil, DisableKeepAlives: true}, log.New(io.Discard, "", 0)
	s.running.Go(func() {
		if awaitPage(ctx, "http://"+results.at+pagePath) == nil {
			s.takeResults(ctx, page)
		}
	})
	return nil
}

// awaitPage returns when a page answers.
func awaitPage(ctx context.Context, address string) error {
	client := &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodHead, address, http.NoBody)
		if err != nil {
			return err
		}
		if response, err := client.Do(request); err == nil {
			response.Body.Close()
			return nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// takeResults scrapes the page of finished runs at intervals.
func (s *showing) takeResults(ctx context.Context, page http.Handler) {
	clock := s.machines[0].stage
	target := scrapeTarget{Handler: page, Path: pagePath, Job: metric.JobResults, Host: resultsHost, HonorLabels: true}
	for last := (time.Time{}); ctx.Err() == nil; _ = clock.wait(ctx, resultsInterval) { // the loop ends with ctx
		now := clock.host.Now().Truncate(time.Millisecond)
		if now.After(last) { // an equal time means that this machine is too busy to advance the clock
			last = now
			s.scraper.note(ctx, "finished runs", s.timeline.Scrape(ctx, target, now))
		}
	}
}
