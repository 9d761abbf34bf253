package collector

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// machineProcess is a process of a tree of /proc. Zero values are the usual.
type machineProcess struct {
	pid, parent, group uint32
	comm               string
	start              int // 1000 if 0
	uid                int
	namespace          string // the machine's own if ""
	sockets            []int
	arguments, environ string
}

// vllmServe are the arguments of vLLM's server at port 8000.
const vllmServe = "/usr/bin/python3\x00/usr/local/bin/vllm\x00serve\x00org/m\x00"

// listening is a listening socket of a namespace, in the form of the kernel.
type listening struct {
	namespace string
	address   string // as the kernel prints it
	uid       int
	inode     int
}

// machineProc is the procfs of the Spark with these processes and listeners. The exporter is process 99.
func machineProc(processes []machineProcess, listeners ...listening) fstest.MapFS {
	proc := sparkProc()
	delete(proc, "self/ns/pid")
	proc["self"] = link("99")
	proc["99/ns/pid"] = link("pid:[4026531836]")
	for _, p := range append(processes, machineProcess{pid: 99, comm: "uma-exporter", sockets: []int{99}}) {
		at := fmt.Sprint(p.pid)
		proc[at+"/stat"] = &fstest.MapFile{Data: fmt.Appendf(nil, "%d (%s) S %d %d 0 0 -1 4194560 0 0 0 0 1 1 0 0 20 0 1 0 %d%s\n",
			p.pid, p.comm, p.parent, p.group, cmp.Or(p.start, 1000), strings.Repeat(" 0", 35))}
		proc[at+"/comm"] = &fstest.MapFile{Data: []byte(p.comm + "\n")}
		proc[at+"/status"] = &fstest.MapFile{Data: fmt.Appendf(nil, "Name:\t%s\nUid:\t%d\t%d\t%d\t%d\n", p.comm, p.uid, p.uid, p.uid, p.uid)}
		proc[at+"/net"] = link("../ns-" + cmp.Or(p.namespace, "host"))
		proc[at+"/cmdline"] = &fstest.MapFile{Data: []byte(p.arguments)}
		proc[at+"/environ"] = &fstest.MapFile{Data: []byte(p.environ)}
		proc[at+"/fd/0"] = link("/dev/null")
		for i, inode := range p.sockets {
			proc[fmt.Sprintf("%s/fd/%d", at, i+3)] = link(fmt.Sprintf("socket:[%d]", inode))
		}
	}
	tables := map[string]string{}
	for i, l := range listeners {
		table := "ns-" + cmp.Or(l.namespace, "host") + "/tcp"
		if len(l.address) > len("0100007F:1F40") {
			table += "6"
		}
		tables[table] += fmt.Sprintf("%4d: %s 00000000:0000 0A 00000000:00000000 00:00000000 00000000 %5d        0 %d 1 0 100 0 0 10 0\n", i, l.address, l.uid, l.inode)
	}
	for _, namespace := range []string{"host", "pod", "other"} {
		for _, table := range []string{"/tcp", "/tcp6"} {
			name := "ns-" + namespace + table
			proc[name] = &fstest.MapFile{Data: []byte("  sl  local_address ...\n" + tables[name])}
		}
	}
	proc["ns-host/fib_trie"] = &fstest.MapFile{Data: []byte("|-- 127.0.0.1\n   /32 host LOCAL\n|-- 192.168.1.5\n   /32 host LOCAL\n")}
	proc["ns-pod/fib_trie"] = &fstest.MapFile{Data: []byte("|-- 127.0.0.1\n   /32 host LOCAL\n|-- 172.17.0.2\n   /32 host LOCAL\n")}
	return proc
}

// dockerProxy is the process that publishes a port of the container at 172.17.0.2.
func dockerProxy(machine, machinePort, containerPort string) machineProcess {
	return machineProcess{pid: 800, comm: hostfs.DockerProxyName, arguments: strings.Join([]string{"/usr/bin/docker-proxy", "-proto", "tcp",
		"-host-ip", machine, "-host-port", machinePort, "-container-ip", "172.17.0.2", "-container-port", containerPort, ""}, "\x00")}
}

