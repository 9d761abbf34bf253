//go:build proof

package docs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// world is what the stand-ins of a page share: the simulated machine, and which containers run on it.
type world struct {
	ctx    context.Context
	socket string
	spark  *spark
	server *http.Server

	mu         sync.Mutex
	containers map[string]*containerFacts
	used       map[string]bool
}

// containerFacts are a container of the stand-in for docker.
type containerFacts struct {
	ID, Name, Image string
	Created         time.Time
	Running         bool
	Env             []string
	Mounts          map[string]string // path within: path outside
	HostNetwork     bool
	GPUs            bool
	Log             string // file

	stop context.CancelFunc
	ctx  context.Context
}

func newWorld(ctx context.Context, socket string) (*world, error) {
	machine, err := newSpark(ctx)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	w := &world{ctx: ctx, socket: socket, spark: machine, containers: map[string]*containerFacts{}, used: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /serve", streamed(w.serveEngine))
	mux.HandleFunc("POST /frontend", streamed(w.serveFrontend))
	mux.HandleFunc("POST /exporter", streamed(w.serveExporter))
	mux.HandleFunc("POST /container", streamed(w.runContainer))
	mux.HandleFunc("GET /containers", w.listContainers)
	mux.HandleFunc("POST /stop", w.stopContainer)
	mux.HandleFunc("POST /used", func(_ http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.used[r.URL.Query().Get("name")] = true
	})
	w.server = &http.Server{Handler: mux}
	go func() { _ = w.server.Serve(listener) }()
	return w, nil
}

func (w *world) close() { w.server.Close() }

// foreign are the stand-ins that were started.
func (w *world) foreign() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.used))
}

// engineRequest is an engine that a stand-in starts, in a container or not.
type engineRequest struct {
	asked
	Container string
}

// stream sends lines as they come; a stand-in prints them, and fails with one that begins with its mark.
type stream struct{ w http.ResponseWriter }

const failedMark = "\x01"

func (s stream) say(line string) {
	fmt.Fprintln(s.w, line)
	_ = http.NewResponseController(s.w).Flush()
}

// streamed handles requests with a JSON body. An error ends the lines that were sent until then.
func streamed[T any](handle func(ctx context.Context, request T, out stream) error) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		var request T
		out := stream{rw}
		err := json.NewDecoder(r.Body).Decode(&request)
		if err == nil {
			ctx, stop := context.WithCancel(r.Context())
			defer stop()
			err = handle(ctx, request, out)
		}
		if err != nil {
			out.say(failedMark + err.Error())
		}
	}
}

func (w *world) serveEngine(ctx context.Context, request engineRequest, out stream) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if request.Container != "" {
		c := w.container(request.Container)
		if c == nil || !c.Running {
			return errors.New("no container " + request.Container)
		}
		request.Scope = "/system.slice/docker-" + c.ID + ".scope"
		request.Layers = true
		context.AfterFunc(c.ctx, stop)
	}
	return w.spark.serve(ctx, request.asked, out.say)
}

func (w *world) serveFrontend(ctx context.Context, request engineRequest, out stream) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if c := w.container(request.Container); c != nil {
		context.AfterFunc(c.ctx, stop)
	}
	return w.listenUntil(ctx, request.Address, http.HandlerFunc(w.spark.frontend), out)
}

// listenUntil serves at an address until ctx ends.
func (w *world) listenUntil(ctx context.Context, address string, handler http.Handler, out stream) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler}
	context.AfterFunc(ctx, func() { server.Close() })
	out.say("listening on " + address)
	_ = server.Serve(listener) // it was closed
	return nil
}

// exporterRequest is how uma-exporter was started.
type exporterRequest struct {
	Verb            string
	Address         string // to serve at
	KVBM, Engines   []string
	BytesPerBlock   uint64
	TelemetryAtOnce bool
}

func (w *world) serveExporter(ctx context.Context, request exporterRequest, out stream) error {
	e, err := w.spark.exporter(request.KVBM, request.Engines, request.BytesPerBlock)
	if err != nil {
		return err
	}
	if request.Verb == "serve" && !request.TelemetryAtOnce {
		return w.listenUntil(ctx, request.Address, e.Handler(), out)
	}
	text, err := shownBy(ctx, e, request.Verb)
	if err == nil {
		out.say(strings.TrimSuffix(text, "\n"))
	}
	return err
}

func (w *world) container(name string) *containerFacts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.containers[name]
}

// runContainer keeps a container for as long as its first process is there.
func (w *world) runContainer(ctx context.Context, c containerFacts, out stream) error {
	c.ctx, c.stop = context.WithCancel(ctx)
	defer c.stop()
	c.Created, c.Running = time.Now(), true
	w.mu.Lock()
	if w.containers[c.Name] != nil {
		w.mu.Unlock()
		out.say(failedMark + `Conflict. The container name "/` + c.Name + `" is already in use`)
		return nil
	}
	w.containers[c.Name] = &c
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.containers, c.Name)
	}()
	out.say("running")
	<-c.ctx.Done()
	return nil
}

func (w *world) listContainers(rw http.ResponseWriter, _ *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = json.NewEncoder(rw).Encode(w.containers)
}

func (w *world) stopContainer(rw http.ResponseWriter, r *http.Request) {
	c := w.container(r.URL.Query().Get("name"))
	if c == nil {
		http.Error(rw, "No such container: "+r.URL.Query().Get("name"), http.StatusNotFound)
		return
	}
	c.stop()
}

// client is the way of a stand-in to the world.
func client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", os.Getenv(worldAt))
	}}}
}

// post sends a request and passes every line that comes to a function, until the end. What the world refuses is the error.
func post(ctx context.Context, path string, body any, line func(string)) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://world"+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	response, err := client().Do(request)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(response.Body)
		return errors.Join(errors.New(strings.TrimSpace(string(text))), err)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if why, failed := strings.CutPrefix(lines.Text(), failedMark); failed {
			return errors.New(why)
		}
		if line != nil {
			line(lines.Text())
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return lines.Err()
}

// containersNow are those that run.
func containersNow() (map[string]containerFacts, error) {
	response, err := client().Get("http://world/containers")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var all map[string]containerFacts
	return all, json.NewDecoder(response.Body).Decode(&all)
}
