// Package telemetry records exporters' pages during a run, and reads the recording back.
//
// A Sampler scrapes one exporter per host and writes the series that the vocabulary marks as telemetry to
// telemetry.jsonl.gz; Read turns that file into a Log. A failed sample is recorded as a gap and values are never
// interpolated: a Log has a value where a sample had one.
package telemetry

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// Source is one page: that of an exporter, named after the host that it measures, or that of an engine.
type Source struct {
	Name string
	// URL is the page to scrape. An empty path means /metrics.
	URL string
	// Foreign is true if the page belongs to an engine or a KV block manager: its series keep their own names, and it
	// measures no machine.
	Foreign bool
	// Borders: the page is read only at the borders of phases. An engine that makes its page in the process that serves
	// requests is delayed by every read.
	Borders bool
	// Closed reports that the page must not be read now; nil means that it may be.
	Closed func() bool
	// Client fetches the page, with its credentials; nil means the client of the options. It fetches no other page, so
	// that its password goes to one server only.
	Client *http.Client
}

// Options are what Start needs.
type Options struct {
	// Sources are the exporters, each with a name of its own.
	Sources []Source
	// Engines are the engines whose series are kept of foreign pages.
	Engines spec.Engines
	// Interval is the time between two samples, MinInterval to MaxInterval.
	Interval time.Duration
	// File is the path of the telemetry.jsonl.gz to create; it must not exist.
	File string
	// Clock gives nanoseconds since the start of the run, on the clock of requests.jsonl.
	Clock func() int64
	// Page receives every page that was sampled because a phase began, as Hide left it; nil for none. It is called from
	// the goroutines of the sources, a source's next sample waits for it, and it must not keep the bytes.
	Page func(source string, border int, phase string, page []byte)
	// Hide removes secrets from a page before it is read; nil leaves the page unchanged.
	Hide func(page []byte) []byte
	// Away is true if the engine is not there yet; Rest changes it later.
	Away bool
	// Client fetches the pages; nil means a new default client. Redirects are never followed.
	Client *http.Client
}

// The interval's bounds: below, the sampler itself would show in the figures; above, a phase of
// a short run would have no sample inside.
const (
	MinInterval = 100 * time.Millisecond
	MaxInterval = 10 * time.Second
)

// SeriesLimit is how many series a file keeps of one source: a GB10 has 220, one with fifty containers 2,000. Series
// that evidence is graded by are kept first; the file counts the dropped ones by family.
const SeriesLimit = 5000

// validate checks all options before the first scrape, and completes the URLs.
func (o Options) validate() (Options, error) {
	if len(o.Sources) == 0 {
		return o, errors.New("telemetry: no source")
	}
	if o.Interval < MinInterval || o.Interval > MaxInterval {
		return o, fmt.Errorf("telemetry: interval %v is not within %v to %v", o.Interval, MinInterval, MaxInterval)
	}
	if o.Clock == nil {
		return o, errors.New("telemetry: no clock")
	}
	completed := make([]Source, 0, len(o.Sources))
	seen := map[string]bool{}
	for _, source := range o.Sources {
		if source.Name == "" || seen[source.Name] {
			return o, fmt.Errorf("telemetry: source name %q is empty or given twice", source.Name)
		}
		seen[source.Name] = true
		page, err := pageURL(source.URL)
		if err != nil {
			return o, err
		}
		source.URL = page.String()
		completed = append(completed, source)
	}
	o.Sources = completed
	return o, nil
}

// pageURL checks an exporter's address. An error does not repeat an address that cannot be parsed: it may hold a
// password.
func pageURL(address string) (*url.URL, error) {
	page, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("telemetry: the address of a source is no URL")
	}
	if (page.Scheme != "http" && page.Scheme != "https") || page.Host == "" {
		return nil, fmt.Errorf("telemetry: %s is no http or https URL", page.Redacted())
	}
	if page.Path == "" || page.Path == "/" {
		page.Path = "/metrics"
	}
	return page, nil
}

// publicURL returns the address for the file: without user and query, since both may be secret.
func publicURL(address string) string {
	page, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: page.Scheme, Host: page.Host, Path: page.Path}).String()
}