func TestSocketsOfAnEngineAndTheWayToThem(t *testing.T) {
	holder := machineProcess{pid: 6330, parent: 6001, group: 6001, comm: "VLLM::EngineCor", sockets: []int{51}}
	server := machineProcess{pid: 6001, parent: 1, group: 6001, comm: "vllm", sockets: []int{50}, arguments: vllmServe}
	inPod := func(p machineProcess) machineProcess { p.namespace = "pod"; return p }
	const every4, every6 = "00000000:1F40", "00000000000000000000000000000000:1F40"
	for name, c := range map[string]struct {
		processes []machineProcess
		listeners []listening
		refused   []string // of whose descriptors the kernel gives none
		want      []string // ADDRESS PID: addresses that lead to it, or part of the reason
		hidden    bool
	}{
		"the parent listens, on every IPv4 address":        {[]machineProcess{holder, server}, []listening{{"", every4, 0, 50}}, nil, []string{"0.0.0.0:8000 6001: 127.0.0.1:8000"}, false},
		"on every address":                                 {[]machineProcess{holder, server}, []listening{{"", every6, 0, 50}}, nil, []string{"[::]:8000 6001: 127.0.0.1:8000 [::1]:8000"}, false},
		"on IPv6, and IPv4 is another's":                   {[]machineProcess{holder, server}, []listening{{"", every6, 0, 50}, {"", every4, 0, 77}}, nil, []string{"[::]:8000 6001: [::1]:8000"}, false},
		"everywhere, and another has the loopback address": {[]machineProcess{holder, server}, []listening{{"", every4, 0, 50}, {"", "0100007F:1F40", 0, 77}}, nil, []string{"0.0.0.0:8000 6001: no known server program accepts connections at its port too"}, false},
		"everywhere, and another too (SO_REUSEPORT)":       {[]machineProcess{holder, server}, []listening{{"", every4, 0, 50}, {"", every4, 0, 77}}, nil, []string{"0.0.0.0:8000 6001: no known server program accepts"}, false},
		"on loopback of IPv6":                              {[]machineProcess{holder, server}, []listening{{"", "00000000000000000000000001000000:1F40", 0, 50}}, nil, []string{"[::1]:8000 6001: [::1]:8000"}, false},
		"on loopback of IPv4 by a socket of IPv6":          {[]machineProcess{holder, server}, []listening{{"", "0000000000000000FFFF00000100007F:1F40", 0, 50}}, nil, []string{"127.0.0.1:8000 6001: 127.0.0.1:8000"}, false},
		"on another loopback address":                      {[]machineProcess{holder, server}, []listening{{"", "0500007F:1F40", 0, 50}}, nil, []string{"127.0.0.5:8000 6001: 127.0.0.5:8000"}, false},
		"on the address of a network only":                 {[]machineProcess{holder, server}, []listening{{"", "0501A8C0:1F40", 0, 50}}, nil, []string{"192.168.1.5:8000 6001: asks loopback addresses only"}, false},
		"on both kinds by two sockets, and elsewhere": {[]machineProcess{holder, {pid: 6001, parent: 1, group: 6001, sockets: []int{48, 49, 50}, arguments: vllmServe}}, []listening{{"", "0501A8C0:1F40", 0, 48}, {"", every4, 0, 49}, {"", every6, 0, 50}},
			nil, []string{"192.168.1.5:8000 6001: 127.0.0.1:8000 [::1]:8000"}, false},
		"two sockets, by port; a worker's own is not asked": {[]machineProcess{holder, server}, []listening{{"", "0100007F:A2C4", 0, 51}, {"", every4, 0, 50}}, nil,
			[]string{"0.0.0.0:8000 6001: 127.0.0.1:8000", "127.0.0.1:41668 6330: not a port of a known server program; if it is an engine: --engine.url http://127.0.0.1:41668"}, false},
		"another socket of the server is not asked": {[]machineProcess{holder, {pid: 6001, group: 6001, sockets: []int{50, 52}, arguments: vllmServe}}, []listening{{"", "00000000:1F41", 0, 52}, {"", every4, 0, 50}}, nil,
			[]string{"0.0.0.0:8000 6001: 127.0.0.1:8000", "0.0.0.0:8001 6001: not a port of a known"}, false},
		"the port of another program is not asked":       {[]machineProcess{holder, {pid: 6001, group: 6001, sockets: []int{50}, arguments: "redis-server\x00*:8000\x00"}}, []listening{{"", every4, 0, 50}}, nil, []string{"0.0.0.0:8000 6001: not a port of a known"}, false},
		"the default port is not asked beside a flag":    {[]machineProcess{holder, {pid: 6001, group: 6001, sockets: []int{50}, arguments: vllmServe + "--port\x009000\x00"}}, []listening{{"", every4, 0, 50}}, nil, []string{"0.0.0.0:8000 6001: not a port of a known"}, false},
		"shared by processes: the server has it":         {[]machineProcess{{pid: 6330, start: 500, group: 6001, sockets: []int{50}}, {pid: 7000, start: 1500, group: 6001, sockets: []int{50}, arguments: vllmServe}}, []listening{{"", every4, 0, 50}}, nil, []string{"0.0.0.0:8000 7000: 127.0.0.1:8000"}, false},
		"shared by servers: the oldest has it":           {[]machineProcess{{pid: 6330, start: 2000, group: 6001, sockets: []int{50}, arguments: vllmServe}, {pid: 7000, start: 1500, group: 6001, sockets: []int{50}, arguments: vllmServe}}, []listening{{"", every4, 0, 50}}, nil, []string{"0.0.0.0:8000 7000: 127.0.0.1:8000"}, false},
		"of a process that is no part of the engine":     {[]machineProcess{holder, server, {pid: 7000, group: 7000, sockets: []int{60}}}, []listening{{"", every4, 0, 60}}, nil, nil, false},
		"of the exporter itself, in the same group":      {[]machineProcess{{pid: 6330, group: 99}}, []listening{{"", every4, 0, 99}}, nil, nil, false},
		"the page of KVBM in a worker":                   {[]machineProcess{{pid: 6330, sockets: []int{51}, environ: "DYN_KVBM_CPU_CACHE_GB=2\x00"}}, []listening{{"", "00000000:1AE0", 0, 51}}, nil, []string{"0.0.0.0:6880 6330: 127.0.0.1:6880"}, false},
		"the same port without KVBM":                     {[]machineProcess{holder}, []listening{{"", "00000000:1AE0", 0, 51}}, nil, []string{"0.0.0.0:6880 6330: not a port of a known"}, false},
		"the environment is hidden: the default":         {[]machineProcess{holder, server}, []listening{{"", every4, 0, 50}}, []string{"6001/environ"}, []string{"0.0.0.0:8000 6001: 127.0.0.1:8000"}, false},
		"the arguments are hidden":                       {[]machineProcess{holder, server}, []listening{{"", every4, 0, 50}}, []string{"6001/cmdline"}, []string{"0.0.0.0:8000 6001: not a port of a known"}, false},
		"descriptors of the server hidden: not asked":    {[]machineProcess{holder, server}, []listening{{"", every4, 0, 50}}, []string{"6001/fd"}, []string{"0.0.0.0:8000 6001: may not see which process has it open (CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH); if it is an engine: --engine.url http://127.0.0.1:8000"}, true},
		"the same, and the port is another user's":       {[]machineProcess{holder, server}, []listening{{"", every4, 1000, 50}}, []string{"6001/fd"}, nil, true},
		"descriptors of a worker hidden: its sockets":    {[]machineProcess{holder}, []listening{{"", "0100007F:A2C4", 0, 51}}, []string{"6330/fd"}, nil, true},
		"hidden of the one, the other has it open":       {[]machineProcess{holder, server}, []listening{{"", every4, 0, 50}}, []string{"6330/fd"}, []string{"0.0.0.0:8000 6001: 127.0.0.1:8000"}, true},
		"a published port of a container's other socket": {[]machineProcess{inPod(holder), inPod(server), dockerProxy("0.0.0.0", "18000", "6379")}, []listening{{"pod", "00000000:18EB", 0, 51}}, nil, []string{"0.0.0.0:6379 6330: not a port of a known server program; if it is an engine: --engine.url http://127.0.0.1:18000"}, false},
		"a container without a published port":           {[]machineProcess{inPod(holder), inPod(server)}, []listening{{"pod", every4, 0, 50}}, nil, []string{"0.0.0.0:8000 6001: publishes no port"}, false},
		"a container with a published port":              {[]machineProcess{inPod(holder), inPod(server), dockerProxy("0.0.0.0", "18000", "8000")}, []listening{{"pod", every4, 0, 50}}, nil, []string{"0.0.0.0:8000 6001: 127.0.0.1:18000"}, false},
		"published on IPv6":                              {[]machineProcess{inPod(holder), inPod(server), dockerProxy("::", "18000", "8000")}, []listening{{"pod", every4, 0, 50}}, nil, []string{"0.0.0.0:8000 6001: 127.0.0.1:18000 [::1]:18000"}, false},
		"published on one address":                       {[]machineProcess{inPod(holder), inPod(server), dockerProxy("192.168.1.5", "18000", "8000")}, []listening{{"pod", every4, 0, 50}}, nil, []string{"0.0.0.0:8000 6001: listens on 192.168.1.5 only"}, false},
		"another port published":                         {[]machineProcess{inPod(holder), inPod(server), dockerProxy("0.0.0.0", "18000", "8001")}, []listening{{"pod", every4, 0, 50}}, nil, []string{"0.0.0.0:8000 6001: publishes no port"}, false},
		"published from a namespace that is not ours":    {[]machineProcess{inPod(holder), inPod(server), {pid: 800, comm: hostfs.DockerProxyName, namespace: "other", arguments: dockerProxy("0.0.0.0", "18000", "8000").arguments}}, []listening{{"pod", every4, 0, 50}}, nil, []string{"0.0.0.0:8000 6001: publishes no port"}, false},
		"on loopback inside a container":                 {[]machineProcess{inPod(holder), inPod(server), dockerProxy("0.0.0.0", "18000", "8000")}, []listening{{"pod", "0100007F:1F40", 0, 50}}, nil, []string{"127.0.0.1:8000 6001: on loopback inside its container"}, false},
		"a container of the machine's network":           {[]machineProcess{holder, server, dockerProxy("0.0.0.0", "18000", "8000")}, []listening{{"", every4, 0, 50}}, nil, []string{"0.0.0.0:8000 6001: 127.0.0.1:8000"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			proc := onDisk(t, machineProc(c.processes, c.listeners...))
			proc.Refuse = func(name string) error {
				if slices.Contains(c.refused, name) {
					return fs.ErrPermission
				}
				return nil
			}
			scan := scanSockets(supported.Engines(), proc, []GPUProcess{{PID: 6330}}, []uint32{6330})
			if scan.err != nil || scan.hidden != c.hidden || len(scan.sockets) != len(c.want) {
				t.Fatalf("%d sockets, hidden %v, %v", len(scan.sockets), scan.hidden, scan.err)
			}
			for i, socket := range scan.sockets {
				process, way, _ := strings.Cut(c.want[i], ": ")
				if got := fmt.Sprintf("%v %d", socket.Address, socket.PID); got != process {
					t.Errorf("socket %s, want %s", got, process)
				}
				got, asked := strings.Trim(fmt.Sprint(socket.reach), "[]"), socket.due(time.Now())
				if got != strings.Trim(way, "[]") && (asked || !strings.Contains(socket.Reason, way)) || asked != (socket.Result == metric.DiscoveryUnknown) {
					t.Errorf("%+v, want %s", socket, way)
				}
			}
		})
	}
}

