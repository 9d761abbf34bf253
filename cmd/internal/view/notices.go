package view

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/rules"

	"github.com/umascope/umascope/alerts"
	"github.com/umascope/umascope/exporter/metric"
)

// Limits of notices.
const (
	flushInterval = 5 * time.Second
	mostTracked   = 1000 // alerts; more are in no notice
	mostInNotice  = 100  // alerts; truncatedAlerts has the number of the rest
	mostQueued    = 64   // notices of a receiver
	postTimeout   = 10 * time.Second
	giveUpAfter   = 5 * time.Minute // of tries of one notice
	firstPause    = time.Second     // between two tries; it doubles
	longestPause  = time.Minute
)

// notices sends alerts to webhooks. People are notified of the same alerts, at the same times, as by the project's
// configuration of Alertmanager: after alerts.GroupWait, grouped by alert and host, muted by the same rules.
type notices struct {
	routing   alerts.Routing
	site      string // address of the pages
	receivers []*receiver

	mutex   sync.Mutex
	tracked map[string]*trackedAlert // by fingerprint
}

// trackedAlert is an alert that fires, or did at the last flush.
type trackedAlert struct {
	noticeAlert
	seen, sent time.Time // sent is zero before the first notice
}

// notice is the JSON of Alertmanager's webhook (webhook_config in its documentation, Message in its package
// notify/webhook). The structs are our own, because Alertmanager's package imports its server.
type notice struct {
	Version           string            `json:"version"`
	GroupKey          string            `json:"groupKey"`
	TruncatedAlerts   int               `json:"truncatedAlerts"`
	Status            string            `json:"status"`
	Receiver          string            `json:"receiver"`
	GroupLabels       map[string]string `json:"groupLabels"`
	CommonLabels      map[string]string `json:"commonLabels"`
	CommonAnnotations map[string]string `json:"commonAnnotations"`
	ExternalURL       string            `json:"externalURL"`
	Alerts            []noticeAlert     `json:"alerts"`
}

