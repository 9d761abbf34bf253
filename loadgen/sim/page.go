package sim

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// simulatedHelp ends the help of every family: the name is the vendor's, the figures are simulated.
const simulatedHelp = " Simulated by umascope under the name that the vendor has for it."

// series is one value of a page.
type series struct {
	name, help string
	kind       prometheus.ValueType
	labels     prometheus.Labels
	read       func(*reading) float64
}

// spread is one histogram of a page.
type spread struct {
	name, help string
	labels     prometheus.Labels
	read       func(*reading) *histogram
}

// page is a vendor's metrics page, as a collector that takes one reading for each scrape.
type page struct {
	read    func() *reading
	series  []series
	spreads []spread
}

func (s series) desc() *prometheus.Desc {
	return prometheus.NewDesc(s.name, s.help+simulatedHelp, nil, s.labels)
}

func (s spread) desc() *prometheus.Desc {
	return prometheus.NewDesc(s.name, s.help+simulatedHelp, nil, s.labels)
}

// Describe sends the descriptions.
func (p page) Describe(descs chan<- *prometheus.Desc) {
	for _, s := range p.series {
		descs <- s.desc()
	}
	for _, s := range p.spreads {
		descs <- s.desc()
	}
}

// Collect sends the current values.
func (p page) Collect(metrics chan<- prometheus.Metric) {
	r := p.read()
	for _, s := range p.series {
		send(metrics, s.desc())(prometheus.NewConstMetric(s.desc(), s.kind, s.read(r)))
	}
	for _, s := range p.spreads {
		h := s.read(r)
		buckets, count := h.cumulative()
		send(metrics, s.desc())(prometheus.NewConstHistogram(s.desc(), count, h.sum, buckets))
	}
}

// send returns a function that sends a metric, or reports why there is none.
func send(metrics chan<- prometheus.Metric, desc *prometheus.Desc) func(prometheus.Metric, error) {
	return func(made prometheus.Metric, err error) {
		if err != nil {
			made = prometheus.NewInvalidMetric(desc, err)
		}
		metrics <- made
	}
}

// registry returns a registry with only this page: several engines can run in one process.
func (p page) registry() (*prometheus.Registry, error) {
	registry := prometheus.NewPedanticRegistry()
	return registry, registry.Register(p)
}

// handler serves the page in the text format. If a page cannot be registered, the response contains the error; a test
// reads all pages.
func (p page) handler() http.Handler {
	registry, err := p.registry()
	if err != nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		})
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
}

func (e *Engine) newPage(series []series, spreads []spread) page {
	return page{read: func() *reading { return e.reading(time.Now()) }, series: series, spreads: spreads}
}

// shown is a series without the parts that it shares with its neighbors.
type shown struct {
	name, help string
	read       func(*reading) float64
}

// seriesOf makes series of one kind with the same labels.
func seriesOf(kind prometheus.ValueType, labels prometheus.Labels, all ...shown) []series {
	listed := make([]series, len(all))
	for i, one := range all {
		listed[i] = series{one.name, one.help, kind, labels, one.read}
	}
	return listed
}

// with adds labels to others.
func with(labels prometheus.Labels, name, value string) prometheus.Labels {
	more := prometheus.Labels{name: value}
	for n, v := range labels {
		more[n] = v
	}
	return more
}