// discoveryHost is the Spark whose engine listens at 0.0.0.0:8000, with the servers that answer on loopback.
func discoveryHost(t testing.TB, loopback http.RoundTripper) Host {
	host := spark(t)
	host.Proc = onDisk(t, machineProc([]machineProcess{
		{pid: 6330, parent: 6001, group: 6001, comm: "VLLM::EngineCor", sockets: []int{51}, environ: "DYN_KVBM_CPU_CACHE_GB=2\x00"},
		{pid: 6001, parent: 1, group: 6001, comm: "vllm", sockets: []int{50}, arguments: vllmServe},
	}, listening{"", "00000000:1F40", 0, 50}, listening{"", "00000000:1AE0", 0, 51}))
	host.Loopback, host.HTTP, host.Mode = loopback, loopback, Live
	return host
}

const vllmModels = `{"object":"list","data":[{"id":"org/m","owned_by":"vllm"}]}`

func vllmServer() engineServer {
	return engineServer{
		"127.0.0.1:8000/v1/models": vllmModels, "127.0.0.1:8000/metrics": vllmPage, "127.0.0.1:8000/version": `{"version":"0.12.0"}`,
		"127.0.0.1:6880/metrics": "kvbm_matched_tokens 117248\n",
	}
}

// TestAnEngineIsFoundByTheSocketOfItsProcess compares a page with one of the same machine whose pages are named.
func TestAnEngineIsFoundByTheSocketOfItsProcess(t *testing.T) {
	host := discoveryHost(t, vllmServer())
	read := func(options Options) map[string]float64 {
		return gather(t, mustScrape(t, NewRunner(host, options, []Spec{engineSpec(), kvbmSpec()}, RunnerSettings{}), t.Context()))
	}
	found := read(Options{Sources: SourceOptions{Known: supported.Engines()}})
	wantSeries(t, found, map[string]float64{
		`uma_engine_up{source="127.0.0.1:8000/metrics"}`: 1, `uma_kvbm_matched_tokens_total{source="127.0.0.1:6880/metrics"}`: 117248,
		`uma_engine_discovery_sockets{result="found"}`: 2, `uma_engine_discovery_sockets{result="unknown"}`: 0,
		`uma_collector_state{collector="engine",state="ok"}`: 1, `uma_collector_state{collector="kvbm",state="ok"}`: 1,
	})
	named := read(Options{Sources: SourceOptions{Known: supported.Engines(), NoDiscovery: true, Targets: Targets{
		Engines: endpoints(t, "http://127.0.0.1:8000/metrics"), KVBM: endpoints(t, "http://127.0.0.1:6880/metrics"),
	}}})
	maps.DeleteFunc(found, func(series string, _ float64) bool {
		return strings.Contains(series, "uma_engine_discovery") || strings.Contains(series, `{collector="engine",needs=`)
	})
	for series, value := range found {
		if !strings.Contains(series, "_seconds") && named[series] != value {
			t.Errorf("%s: %v found, %v named", series, value, named[series])
		}
	}
	if len(found) != len(named) {
		t.Errorf("%d series of found pages, %d of named ones", len(found), len(named))
	}
}

