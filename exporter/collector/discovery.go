package collector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

const (
	// discoveryInterval is the time from one look at the sockets to the next: an engine is seen so soon after it listens.
	discoveryInterval = 10 * time.Second
	// discoveryTries is how often a socket is asked, a discoveryPause apart; afterwards its process is not asked any more.
	discoveryTries = 3
	discoveryPause = time.Minute
	// discoveryTimeout is the time for all answers of one socket, and discoveryWorkers how many are asked at a time.
	discoveryTimeout = 3 * time.Second
	discoveryWorkers = 4
	notAskedYet      = "not asked yet"
)

// EngineSocket is a listening TCP socket of a process that may belong to an engine, and what discovery found there.
type EngineSocket struct {
	// Address is where the process listens, in its own network namespace.
	Address netip.AddrPort
	// PID and Comm are of the process.
	PID  uint32
	Comm string
	// Result is one of metric.DiscoveryResults.
	Result string
	// Engine is the engine that answers, "" if none was identified, and Source its page, as in the label of its series, ""
	// if none is read.
	Engine, Source string
	// API is host:port of an engine without a page, where it answered.
	API string
	// Reason is why no page of it is read, "" for one that is.
	Reason string
}

// discovery finds the pages of engines that the options do not name. It connects only to sockets that a known server
// program has open at a port where it serves HTTP: any other kind of server can break when it is asked. It looks in a
// goroutine of its own, so that no listener can hold up a page: pages show what has been found by then.
type discovery struct {
	host   Host
	client engine.Client

	mu      sync.Mutex
	began   time.Time // of the last look, zero before the first
	looking bool
	sockets []*engineSocket // as of the last look
	err     error           // why sockets may be missing
	hidden  bool            // descriptors of a process could not be read
}

// engineSocket is a socket with the state of its questions. Its result is guarded by discovery.mu.
type engineSocket struct {
	EngineSocket
	process processID
	known   bool             // a known server program serves HTTP there: only then it is asked
	held    heldSocket       // of known sockets
	reach   []netip.AddrPort // loopback addresses that lead to it, in order of preference; none if it is not reachable
	holder  bool             // the process holds GPU memory
	tries   int
	asked   time.Time
	loading bool    // found, and its page is still to come
	pages   Targets // found
}

// heldSocket is a descriptor of a process and the inode number of the socket behind it.
type heldSocket struct {
	descriptor int
	inode      uint64
}

// discovered is what discovery has found by now.
type discovered struct {
	on      bool    // there is discovery
	targets Targets // with those that are named
	sockets []EngineSocket
	hidden  bool
	err     error
}

func newDiscovery(host Host, options SourceOptions) *discovery {
	if options.NoDiscovery || host.Loopback == nil || host.ForeignGPU {
		return nil
	}
	return &discovery{host: host, client: engine.Client{HTTP: host.Loopback, Engines: options.Known}}
}

// discover adds the pages that were found to those named, and starts a look if one is due. The collection that starts
// the first look waits for it, at most a quarter of its time.
func (s *Sample) discover(ctx context.Context, named Targets) discovered {
	if s.discovery == nil {
		return discovered{targets: named}
	}
	found, _ := s.found.get(ctx, func(ctx context.Context) (discovered, error) {
		s.discovery.refresh(ctx, named, s.processLister(ctx))
		return s.discovery.now(), nil
	})
	found.join(named)
	s.engineSockets.Store(&found.sockets)
	return found
}

// processLister lists the processes that hold GPU memory, and with them the others in their cgroups. The error is why some
// may be missing.
type processLister func() (holders []GPUProcess, all []uint32, err error)

// processLister reads the list within the time of a collection, whether or not that has ended by then.
func (s *Sample) processLister(collecting context.Context) processLister {
	return func() ([]GPUProcess, []uint32, error) {
		ctx := context.WithoutCancel(collecting)
		if deadline, bounded := collecting.Deadline(); bounded {
			limited, cancel := context.WithDeadline(ctx, deadline)
			defer cancel()
			ctx = limited
		}
		reading, err := s.Memory(ctx)
		return reading.Processes, s.engineProcesses(ctx), errors.Join(err, s.gpuProcessesKnown(ctx))
	}
}

