package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

const (
	// maxPageBytes bounds one page: an unexpected server may answer.
	maxPageBytes = 8 << 20
	// maxLabelBytes bounds the labels of one series.
	maxLabelBytes = 1 << 10
	// probeTimeout is how long Probe waits at most.
	probeTimeout = 2 * time.Second
)

// observation is one value of one page.
type observation struct {
	name   string
	labels map[string]string
	key    string // name and labels in a canonical form
	value  float64
	// counter is the series' type on an engine's page.
	counter bool
	// first is set for series of the ledger and series that evidence is graded by.
	first bool
}

// kept returns the families that a file keeps, in the order of the vocabulary: at the limit, the later ones are
// dropped.
func kept() []metric.Def {
	var defs []metric.Def
	for _, definer := range metric.All() {
		if d := definer.Def(); d.Telemetry {
			defs = append(defs, d)
		}
	}
	return defs
}

// NewClient returns a client for pages on the local network: no proxy, and no compression, which would cost the
// measured machine processor time. It opens connections with dial, on the machine's network if that is nil.
func NewClient(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	return &http.Client{Transport: &http.Transport{
		DialContext:        dial,
		DisableCompression: true,
		IdleConnTimeout:    30 * time.Second,
	}}
}

// refusingRedirects returns a copy of the client that takes a redirect as the answer: the page of another host must not
// be recorded under this one's name.
func refusingRedirects(client *http.Client) *http.Client {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// fetch reads one page. Its errors do not repeat the address, which may hold a password.
func fetch(ctx context.Context, client *http.Client, page string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, errors.New("the address is no URL")
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	announceDeadline(ctx, request)
	response, err := client.Do(request)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("answered %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPageBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the page: %w", err)
	}
	if len(body) > maxPageBytes {
		return nil, fmt.Errorf("the page is larger than %d MiB", maxPageBytes>>20)
	}
	return body, nil
}

// announceDeadline sends the client's timeout to the exporter, as Prometheus does, so that the exporter answers in time
// with what it has.
func announceDeadline(ctx context.Context, request *http.Request) {
	if deadline, ok := ctx.Deadline(); ok {
		seconds := time.Until(deadline).Seconds()
		request.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", strconv.FormatFloat(seconds, 'f', 3, 64))
	}
}

// withoutURL removes the address from the error of an HTTP client.
func withoutURL(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// parser returns the function that reads the pages of a source.
func parser(source Source, engines spec.Engines) func(page []byte) ([]observation, error) {
	if source.Foreign {
		return func(page []byte) ([]observation, error) { return parseForeign(page, publicSource(source.URL), engines) }
	}
	families := kept()
	return func(page []byte) ([]observation, error) { return parse(page, families) }
}

// families reads the Prometheus text format.
func families(page []byte) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	found, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		return nil, fmt.Errorf("the page is not in the Prometheus text format: %w", err)
	}
	return found, nil
}

// parse reads the Prometheus text format, such as
//
//	uma_memory_ledger_bytes{line="anon"} 1.2e+10
//
// and returns the finite values of the families, ordered by family and labels. A value that is not
// a finite number is absent.
func parse(page []byte, wanted []metric.Def) ([]observation, error) {
	found, err := families(page)
	if err != nil {
		return nil, err
	}
	var observations []observation
	first := evidenceFamilies()
	for _, family := range wanted {
		var of []observation
		for _, m := range found[family.Name].GetMetric() {
			if o, ok := observe(family.Name, m); ok {
				o.first = first[family.Name]
				of = append(of, o)
			}
		}
		slices.SortStableFunc(of, func(a, b observation) int { return cmp.Compare(a.key, b.key) })
		of = slices.CompactFunc(of, func(a, b observation) bool { return a.key == b.key })
		observations = append(observations, of...)
	}
	return observations, nil
}

func observe(name string, m *dto.Metric) (observation, bool) {
	value, ok := number(m)
	if !ok || math.IsNaN(value) || math.IsInf(value, 0) {
		return observation{}, false
	}
	labels := make(map[string]string, len(m.GetLabel()))
	size := 0
	for _, pair := range m.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
		size += len(pair.GetName()) + len(pair.GetValue())
	}
	if size > maxLabelBytes {
		return observation{}, false
	}
	return observation{name: name, labels: labels, key: seriesKey(name, labels), value: value}, true
}

// number returns the value of a counter, a gauge, or a series without a TYPE line.
func number(m *dto.Metric) (float64, bool) {
	switch {
	case m.Gauge != nil:
		return m.GetGauge().GetValue(), true
	case m.Counter != nil:
		return m.GetCounter().GetValue(), true
	case m.Untyped != nil:
		return m.GetUntyped().GetValue(), true
	default:
		return 0, false
	}
}

// seriesKey returns a series in PromQL's notation: name{label="value",...}, labels in order.
func seriesKey(name string, labels map[string]string) string {
	if len(labels) == 0 {
		return name
	}
	var b strings.Builder
	b.WriteString(name)
	separator := "{"
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString(separator + label + "=" + strconv.Quote(labels[label]))
		separator = ","
	}
	b.WriteString("}")
	return b.String()
}

// Probe returns an error unless the source is a umascope exporter that answers within two seconds.
func Probe(ctx context.Context, source Source) error {
	_, err := look(ctx, source)
	return err
}

// look reads these families of the page of an exporter, and its mode, once.
func look(ctx context.Context, source Source, wanted ...metric.Def) ([]observation, error) {
	page, err := pageURL(source.URL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	client := refusingRedirects(cmp.Or(source.Client, NewClient(nil)))
	defer client.CloseIdleConnections()
	body, err := fetch(ctx, client, page.String())
	var found []observation
	if err == nil {
		found, err = parse(body, append(wanted, metric.ExporterBuildInfo.Def(), metric.ExporterMode.Def()))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", publicURL(page.String()), err)
	}
	if !slices.ContainsFunc(found, isExporters) {
		return nil, fmt.Errorf("%s: the page is not one of uma-exporter", publicURL(page.String()))
	}
	return found, nil
}

// isExporters reports whether a series is one of those that every exporter has of itself.
func isExporters(o observation) bool {
	return o.name == metric.ExporterBuildInfo.Def().Name || o.name == metric.ExporterMode.Def().Name
}