// asking counts the requests by address and path.
type asking struct {
	http.RoundTripper
	mu    chan struct{}
	asked map[string]int
}

func newAsking(inner http.RoundTripper) *asking {
	return &asking{inner, make(chan struct{}, 1), map[string]int{}}
}

func (a *asking) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu <- struct{}{}
	a.asked[r.Method+" "+r.URL.Host+r.URL.Path]++
	<-a.mu
	return a.RoundTripper.RoundTrip(r)
}

func TestAPageThatIsNamedIsReadOnceAndNotAskedWhoItIs(t *testing.T) {
	for _, name := range []string{"http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000", "http://192.168.1.5:8000", "http://spark-1:8000", "http://spark-1.local:8000"} {
		t.Run(name, func(t *testing.T) {
			host := discoveryHost(t, nil)
			if err := os.WriteFile(host.Proc.Path+"/sys/kernel/hostname", []byte("spark-1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			server := newAsking(vllmServer())
			host.Loopback = server
			series, _ := page(t, engineSpec(), host, Options{Sources: SourceOptions{Known: supported.Engines(), Targets: Targets{Engines: endpoints(t, name)}}})
			wantSeries(t, series, map[string]float64{`uma_engine_discovery_sockets{result="given"}`: 1, `uma_engine_discovery_sockets{result="found"}`: 1})
			for asked := range server.asked {
				if strings.Contains(asked, ":8000") {
					t.Errorf("discovery asked %s", asked)
				}
			}
		})
	}
	named, found := endpoints(t, "http://127.0.0.1:8000"), endpoints(t, "http://127.0.0.1:8000", "http://127.0.0.1:8001")
	if all := (Targets{Engines: named}).adding(Targets{Engines: found, KVBM: found}); len(all.Engines) != 2 || len(all.KVBM) != 2 || len(named) != 1 {
		t.Errorf("%+v", all)
	}
}

func TestPagesBeyondTheLimitOfSourcesAreDroppedAndCounted(t *testing.T) {
	var named []string
	for i := range MaxSources - 1 {
		named = append(named, fmt.Sprintf("http://elsewhere-%d", i))
	}
	series, _ := page(t, engineSpec(), discoveryHost(t, vllmServer()), Options{Sources: SourceOptions{Known: supported.Engines(), Targets: Targets{Engines: endpoints(t, named...)}}})
	wantSeries(t, series, map[string]float64{`uma_engine_discovery_sockets{result="dropped"}`: 1, `uma_engine_discovery_sockets{result="found"}`: 1})
}

// TestASocketIsAskedThreeTimesAMinuteApart follows a server that is no engine, and a process that takes its place.
func TestASocketIsAskedThreeTimesAMinuteApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAsking(engineServer{"127.0.0.1:8000/v1/models": "<html>"})
		host := discoveryHost(t, server)
		runner := NewRunner(host, Options{Sources: SourceOptions{Known: supported.Engines()}}, []Spec{engineSpec(), kvbmSpec()}, RunnerSettings{})
		const question = "GET 127.0.0.1:8000/v1/models"
		scrape := func() { mustScrape(t, runner, t.Context()); synctest.Wait() }
		for minute, want := range []int{1, 2, 3, 3, 3} {
			for range 4 {
				scrape()
				time.Sleep(15 * time.Second)
			}
			if got := server.asked[question]; got != want {
				t.Errorf("minute %d: asked %d times, want %d", minute, got, want)
			}
		}
		scrape = func() {
			t.Helper()
			outcome := mustScrape(t, runner, t.Context()).Outcomes[0]
			synctest.Wait()
			if sockets := outcome.Sample.EngineSockets(); len(sockets) != 2 || !strings.Contains(sockets[1].Reason, "asked 3 times") {
				t.Errorf("%+v", sockets)
			}
		}
		scrape()
		again := machineProc([]machineProcess{{pid: 6330, group: 6001, parent: 6001}, {pid: 6001, group: 6001, start: 9000, sockets: []int{60}, arguments: vllmServe}}, listening{"", "00000000:1F40", 0, 60})
		for _, name := range []string{"6001/stat", "ns-host/tcp"} {
			if err := os.WriteFile(host.Proc.Path+"/"+name, again[name].Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.Remove(host.Proc.Path+"/6001/fd/3"), os.Symlink("socket:[60]", host.Proc.Path+"/6001/fd/3")); err != nil {
			t.Fatal(err)
		}
		server.RoundTripper = vllmServer()
		time.Sleep(time.Minute)
		mustScrape(t, runner, t.Context())
		synctest.Wait()
		series := gather(t, mustScrape(t, runner, t.Context()))
		wantSeries(t, series, map[string]float64{`uma_engine_up{source="127.0.0.1:8000/metrics"}`: 1, `uma_engine_discovery_sockets{result="found"}`: 1})
		if got := server.asked[question]; got != 4 {
			t.Errorf("asked %d times in all", got)
		}
	})
}