// join adds the targets that are named. It marks sockets whose page has no room beside them.
func (d *discovered) join(named Targets) {
	d.targets = named.adding(d.targets)
	read := slices.Concat(sourcesOf(d.targets.Engines), sourcesOf(d.targets.KVBM))
	d.sockets = slices.Clone(d.sockets)
	for i, socket := range d.sockets {
		if socket.Source != "" && !slices.Contains(read, socket.Source) {
			d.sockets[i].Result, d.sockets[i].Source = metric.DiscoveryDropped, ""
			d.sockets[i].Reason = fmt.Sprintf("%d sources are read already", MaxSources)
		}
	}
}

// emit counts the sockets by result, and names the engines without a page.
func (d *discovered) emit(batch *Batch) {
	if !d.on {
		return
	}
	counts, named := map[string]int{}, map[string]bool{}
	for _, socket := range d.sockets {
		counts[socket.Result]++
		if socket.Result == metric.DiscoveryNoPage && !named[socket.API] { // processes can share a port
			named[socket.API] = true
			batch.Gauge(metric.EngineInfo, 1, socket.API+spec.ModelsPath, socket.Engine, "", "")
		}
	}
	for _, result := range metric.DiscoveryResults() {
		batch.Gauge(metric.EngineDiscoverySockets, float64(counts[result]), result)
	}
	if d.hidden {
		batch.Lacks(inspectNeedName)
	}
}

// needDiscovery is the access without which only their user tells the sockets of an engine from others.
func needDiscovery() Need {
	need := inspectNeed("engines of other users are not found, since it is hidden which process has a socket open: name them by --engine.url")
	need.Asked = func(host Host, options Options) bool { return newDiscovery(host, options.Sources) != nil }
	return need
}

// EngineSockets are the sockets that discovery looked at for the engine collector of this sample, by address; none
// before that collector has returned and where discovery is off.
func (s *Sample) EngineSockets() []EngineSocket {
	if sockets := s.engineSockets.Load(); sockets != nil {
		return *sockets
	}
	return nil
}

// refresh starts a look if one is due. The processes are listed in the goroutine of the look, because that may wait for
// a driver.
func (d *discovery) refresh(ctx context.Context, given Targets, list processLister) {
	now := d.host.Now()
	d.mu.Lock()
	age := now.Sub(d.began)
	first := d.began.IsZero()
	if d.looking || !first && age >= 0 && age < discoveryInterval {
		d.mu.Unlock()
		return
	}
	d.began, d.looking = now, true
	d.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.look(given, list)
	}()
	if first {
		moment, cancel := patience(ctx)
		defer cancel()
		select {
		case <-ended:
		case <-moment.Done():
		}
	}
}

// now returns what has been found by now, in order of addresses. A page whose process has closed the socket since is
// left out: another program can have its port by now.
func (d *discovery) now() discovered {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := discovered{on: true, hidden: d.hidden, err: d.err}
	for _, socket := range d.sockets {
		found.sockets = append(found.sockets, socket.EngineSocket)
		if socket.pages.count() > 0 && d.holds(socket) {
			found.targets = found.targets.with(socket.pages)
		}
	}
	return found
}

// holds reports whether the process of a socket still has it open.
func (d *discovery) holds(socket *engineSocket) bool {
	stat, err := hostfs.ReadProcessStat(d.host.Proc, socket.process.pid)
	return err == nil && stat.StartTicks == socket.process.start &&
		hostfs.HoldsSocket(d.host.Proc, socket.process.pid, socket.held.descriptor, socket.held.inode)
}

