package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

// notice is Alertmanager's message about an alert.
type notice struct {
	Status              string
	Labels, Annotations map[string]string
}

// inbox is the webhook that receives alerts, at two addresses: that of people, and that of the test.
type inbox struct {
	address string
	server  *http.Server
	serving sync.WaitGroup
	mu      sync.Mutex
	notices map[string][]notice // by path
}

// The paths.
const (
	toPeople = "/people"
	toTest   = "/test"
)

func (i *inbox) open() error {
	listener, err := net.Listen("tcp", i.address)
	if err != nil {
		return err
	}
	i.notices = map[string][]notice{}
	i.server = &http.Server{Handler: http.HandlerFunc(i.take), ReadHeaderTimeout: time.Second}
	i.serving.Go(func() { _ = i.server.Serve(listener) }) // ends with ErrServerClosed
	return nil
}

func (i *inbox) close() {
	if i.server != nil {
		i.server.Close()
		i.serving.Wait()
	}
}

func (i *inbox) take(w http.ResponseWriter, r *http.Request) {
	var message struct{ Alerts []notice }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostAnswer)).Decode(&message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.notices[r.URL.Path] = append(i.notices[r.URL.Path], message.Alerts...)
}

// all returns all notices so far.
func (i *inbox) all(path string) []notice {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.notices[path])
}

// who identifies an alert.
type who struct{ alert, severity, host string }

func (w who) String() string { return w.alert + ", " + w.severity + ", of " + w.host }

func (w who) is(labels map[string]string) bool {
	return labels["alertname"] == w.alert && labels["severity"] == w.severity && labels["host"] == w.host
}

// told returns the last notice about an alert.
func (i *inbox) told(path string, w who) (notice, bool) {
	all := i.all(path)
	for _, n := range slices.Backward(all) {
		if w.is(n.Labels) {
			return n, true
		}
	}
	return notice{}, false
}

// awaits waits for a notice with a status, firing or resolved.
func (i *inbox) awaits(ctx context.Context, path string, w who, status string, most time.Duration) (found notice, err error) {
	err = until(ctx, most, func(context.Context) error {
		n, any := i.told(path, w)
		switch {
		case !any:
			return fmt.Errorf("no notice of %s has come to %s", w, path)
		case n.Status != status:
			return fmt.Errorf("%s is still %s", w, n.Status)
		}
		found = n
		return nil
	})
	return found, err
}

// active is an alert in Alertmanager.
type active struct {
	Fingerprint string
	Labels      map[string]string
	Status      struct {
		State       string
		InhibitedBy []string
	}
	Receivers []struct{ Name string }
}

// alertmanager lists the alerts in Alertmanager, including muted ones.
func (s *stage) alertmanager(ctx context.Context) ([]active, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.alertmanagerAddress+"/api/v2/alerts", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var all []active
	return all, json.NewDecoder(response.Body).Decode(&all)
}

// muted waits until Alertmanager has an alert and another one mutes it.
func (s *stage) muted(ctx context.Context, w, by who, most time.Duration) error {
	return until(ctx, most, func(ctx context.Context) error {
		all, err := s.alertmanager(ctx)
		if err != nil {
			return err
		}
		sources := map[string]map[string]string{}
		var found *active
		for _, a := range all {
			sources[a.Fingerprint] = a.Labels
			if w.is(a.Labels) {
				found = &a
			}
		}
		if found == nil {
			return fmt.Errorf("%s is not there", w)
		}
		for _, fingerprint := range found.Status.InhibitedBy {
			if by.is(sources[fingerprint]) {
				return nil
			}
		}
		return fmt.Errorf("%s is %s, muted by %v, want %s", w, found.Status.State, found.Status.InhibitedBy, by)
	})
}

// writeAlertmanager copies the configuration, with shorter waits and a route of the test's own.
func (s *stage) writeAlertmanager() error {
	address := "http://" + s.inbox.address
	if err := os.WriteFile(s.path("receiver"), []byte(address+toPeople+"\n"), 0o600); err != nil {
		return err
	}
	return substitute(s.files.checkout+"/alerts/alertmanager.yml", s.path("alertmanager.yml"), s.alertmanagerSubstitutions(address+toTest))
}

// alertmanagerSubstitutions shorten the waits and add a route. The project's routes drop alerts of simulated hosts, and
// all hosts here are simulated; so a route before them sends a copy of every alert to the test, and continues to the
// routes under test.
func (s *stage) alertmanagerSubstitutions(test string) []substitution {
	const file = "/run/secrets/alert-receiver"
	return []substitution{
		{"group_wait: 15s", "group_wait: 1s", "the test has minutes"},
		{"group_interval: 5m", "group_interval: 3s", "an end is told of no sooner than this after a beginning"},
		{"url_file: " + file, "url_file: " + s.path("receiver"), "the file is a secret of the container"},
		{"  routes:\n", "  routes:\n  - receiver: test\n    continue: true\n", "the test hears of everything"},
		{"\nreceivers:\n", "\nreceivers:\n- name: test\n  webhook_configs:\n  - url: " + test + "\n", "this is the test"},
	}
}