// TestAnEngineIsSeenTenSecondsAfterItListens starts an engine after the exporter, as at every boot. Other sockets of its
// process are asked no more often for that.
func TestAnEngineIsSeenTenSecondsAfterItListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAsking(vllmServer())
		host := discoveryHost(t, server)
		listening, err := os.ReadFile(host.Proc.Path + "/ns-host/tcp")
		if err != nil {
			t.Fatal(err)
		}
		write := func(sockets []byte) {
			if err := os.WriteFile(host.Proc.Path+"/ns-host/tcp", sockets, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(nil)
		runner := NewRunner(host, Options{Sources: SourceOptions{Known: supported.Engines()}}, []Spec{engineSpec()}, RunnerSettings{})
		wantSeries(t, gather(t, mustScrape(t, runner, t.Context())), map[string]float64{`uma_engine_discovery_sockets{result="found"}`: 0})
		write(listening)
		time.Sleep(10 * time.Second)
		for range 2 { // the first starts the look
			series := gather(t, mustScrape(t, runner, t.Context()))
			synctest.Wait()
			if _, there := series[`uma_engine_up{source="127.0.0.1:8000/metrics"}`]; there {
				return
			}
		}
		t.Errorf("asked %v", server.asked)
	})
}

// TestAnEngineThatStopsIsForgotten ends the process of an engine.
func TestAnEngineThatStopsIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := discoveryHost(t, vllmServer())
		runner := NewRunner(host, Options{Sources: SourceOptions{Known: supported.Engines()}}, []Spec{engineSpec()}, RunnerSettings{})
		wantSeries(t, gather(t, mustScrape(t, runner, t.Context())), map[string]float64{`uma_engine_up{source="127.0.0.1:8000/metrics"}`: 1})
		if err := os.RemoveAll(host.Proc.Path + "/6001"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		mustScrape(t, runner, t.Context())
		synctest.Wait()
		series := gather(t, mustScrape(t, runner, t.Context()))
		wantAbsent(t, series, "uma_engine_up", "uma_engine_info")
		wantSeries(t, series, map[string]float64{`uma_engine_discovery_sockets{result="found"}`: 1}) // the page of KVBM, in the worker
	})
}

