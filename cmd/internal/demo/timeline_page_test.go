//go:build proof

package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// accepted is the first format in Prometheus' Accept header: the only one with native histograms.
const accepted = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,text/plain;version=0.0.4;q=0.3"

// pageLimit is the limit of bytes of a page, and sampleLimit that of samples, as in the stack's Prometheus.
const (
	pageLimit   = 32 << 20
	sampleLimit = 200_000
)

// pageSample is the value of one series of a page: a number or a native histogram.
type pageSample struct {
	series    labels.Labels
	value     float64
	whole     *histogram.Histogram
	fractions *histogram.FloatHistogram
}

// fetch requests the page of a handler, within this process.
func fetch(ctx context.Context, handler http.Handler, path string) (page []byte, contentType string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, "", err
	}
	request.RequestURI = path
	request.Header.Set("Accept", accepted)
	answer := answer{header: http.Header{}}
	handler.ServeHTTP(&answer, request)
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case answer.status != 0 && answer.status != http.StatusOK:
		return nil, "", fmt.Errorf("it answers with %d %s", answer.status, http.StatusText(answer.status))
	case answer.cut:
		return nil, "", fmt.Errorf("its page is longer than %d MiB", pageLimit>>20)
	}
	return answer.body.Bytes(), answer.header.Get("Content-Type"), nil
}

// answer records the response of a handler.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
	cut    bool
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(part []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.body.Len()+len(part) > pageLimit {
		a.cut = true
		return 0, io.ErrShortWrite
	}
	return a.body.Write(part)
}

// read parses a page. Of a histogram in both forms it takes the native one, as the stack's Prometheus does. It ignores
// timestamps on the page: the time of a scrape is the machine's, and the caller has it.
func read(page []byte, contentType string, symbols *labels.SymbolTable) ([]pageSample, error) {
	parser, err := textparse.New(page, contentType, symbols, textparse.ParserOptions{FallbackContentType: "text/plain"})
	if parser == nil {
		return nil, err
	}
	var samples []pageSample
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return samples, nil
		}
		if err != nil {
			return nil, err
		}
		var s pageSample
		switch entry {
		case textparse.EntrySeries:
			_, _, s.value = parser.Series()
		case textparse.EntryHistogram:
			_, _, s.whole, s.fractions = parser.Histogram()
		default:
			continue
		}
		if len(samples) == sampleLimit {
			return nil, fmt.Errorf("it has more than %d samples", sampleLimit)
		}
		parser.Labels(&s.series)
		samples = append(samples, s)
	}
}
