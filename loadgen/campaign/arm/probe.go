package arm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/openai"
)

const (
	// askTimeout is the longest that one probe may take.
	askTimeout = 10 * time.Second
	// mostBody is the most of a page that is read, in bytes.
	mostBody = 1 << 20
)

// errNotYet is the result for a log that does not have the line yet.
var errNotYet = errors.New("no such line yet")

// await waits until a process is ready, and then for its delay.
func (r *Running) await(p *process) error {
	if p.spec.Ready != nil {
		if err := r.awaitProbe(p, *p.spec.Ready); err != nil {
			return err
		}
	}
	select {
	case <-r.ctx.Done():
		return r.cause()
	case <-time.After(p.spec.Delay):
		return nil
	}
}

// cause returns why the context is done: a process was lost, or this process was asked to end.
func (r *Running) cause() error {
	cause := context.Cause(r.ctx)
	if lost, ok := errors.AsType[*Failure](cause); ok {
		early := *lost
		early.What += " before the arm was up"
		return &early
	}
	return cause
}

func (r *Running) awaitProbe(p *process, probe plan.Probe) error {
	times := probe.Consecutive
	if probe.Log != "" {
		times = 1 // a line in a log does not disappear
	}
	ctx, cancel := context.WithTimeout(r.ctx, probe.Timeout)
	defer cancel()
	var last error
	for held := 0; ; {
		if err := p.ask(ctx, probe); err == nil {
			held++
		} else if held = 0; ctx.Err() == nil || last == nil {
			last = err // an answer that was cut off has no result
		}
		if held >= times {
			return nil
		}
		select {
		case <-ctx.Done():
			if r.ctx.Err() != nil {
				return r.cause()
			}
			if last == nil {
				last = fmt.Errorf("held %d times in a row, want %d", held, times)
			}
			return r.failure(p.spec.Name, fmt.Sprintf("was not ready within %v: %s: %v", probe.Timeout, probeName(probe), last))
		case <-time.After(probe.Every):
		}
	}
}

// watchAlive probes whether processes are alive, until the arm is ended.
func (r *Running) watchAlive() {
	ctx, cancel := context.WithCancel(r.ctx)
	r.asking = cancel
	for _, p := range r.processes {
		if p.spec.Alive != nil {
			r.watch.Go(func() { r.watchProbe(ctx, p, *p.spec.Alive) })
		}
	}
}

// watchProbe marks the arm as lost when a process has failed its probe several times in a row.
func (r *Running) watchProbe(ctx context.Context, p *process, probe plan.Probe) {
	ticker := time.NewTicker(probe.Every)
	defer ticker.Stop()
	for failed := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := p.ask(ctx, probe)
		if ctx.Err() != nil {
			return
		}
		if failed++; err == nil {
			failed = 0
		}
		if failed >= probe.Consecutive {
			r.lose(r.failure(p.spec.Name, fmt.Sprintf("does not answer any more: %s: %v", probeName(probe), err)))
			return
		}
	}
}

// probeName returns the target of a probe, without the parts of a URL that may be keys.
func probeName(p plan.Probe) string {
	switch {
	case p.URL != "":
		return plainURL(p.URL)
	case p.Log != "":
		return "log " + strconv.Quote(p.Log)
	case p.Port != 0:
		return "port " + strconv.Itoa(p.Port)
	}
	return "command " + p.Argv[0]
}

func plainURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "an address"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// ask makes one probe.
func (p *process) ask(ctx context.Context, probe plan.Probe) error {
	if probe.Log != "" {
		return p.askLog(probe.Log)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if len(probe.Argv) > 0 {
		_, err := inside(ctx, p.spec, p.place, probe.Argv)
		return err
	}
	return askNet(ctx, p.spec.Host, probe)
}

// askNet probes a page or a port.
func askNet(ctx context.Context, host string, probe plan.Probe) error {
	if probe.URL != "" {
		return askURL(ctx, probe.URL)
	}
	return inner(dial(ctx, addressOf(host, probe)))
}

// askURL wants a status of success and, for a list of models, at least one model: the workers of some engines need
// minutes until their frontend lists one.
func askURL(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return errors.New("is no address")
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return inner(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostBody))
	switch {
	case response.StatusCode < 200 || response.StatusCode > 299:
		return fmt.Errorf("status %d", response.StatusCode)
	case err != nil:
		return inner(err)
	case strings.HasSuffix(strings.TrimSuffix(request.URL.Path, "/"), "/v1/models"):
		return haveModels(body)
	}
	return nil
}

func haveModels(body []byte) error {
	entries, err := openai.ListedModels(body)
	if err != nil {
		return errors.New("is no list of models")
	}
	if len(entries) == 0 {
		return errors.New("lists no model")
	}
	return nil
}

// inner returns an error without the URL, which may contain a key.
func inner(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Err != nil {
		err = e.Err
	}
	return err
}

// askLog searches the text that was added to the log since the last call.
func (p *process) askLog(pattern string) error {
	if p.log == nil {
		p.log = &lineSearch{growingLog: growingLog{p.started.Log, p.started.LogFrom}, pattern: regexp.MustCompile(pattern)}
	}
	found, err := p.log.find()
	if err == nil && !found {
		err = errNotYet
	}
	return err
}

// inside runs a command in the place of a process, with its environment, and waits for it.
func inside(ctx context.Context, p plan.Process, where place, argv []string) (string, error) {
	if where.away() {
		return askAsLongAs(ctx, question{args: where.shell(), input: commandScript(p, argv)})
	}
	path, err := program(argv[0], p.Cwd, p.Env)
	if err != nil {
		return "", err
	}
	args := append([]string{path}, argv[1:]...)
	if where.root {
		args = append([]string{"sudo", "-n", "--"}, args...)
	}
	return askAsLongAs(ctx, question{args: args, env: environment(p.Env), dir: p.Cwd})
}

// silent refuses to start an arm if another server already answers its probes: the load would go to that server.
func silent(ctx context.Context, spec plan.Arm) error {
	for _, p := range spec.Processes {
		if p.Ready == nil || p.Ready.URL == "" && p.Ready.Port == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		err := askNet(ctx, p.Host, *p.Ready)
		cancel()
		if err == nil {
			return fmt.Errorf("arm %s: %s answers at %s before it is started: something else runs there", spec.Name, p.Name, probeName(*p.Ready))
		}
	}
	return nil
}