// TestAPortThatAnotherProgramTakesOverIsNotRead ends an engine, and gives its port to a listener of its own before discovery
// has looked again.
func TestAPortThatAnotherProgramTakesOverIsNotRead(t *testing.T) {
	for name, ends := range map[string]func(proc string) error{
		"its process has ended":    func(proc string) error { return os.RemoveAll(proc + "/6001") },
		"it has closed the socket": func(proc string) error { return os.Remove(proc + "/6001/fd/3") },
		"it is another process": func(proc string) error {
			again := machineProc([]machineProcess{{pid: 6001, start: 9000}})["6001/stat"].Data
			return os.WriteFile(proc+"/6001/stat", again, 0o600)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := newAsking(vllmServer())
			host := discoveryHost(t, server)
			host.HTTP = server
			runner := NewRunner(host, Options{Sources: SourceOptions{Known: supported.Engines()}}, []Spec{engineSpec()}, RunnerSettings{})
			wantSeries(t, gather(t, mustScrape(t, runner, t.Context())), map[string]float64{`uma_engine_up{source="127.0.0.1:8000/metrics"}`: 1})
			before := server.asked["GET 127.0.0.1:8000/metrics"]
			if err := ends(host.Proc.Path); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second) // discovery does not look yet
			series := gather(t, mustScrape(t, runner, t.Context()))
			wantAbsent(t, series, `uma_engine_up{source="127.0.0.1:8000/metrics"}`)
			if after := server.asked["GET 127.0.0.1:8000/metrics"]; after != before {
				t.Errorf("%s: asked %d times more", name, after-before)
			}
		})
	}
}

// TestSocketsThatNeverAnswerHoldUpTheFirstPageOnly lets every listener hang.
func TestSocketsThatNeverAnswerHoldUpTheFirstPageOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := discoveryHost(t, nil)
		hanging := new(atomic.Int32)
		host.Loopback = answered(func(r *http.Request) (*http.Response, error) {
			hanging.Add(1)
			defer hanging.Add(-1)
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		runner := NewRunner(host, Options{Sources: SourceOptions{Known: supported.Engines()}}, []Spec{engineSpec(), kvbmSpec(), memorySpec()}, RunnerSettings{Timeout: 8 * time.Second})
		for scrape, want := range []time.Duration{(8*time.Second - 250*time.Millisecond) / 4, 0, 0} {
			began := time.Now()
			series := gather(t, mustScrape(t, runner, t.Context()))
			if took := time.Since(began); took != want {
				t.Errorf("page %d took %v, want %v", scrape, took, want)
			}
			wantSeries(t, series, map[string]float64{`uma_engine_discovery_sockets{result="unknown"}`: 2, `uma_collector_state{collector="memory",state="ok"}`: 1})
		}
		time.Sleep(time.Minute)
		if hanging.Load() != 0 {
			t.Errorf("%d questions hang for ever", hanging.Load())
		}
	})
}