// noticeAlert is an alert in a notice. EndsAt is zero while it fires.
type noticeAlert struct {
	Status       string            `json:"status"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
	Fingerprint  string            `json:"fingerprint"`
}

// Values of notice.Status.
const (
	statusFiring   = "firing"
	statusResolved = "resolved"
)

func newNotices(site string, addresses []*url.URL, count *prometheus.CounterVec, log *slog.Logger) *notices {
	n := &notices{routing: alerts.NewRouting(), site: site, tracked: map[string]*trackedAlert{}}
	for _, address := range addresses {
		n.receivers = append(n.receivers, newReceiver(address, count, log))
	}
	return n
}

// run sends notices until the context ends.
func (n *notices) run(ctx context.Context) {
	var sending sync.WaitGroup
	defer sending.Wait()
	for _, r := range n.receivers {
		sending.Go(func() { r.run(ctx) })
	}
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			n.flush(time.Now())
		}
	}
}

// notify takes the alerts of a rule that fire or are resolved. It is a rules.NotifyFunc, and waits for no receiver.
func (n *notices) notify(_ context.Context, _ string, changed ...*rules.Alert) {
	if len(n.receivers) == 0 {
		return
	}
	now := time.Now()
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, a := range changed {
		one := n.noticeAlert(a)
		old, known := n.tracked[one.Fingerprint]
		switch {
		case known:
			old.noticeAlert = one
		case one.Status == statusFiring && len(n.tracked) < mostTracked:
			n.tracked[one.Fingerprint] = &trackedAlert{noticeAlert: one, seen: now}
		}
	}
}

func (n *notices) noticeAlert(a *rules.Alert) noticeAlert {
	set := make(model.LabelSet, a.Labels.Len())
	for name, value := range a.Labels.Map() {
		set[model.LabelName(name)] = model.LabelValue(value)
	}
	one := noticeAlert{
		Status: statusFiring, Labels: a.Labels.Map(), Annotations: a.Annotations.Map(), StartsAt: a.FiredAt,
		GeneratorURL: n.site + addressOfAlert(a.Labels.Get(model.AlertNameLabel)), Fingerprint: set.Fingerprint().String(),
	}
	if !a.ResolvedAt.IsZero() {
		one.Status, one.EndsAt = statusResolved, a.ResolvedAt
	}
	return one
}

// group is what the alerts of a notice have in common.
type group struct{ alert, host string }

// flush hands on what has changed since the last notices.
func (n *notices) flush(now time.Time) {
	due := map[group][]noticeAlert{}
	n.mutex.Lock()
	for fingerprint, a := range n.tracked {
		if n.isDue(a, now) {
			of := group{a.Labels[model.AlertNameLabel], a.Labels[string(metric.LabelHost)]}
			due[of] = append(due[of], a.noticeAlert)
			a.sent = now
		}
		if a.Status == statusResolved {
			delete(n.tracked, fingerprint)
		}
	}
	n.mutex.Unlock()
	for _, of := range slices.SortedFunc(maps.Keys(due), func(a, b group) int { return cmp.Or(cmp.Compare(a.alert, b.alert), cmp.Compare(a.host, b.host)) }) {
		one := n.notice(of, due[of])
		for _, r := range n.receivers {
			r.enqueue(one)
		}
	}
}

// isDue reports whether a notice of the alert is to be sent now.
func (n *notices) isDue(a *trackedAlert, now time.Time) bool {
	repeat := n.routing.Repeat(a.Labels)
	switch {
	case a.Status == statusResolved:
		return !a.sent.IsZero()
	case repeat == 0, a.sent.IsZero() && now.Sub(a.seen) < alerts.GroupWait, !a.sent.IsZero() && now.Sub(a.sent) < repeat:
		return false
	}
	for _, other := range n.tracked {
		if other.Status == statusFiring && n.routing.Mutes(other.Labels, a.Labels) {
			return false
		}
	}
	return true
}

// notice returns the notice of a group, the alerts that began last first.
func (n *notices) notice(of group, all []noticeAlert) notice {
	slices.SortFunc(all, func(a, b noticeAlert) int {
		return cmp.Or(b.StartsAt.Compare(a.StartsAt), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	one := notice{
		Version: "4", GroupKey: fmt.Sprintf("{}:{%s=%q, %s=%q}", model.AlertNameLabel, of.alert, metric.LabelHost, of.host), Status: statusResolved, Receiver: "uma-view",
		GroupLabels:  map[string]string{model.AlertNameLabel: of.alert, string(metric.LabelHost): of.host},
		CommonLabels: maps.Clone(all[0].Labels), CommonAnnotations: maps.Clone(all[0].Annotations), ExternalURL: n.site,
	}
	for _, a := range all {
		if a.Status == statusFiring {
			one.Status = statusFiring
		}
		maps.DeleteFunc(one.CommonLabels, func(name, value string) bool { return a.Labels[name] != value })
		maps.DeleteFunc(one.CommonAnnotations, func(name, value string) bool { return a.Annotations[name] != value })
	}
	one.Alerts = all[:min(len(all), mostInNotice)]
	one.TruncatedAlerts = len(all) - len(one.Alerts)
	return one
}

// receiver sends notices to one URL, one after the other.
type receiver struct {
	address *url.URL // its path, its query and its password are secrets
	name    string   // scheme and host
	queue   chan []byte
	client  *http.Client
	count   *prometheus.CounterVec
	log     *slog.Logger
	failing bool
}

func newReceiver(address *url.URL, count *prometheus.CounterVec, log *slog.Logger) *receiver {
	r := &receiver{
		address: address, name: address.Scheme + "://" + address.Host, queue: make(chan []byte, mostQueued), count: count, log: log,
		client: &http.Client{Timeout: postTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	for _, result := range []string{metric.NoticeSent, metric.NoticeFailed, metric.NoticeDropped} {
		r.count.WithLabelValues(r.name, result).Add(0)
	}
	return r
}

// enqueue hands a notice on, or drops it if too many wait.
func (r *receiver) enqueue(n notice) {
	body, err := json.Marshal(n)
	if err == nil {
		select {
		case r.queue <- body:
			return
		default:
		}
	}
	r.count.WithLabelValues(r.name, metric.NoticeDropped).Inc()
}

func (r *receiver) run(ctx context.Context) {
	defer r.client.CloseIdleConnections()
	for {
		select {
		case <-ctx.Done():
			return
		case body := <-r.queue:
			err := r.deliver(ctx, body)
			if ctx.Err() != nil {
				return
			}
			r.report(err)
		}
	}
}

// report counts a notice, and logs when the receiver begins or ceases to fail.
func (r *receiver) report(err error) {
	result := metric.NoticeSent
	if err != nil {
		result = metric.NoticeFailed
	}
	r.count.WithLabelValues(r.name, result).Inc()
	switch {
	case err != nil && !r.failing:
		r.log.Error("notices of alerts are lost", "receiver", r.name, "why", err)
	case err == nil && r.failing:
		r.log.Warn("notices of alerts are sent again", "receiver", r.name)
	}
	r.failing = err != nil
}

// errRefused is the answer to a notice that is not worth another try.
var errRefused = errors.New("it refuses the notice")

// deliver tries until the receiver takes the notice, refuses it, or time is up.
func (r *receiver) deliver(ctx context.Context, body []byte) error {
	limited, cancel := context.WithTimeout(ctx, giveUpAfter)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := r.post(limited, body)
		if err == nil || errors.Is(err, errRefused) {
			return err
		}
		select {
		case <-limited.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// post sends a notice once. Its error does not have the URL.
func (r *receiver) post(ctx context.Context, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address.String(), bytes.NewReader(body))
	if err != nil {
		return errRefused
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "uma-view")
	response, err := r.client.Do(request)
	if err != nil {
		if failed, is := errors.AsType[*url.Error](err); is {
			return failed.Err
		}
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection can be used again
	switch code := response.StatusCode; {
	case code/100 == 2:
		return nil
	case code/100 == 5 || code == http.StatusTooManyRequests:
		return fmt.Errorf("it answers %s", response.Status)
	default:
		return fmt.Errorf("%w: %s", errRefused, response.Status)
	}
}