// look finds the sockets and asks those that are due. A panic costs this look.
func (d *discovery) look(given Targets, list processLister) {
	defer func() {
		cause := recover()
		d.mu.Lock()
		defer d.mu.Unlock()
		d.looking = false
		if cause != nil {
			d.err = &panicError{cause, debug.Stack()}
		}
	}()
	holders, all, err := list()
	if err != nil { // the collectors of memory and GPUs report it
		holders, all = d.withKnown(holders, all)
	}
	scan := scanSockets(d.client.Engines, d.host.Proc, holders, all)
	due := d.replace(scan, addressesGiven(d.host.Proc, given))
	next := make(chan *engineSocket)
	var asking sync.WaitGroup
	for range min(discoveryWorkers, len(due)) {
		asking.Go(func() {
			for socket := range next {
				d.ask(socket)
			}
		})
	}
	for _, socket := range due {
		next <- socket
	}
	close(next)
	asking.Wait()
}

// withKnown adds the processes of the sockets of the last look, for a driver that does not list all.
func (d *discovery) withKnown(holders []GPUProcess, all []uint32) ([]GPUProcess, []uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, socket := range d.sockets {
		all = append(all, socket.PID)
		if socket.holder {
			holders = append(holders, GPUProcess{PID: socket.PID})
		}
	}
	return holders, all
}

// replace makes the sockets of a scan the present ones, with what is known of them, and returns those to be asked.
func (d *discovery) replace(scan socketScan, given []netip.AddrPort) (due []*engineSocket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.sockets
	d.sockets, d.err, d.hidden = scan.sockets, scan.err, scan.hidden
	for i, socket := range d.sockets {
		at := slices.IndexFunc(before, func(known *engineSocket) bool {
			return known.process == socket.process && known.Address == socket.Address && known.known == socket.known && known.held == socket.held &&
				slices.Equal(known.reach, socket.reach)
		})
		if at >= 0 {
			before[at].holder = socket.holder
			socket = before[at]
			d.sockets[i] = socket
		}
		if slices.ContainsFunc(socket.reach, func(a netip.AddrPort) bool { return slices.Contains(given, a) }) {
			socket.forget(metric.DiscoveryGiven, "its address is given")
			continue
		}
		if socket.Result == metric.DiscoveryGiven {
			result, reason := metric.DiscoveryUnknown, notAskedYet
			if !socket.known {
				result, reason = metric.DiscoveryNotAsked, noKnownServer+nameIt(socket)
			}
			socket.forget(result, reason)
		}
		if socket.due(d.host.Now()) {
			due = append(due, socket)
		}
	}
	return due
}

// due reports whether a socket is to be asked now. A clock that was set back delays no question.
func (s *engineSocket) due(now time.Time) bool {
	open := s.Result != metric.DiscoveryFound || s.loading
	pause := now.Sub(s.asked)
	return s.known && len(s.reach) > 0 && open && s.tries < discoveryTries && (s.tries == 0 || pause < 0 || pause >= discoveryPause)
}

// forget drops what was answered, for another result.
func (s *engineSocket) forget(result, reason string) {
	s.Result, s.Reason, s.Engine, s.Source, s.API = result, reason, "", "", ""
	s.tries, s.loading, s.pages = 0, false, Targets{}
}

