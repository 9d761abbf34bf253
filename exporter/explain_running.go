package exporter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/umascope/umascope/cmd/webserver"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/ledger"
)

const (
	// explainTimeout is the time that a running exporter has for an explanation, also where a driver call hangs.
	explainTimeout = 5 * time.Second
	// maxExplanationBytes is many times the length of an explanation of a machine with 8 GPUs and hundreds of processes.
	maxExplanationBytes = 1 << 20

	// What another process can claim: GPUs and lines, GPU processes, and the size of one of them, 1 PiB.
	mostRows    = 64
	mostHolders = 1024
	mostBytes   = 1 << 50
)

// errNoExporter is the error where nothing listens.
var errNoExporter = errors.New("no exporter runs there")

// writeExplanation serves what explain prints, as JSON.
func (e *Exporter) writeExplanation(w http.ResponseWriter, _ *http.Request, scrape *collector.Scrape) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	x := e.explained(scrape)
	if err := x.writeJSON(w); err != nil {
		e.settings.Logger.Error("page", "problem", err.Error())
	}
}

// runningExporter is an exporter that another process runs.
type runningExporter struct {
	page   *url.URL // may contain a password
	client *http.Client
}

// newRunningExporter returns the exporter at an address; the page is explain.json if the address has no path.
// configFile is as that of healthcheck.
func newRunningExporter(address, configFile string) (*runningExporter, error) {
	page, client, err := webserver.PageClient(address, configFile)
	if err != nil {
		return nil, flagError(err)
	}
	if page.Path == "" || page.Path == "/" {
		page.Path = explainPath
	}
	return &runningExporter{page, client}, nil
}

// explanation gets an explanation. An error begins with the address.
func (r *runningExporter) explanation(ctx context.Context) (explanation, error) {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	x, err := r.get(ctx)
	if err != nil {
		return explanation{}, fmt.Errorf("%s: %w", r.address(), err)
	}
	x.Exporter, x.Note = r.address(), ""
	return x, nil
}

// address is that of the page without user and query, which may be secret.
func (r *runningExporter) address() string {
	return (&url.URL{Scheme: r.page.Scheme, Host: r.page.Host, Path: r.page.Path}).String()
}

func (r *runningExporter) get(ctx context.Context) (explanation, error) {
	body, err := r.body(ctx)
	if err != nil {
		return explanation{}, err
	}
	return parseExplanation(body)
}

// body gets the page.
func (r *runningExporter) body(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.page.String(), http.NoBody)
	if err != nil {
		return nil, errors.New("the address is no URL")
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set(timeoutHeader, fmt.Sprint(explainTimeout.Seconds()))
	response, err := r.client.Do(request)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, errNoExporter
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("no answer within %v", explainTimeout)
	case err != nil:
		return nil, cmp.Or(errors.Unwrap(err), err) // without the address
	}
	defer response.Body.Close()
	switch kind := response.Header.Get("Content-Type"); {
	case response.StatusCode == http.StatusNotFound:
		return nil, errors.New("there is no such page: another program listens there, or an older uma-exporter")
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("answers %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	case !strings.HasPrefix(kind, "application/json"):
		return nil, errors.New("the answer is not JSON: another program listens there")
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxExplanationBytes+1))
	if err != nil {
		return nil, fmt.Errorf("the answer ends early: %w", err)
	}
	if len(body) > maxExplanationBytes {
		return nil, fmt.Errorf("the answer is longer than %d KiB", maxExplanationBytes>>10)
	}
	return body, nil
}

// parseExplanation reads an explanation that another process made. It is consistent, and its names are as untrusted as
// those of processes.
func parseExplanation(body []byte) (explanation, error) {
	if len(body) > maxExplanationBytes {
		return explanation{}, fmt.Errorf("the answer is longer than %d KiB", maxExplanationBytes>>10)
	}
	var x explanation
	if err := json.Unmarshal(body, &x); err != nil {
		return explanation{}, fmt.Errorf("the answer is not one of uma-exporter: %w", err)
	}
	if err := x.check(); err != nil {
		return explanation{}, fmt.Errorf("the answer is not one of this uma-exporter: %w", err)
	}
	x.Answer = x.answer()
	return x, nil
}

// check returns why an explanation cannot be one.
func (x *explanation) check() error {
	if x.Schema != explanationSchema {
		return fmt.Errorf("its schema is %.40q, not %s", x.Schema, explanationSchema)
	}
	if !slices.Contains(collector.Modes(), x.Mode) {
		return fmt.Errorf("there is no mode %.40q", x.Mode)
	}
	if len(x.GPUs) > mostRows {
		return fmt.Errorf("it has %d GPUs", len(x.GPUs))
	}
	for _, g := range x.GPUs {
		if (g.TotalBytes == nil) != (g.FreeBytes == nil) || tooLarge(g.TotalBytes, g.FreeBytes) {
			return fmt.Errorf("impossible memory of GPU %d", g.Index)
		}
	}
	for _, path := range x.Cached {
		if tooLarge(path.Bytes) {
			return errors.New("impossible page cache of a path")
		}
	}
	if len(x.Own) > mostHolders {
		return fmt.Errorf("it has %d processes of umascope", len(x.Own))
	}
	for _, p := range x.Own {
		if tooLarge(&p.ResidentBytes) {
			return fmt.Errorf("impossible memory of process %d", p.PID)
		}
	}
	if len(x.Engines) > mostRows {
		return fmt.Errorf("it has %d engines", len(x.Engines))
	}
	if x.Memory == nil {
		return nil
	}
	return x.Memory.check()
}

func (m *memoryAccount) check() error {
	if len(m.Lines) > mostRows || len(m.Holders) > mostHolders {
		return fmt.Errorf("it has %d lines and %d GPU processes", len(m.Lines), len(m.Holders))
	}
	for _, line := range m.Lines {
		if math.Abs(line.Bytes) > mostBytes {
			return fmt.Errorf("impossible line %.40q", line.Name)
		}
	}
	if tooLarge(m.AvailableBytes) {
		return errors.New("impossible available memory")
	}
	if sum := ledger.Sum(m.Lines); m.PoolBytes > mostBytes || sum != float64(m.PoolBytes) {
		return fmt.Errorf("its lines add up to %.0f bytes, its pool has %d", sum, m.PoolBytes)
	}
	for _, h := range m.Holders {
		if tooLarge(h.Bytes) {
			return fmt.Errorf("impossible memory of process %d", h.PID)
		}
	}
	return nil
}

func tooLarge(sizes ...*uint64) bool {
	for _, size := range sizes {
		if size != nil && *size > mostBytes {
			return true
		}
	}
	return false
}
