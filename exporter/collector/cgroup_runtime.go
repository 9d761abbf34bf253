package collector

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/hostfs"
)

const (
	// runtimeTimeout is the timeout of a request to a runtime, answerTimeout the time that the page that asked waits
	// for the answer. A runtime lists its containers in some milliseconds; a page without names is correct, only less
	// readable, and the next page has them.
	runtimeTimeout = 5 * time.Second
	answerTimeout  = 100 * time.Millisecond

	// A container that the runtime does not list, because it belongs to another runtime or is not listed yet, is asked
	// for again after shortestRetry, then after twice that, up to longestRetry.
	shortestRetry = 2 * time.Second
	longestRetry  = 5 * time.Minute

	// containersPath lists the running containers. It has no version prefix: each possible prefix is refused by some
	// Docker in use (29 requires at least 1.44, which 24 does not support).
	containersPath = "/containers/json"
)

// ContainerNames asks a Docker-compatible API at a socket of this machine for the names of the running containers, by
// id.
func ContainerNames(ctx context.Context, socket string) (map[string]hostfs.ContainerName, error) {
	return listContainers(ctx, runtimeClient(socket))
}

func runtimeClient(socket string) engine.Client {
	dialer := &net.Dialer{Timeout: runtimeTimeout}
	return engine.Client{HTTP: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: true, // hours may pass until the next request
	}}
}

// listContainers sends one request with a timeout of its own.
func listContainers(ctx context.Context, client engine.Client) (map[string]hostfs.ContainerName, error) {
	ctx, cancel := context.WithTimeout(ctx, runtimeTimeout)
	defer cancel()
	var list []hostfs.ListedContainer
	at := &engine.Endpoint{URL: &url.URL{Scheme: "http", Host: "localhost"}}
	err := client.JSON(ctx, at, containersPath, &list)
	return hostfs.ListedContainerNames(list), err
}

// runtimeNames asks a Docker-compatible API for the names of containers, only over a socket of this machine. It asks
// for the whole list, and only while a container has no name yet. It is not safe for concurrent use.
type runtimeNames struct {
	socket string
	client engine.Client
	now    func() time.Time

	known   map[string]hostfs.ContainerName
	unknown map[string]retry
	pending chan listing // receives one answer; nil when no request is running
	fresh   bool         // asked in this collection
	err     error        // of the last request
}

// retry is the time of the next request for a container, and the wait after that.
type retry struct {
	at   time.Time
	wait time.Duration
}

type listing struct {
	names map[string]hostfs.ContainerName
	err   error
}

func newRuntimeNames(socket string, now func() time.Time) *runtimeNames {
	return &runtimeNames{
		socket: socket, now: now, client: runtimeClient(socket),
		known: map[string]hostfs.ContainerName{}, unknown: map[string]retry{},
	}
}

// ask starts a request if one is due for any of these containers, and forgets all other containers.
func (r *runtimeNames) ask(ids []string) {
	r.take()
	known, unknown := make(map[string]hostfs.ContainerName, len(ids)), map[string]retry{}
	due := false
	for _, id := range ids {
		if name, found := r.known[id]; found {
			known[id] = name
			continue
		}
		unknown[id] = r.unknown[id]
		due = due || !r.now().Before(unknown[id].at)
	}
	r.known, r.unknown, r.fresh = known, unknown, due && r.pending == nil
	if r.fresh {
		r.pending = make(chan listing, 1)
		go r.list(r.pending)
	}
}

// answer takes the answer; the collection that asked waits briefly for it. The error is that of the runtime, nil when
// there is no more to ask.
func (r *runtimeNames) answer() error {
	if r.fresh {
		r.await()
	}
	r.take()
	if r.err == nil || len(r.unknown) == 0 {
		return nil
	}
	return fmt.Errorf("--cgroup.runtime-socket %s: %w", r.socket, r.err)
}

func (r *runtimeNames) await() {
	timer := time.NewTimer(answerTimeout)
	defer timer.Stop()
	select {
	case answer := <-r.pending:
		r.apply(answer)
	case <-timer.C:
	}
}

// take takes the answer that has arrived.
func (r *runtimeNames) take() {
	select {
	case answer := <-r.pending: // a receive from a nil channel never succeeds
		r.apply(answer)
	default:
	}
}

func (r *runtimeNames) apply(answer listing) {
	r.pending, r.err = nil, answer.err
	for id, last := range r.unknown {
		if name, found := answer.names[id]; found {
			r.known[id] = name
			delete(r.unknown, id)
			continue
		}
		wait := min(max(2*last.wait, shortestRetry), longestRetry)
		r.unknown[id] = retry{r.now().Add(wait), wait}
	}
}

// list sends one request. It does not end with the collection that started it.
func (r *runtimeNames) list(answer chan<- listing) {
	names, err := listContainers(context.Background(), r.client)
	answer <- listing{names, err}
}