// TestNothingIsLookedForElsewhere holds that only the running machine is asked.
func TestNothingIsLookedForElsewhere(t *testing.T) {
	server := newAsking(vllmServer())
	for name, change := range map[string]func(*Host, *Options){
		"off":                  func(_ *Host, o *Options) { o.Sources.NoDiscovery = true },
		"a recording":          func(h *Host, _ *Options) { h.Loopback = nil },
		"GPUs of another host": func(h *Host, _ *Options) { h.ForeignGPU = true },
	} {
		host, options := discoveryHost(t, server), Options{Sources: SourceOptions{Known: supported.Engines()}}
		change(&host, &options)
		series, outcome := page(t, engineSpec(), host, options)
		wantAbsent(t, series, "uma_engine_up", "uma_engine_discovery", `uma_collector_privilege{collector="engine"`)
		if outcome.State != Absent || outcome.Sample.EngineSockets() != nil || len(server.asked) > 0 {
			t.Errorf("%s: %s, asked %v", name, outcome.State, server.asked)
		}
	}
}

// answered answers requests by a function.
type answered func(*http.Request) (*http.Response, error)

func (a answered) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// oneSocket is the discovery of a machine with one socket at this loopback address.
func oneSocket(loopback http.RoundTripper, address string) (*discovery, *engineSocket) {
	at := netip.MustParseAddrPort(address)
	d := &discovery{host: Host{Now: time.Now}, client: engine.Client{HTTP: loopback, Engines: supported.Engines()}}
	return d, &engineSocket{known: true, reach: []netip.AddrPort{at}, EngineSocket: EngineSocket{Address: at}}
}

func TestWhatAnEngineAnswersDecidesWhatIsRead(t *testing.T) {
	const at = "127.0.0.1:8000"
	for name, c := range map[string]struct {
		server engineServer
		want   EngineSocket
	}{
		"vLLM":         {vllmServer(), EngineSocket{Result: "found", Engine: "vllm", Source: at + "/metrics"}},
		"TensorRT-LLM": {engineServer{at + "/v1/models": `{"data":[{"owned_by":"tensorrt_llm"}]}`, at + "/prometheus/metrics": "trtllm_num_requests_running 1\n"}, EngineSocket{Result: "found", Engine: "trtllm", Source: at + "/prometheus/metrics"}},
		"TensorRT-LLM without a page": {engineServer{at + "/v1/models": `{"data":[{"owned_by":"tensorrt_llm"}]}`}, EngineSocket{Result: "no_page", Engine: "trtllm", API: "127.0.0.1:8000",
			Reason: "/prometheus/metrics: answered with status 404; set return_perf_metrics"}},
		"a page of KVBM":             {engineServer{at + "/metrics": "kvbm_matched_tokens 1\n"}, EngineSocket{Result: "found", Source: at + "/metrics"}},
		"an engine and KVBM at once": {engineServer{at + "/v1/models": vllmModels, at + "/metrics": vllmPage + "kvbm_matched_tokens 1\n"}, EngineSocket{Result: "found", Engine: "vllm", Source: at + "/metrics"}},
		"a page of another program":  {engineServer{at + "/metrics": "node_load1 0.5\numa_engine_up 1\n"}, EngineSocket{Result: "unknown", Reason: "not the page of a known engine"}},
		"Ollama":                     {engineServer{at + "/v1/models": `{"data":[{"owned_by":"library"}]}`}, EngineSocket{Result: "no_page", Engine: "ollama", API: "127.0.0.1:8000", Reason: "this engine has no page of metrics"}},
		"a simulated engine":         {engineServer{at + "/v1/models": `{"data":[{"owned_by":"vllm-simulated"}]}`, at + "/metrics": vllmPage}, EngineSocket{Result: "unknown", Reason: "not the page of a known engine: it is a simulated one"}},
		"nobody":                     {engineServer{}, EngineSocket{Result: "unreachable", Reason: "unreachable: dial tcp: connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, socket := oneSocket(c.server, at)
			d.ask(socket)
			c.want.Address = socket.Address
			if socket.EngineSocket != c.want {
				t.Errorf("got  %+v\nwant %+v", socket.EngineSocket, c.want)
			}
			if found := len(socket.pages.Engines)+len(socket.pages.KVBM) > 0; found != (c.want.Result == metric.DiscoveryFound) {
				t.Errorf("pages %+v", socket.pages)
			}
		})
	}
}