// ask asks a socket once. A hostile one costs its own result, and at most discoveryTimeout of one worker.
func (d *discovery) ask(socket *engineSocket) {
	asked := d.host.Now()
	ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
	defer cancel()
	var answer engineSocket
	for _, address := range socket.reach {
		if answer = d.askAt(ctx, address); answer.Result != metric.DiscoveryUnreachable {
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	socket.tries++
	socket.asked = asked
	if socket.loading && answer.Result != metric.DiscoveryFound && answer.Result != metric.DiscoveryNoPage {
		return // loading a model can leave no time for answers
	}
	socket.Result, socket.Engine, socket.Source, socket.API, socket.Reason = answer.Result, answer.Engine, answer.Source, answer.API, answer.Reason
	socket.pages, socket.loading = answer.pages, answer.loading
	if answer.Result != metric.DiscoveryFound && socket.tries == discoveryTries {
		socket.Reason += fmt.Sprintf("; asked %d times, and not again before its process restarts", discoveryTries)
	}
}

// askAt identifies the server at an address, and then reads its page if it has one.
func (d *discovery) askAt(ctx context.Context, address netip.AddrPort) (answer engineSocket) {
	defer func() {
		if cause := recover(); cause != nil {
			answer = answerOf(metric.DiscoveryUnknown, fmt.Errorf("panic: %v", cause))
		}
	}()
	at, err := engine.ParseEndpoint("http://" + address.String())
	if err != nil {
		return answerOf(metric.DiscoveryUnknown, err)
	}
	identity, err := d.client.Identify(ctx, at)
	switch {
	case errors.Is(err, engine.ErrUnreachable):
		return answerOf(metric.DiscoveryUnreachable, err)
	case err != nil:
		return answerOf(metric.DiscoveryUnknown, err)
	case identity.PagePath == "":
		return noPage(at, identity.Engine, errors.New("this engine has no page of metrics"))
	}
	page, err := at.With(identity.PagePath)
	if err != nil {
		return answerOf(metric.DiscoveryUnknown, err)
	}
	return d.askPage(ctx, page, identity.Engine)
}

// askPage reads a page that may be read, and decides which collectors can read it. An engine that still loads its model
// answers with status 503 and has its page later.
func (d *discovery) askPage(ctx context.Context, at *engine.Endpoint, name string) engineSocket {
	page, err := d.client.Page(ctx, at)
	answer := engineSocket{EngineSocket: EngineSocket{Result: metric.DiscoveryFound, Engine: name, Source: at.Source}}
	if answer.loading = name != "" && errors.Is(err, engine.StatusError(http.StatusServiceUnavailable)); answer.loading {
		answer.pages.Engines = []*engine.Endpoint{at}
		return answer
	}
	if err == nil {
		var reading spec.Translation
		if reading, err = d.client.Engines.Translate(page); err == nil {
			answer.Engine, answer.pages.Engines = reading.Engine, []*engine.Endpoint{at}
		}
		if (kvbmPage{page}).version() != "" {
			answer.pages.KVBM = []*engine.Endpoint{at}
		}
	}
	switch {
	case answer.pages.count() > 0:
		return answer
	case name == "":
		return answerOf(metric.DiscoveryUnknown, err)
	}
	return noPage(at, name, fmt.Errorf("%s: %w%s", at.URL.Path, err, d.howToServePage(name)))
}

// noPage is the answer of an engine without a page.
func noPage(at *engine.Endpoint, name string, reason error) engineSocket {
	answer := answerOf(metric.DiscoveryNoPage, reason)
	answer.Engine, answer.API = name, at.URL.Host
	return answer
}

// answerOf is the answer of a server of which no page is read.
func answerOf(result string, reason error) engineSocket {
	return engineSocket{EngineSocket: EngineSocket{Result: result, Reason: fmt.Sprintf("%.300s", reason.Error())}}
}

// howToServePage names the setting without which an engine has no page.
func (d *discovery) howToServePage(name string) string {
	if known, is := d.client.Engines.Find(name); is && known.Metrics.Enable != "" {
		return "; " + known.Metrics.Enable
	}
	return ""
}

// addressesGiven lists the loopback addresses of given pages that are on this machine.
func addressesGiven(proc hostfs.Dir, given Targets) []netip.AddrPort {
	var all []netip.AddrPort
	for _, at := range slices.Concat(given.Engines, given.KVBM) {
		port, err := strconv.ParseUint(at.URL.Port(), 10, 16)
		if err == nil && isThisMachine(proc, at.URL.Hostname()) {
			for _, loopback := range []netip.Addr{loopbackIPv4(), netip.IPv6Loopback()} {
				all = append(all, netip.AddrPortFrom(loopback, uint16(port)))
			}
		}
	}
	return all
}
