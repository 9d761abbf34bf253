package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// stage is everything that runs.
type stage struct {
	wish
	folder, address   string
	fleet, prometheus *process
}

// start brings the machines up, then Prometheus over them.
func start(ctx context.Context, w wish, folder string) (*stage, error) {
	s := &stage{wish: w, folder: folder}
	own, err := os.Executable()
	if err != nil {
		return s, err
	}
	if err := os.MkdirAll(s.path("targets"), 0o755); err != nil {
		return s, err
	}
	var targets strings.Builder
	n := 0
	s.fleet, err = launch(s.path("fleet.log"), func(address string) bool {
		if address == "" {
			return false
		}
		fmt.Fprintf(&targets, "- targets: [%q]\n  labels: {host: %s}\n", address, name(n))
		n++
		return true
	}, own, "-serve", "-hosts", strconv.Itoa(w.hosts), fmt.Sprintf("-engines=%t", w.engines))
	if err != nil {
		return s, err
	}
	if n < w.hosts {
		return s, fmt.Errorf("%d of %d machines came up: %s", n, w.hosts, tail(s.path("fleet.log")))
	}
	if err := os.WriteFile(s.path("targets", "exporter.yml"), []byte(targets.String()), 0o644); err != nil {
		return s, err
	}
	if s.address, err = free(); err != nil {
		return s, err
	}
	if err := s.configure(); err != nil {
		return s, err
	}
	// The interface for snapshots is off in the stack. It costs nothing until it is used.
	s.prometheus, err = launch(s.path("prometheus.log"), nil, w.prometheus, "--config.file="+s.path("prometheus.yml"),
		"--storage.tsdb.path="+s.path("data"), "--web.listen-address="+s.address, "--web.enable-admin-api")
	return s, err
}

func name(n int) string { return fmt.Sprintf("spark-%03d", n) }

func (s *stage) path(parts ...string) string {
	return filepath.Join(append([]string{s.folder}, parts...)...)
}

func free() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// configure copies the configuration of the stack. It changes the paths of files, the address of Prometheus, and the
// interval if another one is given.
func (s *stage) configure() error {
	checkout, err := filepath.Abs(s.checkout)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(checkout, "compose", "prometheus", "prometheus.yml"))
	if err != nil {
		return err
	}
	config := string(text)
	changes := [][2]string{
		{"/etc/umascope/alerts/", filepath.Join(checkout, "alerts") + "/"},
		{"/etc/umascope/prometheus/targets/", s.path("targets") + "/"},
		{`"127.0.0.1:9090"`, strconv.Quote(s.address)},
	}
	if s.interval != 5*time.Second {
		every := strconv.Itoa(int(s.interval.Seconds())) + "s"
		changes = append(changes, [2]string{"  scrape_interval: 5s", "  scrape_interval: " + every}, [2]string{"evaluation_interval: 5s", "evaluation_interval: " + every})
	}
	for _, c := range changes {
		if !strings.Contains(config, c[0]) {
			return fmt.Errorf("prometheus.yml has no %q, which is to become %q", c[0], c[1])
		}
		config = strings.ReplaceAll(config, c[0], c[1])
	}
	return os.WriteFile(s.path("prometheus.yml"), []byte(config), 0o644)
}

func (s *stage) stop() {
	for _, p := range []*process{s.prometheus, s.fleet} {
		if p != nil {
			p.stop()
		}
	}
}

// sample is a series of an answer.
type sample struct {
	Metric map[string]string `json:"metric"`
	Value  []any             `json:"value"`
}

func (s sample) number() float64 {
	if len(s.Value) == 2 {
		if text, is := s.Value[1].(string); is {
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				return n
			}
		}
	}
	return 0
}

// answer is Prometheus' answer to a query.
type answer struct {
	Type   string          `json:"resultType"`
	Result json.RawMessage `json:"result"`
}

// post sends Prometheus a query, and reads the member data of the answer.
func (s *stage) post(ctx context.Context, path string, query url.Values, into any) error {
	return s.ask(ctx, http.MethodPost, path, strings.NewReader(query.Encode()), into)
}

func (s *stage) ask(ctx context.Context, method, path string, form io.Reader, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.address+path, form)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var told struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal(body, &told); err != nil || told.Status != "success" {
		return fmt.Errorf("%s: %s %s %.200s", path, response.Status, told.Error, body)
	}
	return json.Unmarshal(told.Data, into)
}

// vector asks for series at a moment.
func (s *stage) vector(ctx context.Context, query string, at time.Time) ([]sample, error) {
	all, _, err := s.value(ctx, query, at)
	return all, err
}

// value asks for what may be a number too.
func (s *stage) value(ctx context.Context, query string, at time.Time) (all []sample, scalar bool, err error) {
	var a answer
	if err := s.post(ctx, "/api/v1/query", url.Values{"query": {query}, "time": {stamp(at)}}, &a); err != nil {
		return nil, false, fmt.Errorf("%s: %w", query, err)
	}
	if a.Type == "scalar" {
		var value []any
		err := json.Unmarshal(a.Result, &value)
		return []sample{{Value: value}}, true, err
	}
	err = json.Unmarshal(a.Result, &all)
	return all, false, err
}

// one asks for a single number.
func (s *stage) one(ctx context.Context, query string, at time.Time) (float64, error) {
	all, err := s.vector(ctx, query, at)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("%s: %d series, want one", query, len(all))
	}
	if err != nil {
		return 0, err
	}
	return all[0].number(), nil
}

func stamp(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// moment is what was used up to a moment.
type moment struct {
	at                time.Time
	fleet, prometheus usage
	busy              time.Duration
	load              string
}

// look notes what was used so far.
func (s *stage) look() (moment, error) {
	m := moment{at: time.Now()}
	var errs [4]error
	m.fleet, errs[0] = s.fleet.used()
	m.prometheus, errs[1] = s.prometheus.used()
	m.busy, errs[2] = busy()
	load, err := os.ReadFile("/proc/loadavg")
	m.load, errs[3] = strings.Join(strings.Fields(string(load))[:3], " "), err
	return m, errors.Join(errs[:]...)
}