// TestAnEngineThatLoadsItsModelIsFound answers as llama.cpp does while it loads, and then as it does with its page and
// without.
func TestAnEngineThatLoadsItsModelIsFound(t *testing.T) {
	const up, found = `uma_engine_up{source="127.0.0.1:8000/metrics"}`, `uma_engine_discovery_sockets{result="found"}`
	for name, c := range map[string]struct {
		status int
		then   map[string]float64
	}{
		"with its page":       {http.StatusOK, map[string]float64{up: 1, found: 1}},
		"without":             {http.StatusNotImplemented, map[string]float64{found: 0, `uma_engine_discovery_sockets{result="no_page"}`: 1}},
		"loading for minutes": {http.StatusServiceUnavailable, map[string]float64{up: 0, found: 1}},
		"in trouble":          {http.StatusInternalServerError, map[string]float64{found: 0, `uma_engine_discovery_sockets{result="no_page"}`: 1}},
		"too busy to answer":  {0, map[string]float64{up: 0, found: 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			status := http.StatusServiceUnavailable
			llama := newAsking(answered(func(r *http.Request) (*http.Response, error) {
				if r.URL.Port() != "8000" || status == 0 {
					return engineServer{}.RoundTrip(r)
				}
				return &http.Response{StatusCode: status, Header: http.Header{"Server": {"llama.cpp"}}, Body: io.NopCloser(strings.NewReader("llamacpp:requests_processing 1\n")), Request: r}, nil
			}))
			host := discoveryHost(t, llama)
			host.HTTP = llama.RoundTripper
			runner := NewRunner(host, Options{Sources: SourceOptions{Known: supported.Engines()}}, []Spec{engineSpec()}, RunnerSettings{})
			wantSeries(t, gather(t, mustScrape(t, runner, t.Context())), map[string]float64{up: 0, found: 1})
			status = c.status
			for range 5 {
				time.Sleep(time.Minute)
				mustScrape(t, runner, t.Context())
				synctest.Wait()
			}
			series := gather(t, mustScrape(t, runner, t.Context()))
			wantSeries(t, series, c.then)
			if _, there := series[up]; there != (c.then[found] == 1) {
				t.Errorf("%s: %s is there: %v", name, up, there)
			}
			if asked := llama.asked["GET 127.0.0.1:8000/v1/models"]; asked > discoveryTries {
				t.Errorf("%s: asked %d times", name, asked)
			}
		})
	}
}

// TestADriverThatFailsLosesNoEngine lists no processes in a later look, as while the driver hangs.
func TestADriverThatFailsLosesNoEngine(t *testing.T) {
	d := newDiscovery(discoveryHost(t, vllmServer()), SourceOptions{Known: supported.Engines()})
	lists := func(err error, pids ...uint32) processLister {
		return func() (holders []GPUProcess, all []uint32, _ error) {
			for _, pid := range pids {
				holders = append(holders, GPUProcess{PID: pid})
			}
			return holders, pids, err
		}
	}
	for step, c := range []struct {
		list processLister
		want int
	}{
		{lists(nil, 6330), 2}, {lists(errors.New("the driver hangs")), 2}, {lists(errors.New("one of two devices fails"), 99), 2}, {lists(nil), 0},
	} {
		d.look(Targets{}, c.list)
		found := d.now()
		if len(found.sockets) != c.want || len(found.targets.Engines) != c.want/2 {
			t.Errorf("step %d: %+v", step, found)
		}
	}
}

func TestASecondAddressIsAskedWhereTheFirstRefuses(t *testing.T) {
	d, socket := oneSocket(engineServer{"[::1]:8000/v1/models": vllmModels, "[::1]:8000/metrics": vllmPage}, "127.0.0.1:8000")
	socket.reach = append(socket.reach, netip.MustParseAddrPort("[::1]:8000"))
	d.ask(socket)
	if socket.Source != "[::1]:8000/metrics" {
		t.Errorf("%+v", socket)
	}
}

// TestOnlyEnginesWithoutAPageAreNamedByDiscovery: of the others, the collector reads the page or it is given.
func TestOnlyEnginesWithoutAPageAreNamedByDiscovery(t *testing.T) {
	for _, result := range metric.DiscoveryResults() {
		batch := newBatch(newFamilies(engineMetrics()))
		found := discovered{on: true, sockets: []EngineSocket{{Result: result, Engine: "trtllm", API: "127.0.0.1:8000"}}}
		found.emit(batch)
		families, err := batch.close()
		if err != nil {
			t.Fatal(err)
		}
		named := slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == metric.EngineInfo.Def().Name })
		if named != (result == metric.DiscoveryNoPage) {
			t.Errorf("%s: named %v", result, named)
		}
	}
}

func TestAnEngineOfAnotherUserIsNotAskedAndTheReasonIsNamed(t *testing.T) {
	server := newAsking(vllmServer())
	host := discoveryHost(t, server)
	host.Proc.Refuse = func(name string) error {
		if strings.HasSuffix(name, "/fd") {
			return fs.ErrPermission
		}
		return nil
	}
	_, outcome := page(t, engineSpec(), host, Options{Sources: SourceOptions{Known: supported.Engines()}})
	if outcome.State != Absent || !strings.Contains(outcome.Err.Error(), "those of others are hidden (uma-exporter doctor)") || len(server.asked) > 0 {
		t.Errorf("%s: %v, asked %v", outcome.State, outcome.Err, server.asked)
	}
}
