package collector

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
)

// engineProcessVariable makes this test program an engine of its own process.
const engineProcessVariable = "UMASCOPE_TEST_ENGINE"

func TestMain(m *testing.M) {
	if os.Getenv(engineProcessVariable) != "" {
		serveAsEngine()
		return
	}
	os.Exit(m.Run())
}

// serveAsEngine serves as vLLM at the listener of descriptor 3, and prints how many connections that of descriptor 4 got,
// which is no server's, when its input ends.
func serveAsEngine() {
	engineListener, err := net.FileListener(os.NewFile(3, "engine"))
	if err != nil {
		panic(err)
	}
	internal, err := net.FileListener(os.NewFile(4, "internal"))
	if err != nil {
		panic(err)
	}
	var accepted atomic.Int32
	go func() {
		for {
			connection, err := internal.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			connection.Close()
		}
	}()
	go http.Serve(engineListener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, vllmModels)
		case "/metrics":
			io.WriteString(w, vllmPage)
		default:
			http.NotFound(w, r)
		}
	}))
	io.Copy(io.Discard, os.Stdin)
	fmt.Println(accepted.Load())
}

// listenerFile listens at any port, and returns the socket for a child process.
func listenerFile(t *testing.T) (*os.File, int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	return file, listener.Addr().(*net.TCPAddr).Port
}

// TestARealProcessIsFoundOverTheKernelAndLoopback takes all from the running kernel but the driver's list of processes. The
// process has a second listener, at a port that it does not name.
func TestARealProcessIsFoundOverTheKernelAndLoopback(t *testing.T) {
	served, port := listenerFile(t)
	internal, internalPort := listenerFile(t)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Args = []string{"/opt/llama.cpp/llama-server", "--port", strconv.Itoa(port)}
	child.ExtraFiles = []*os.File{served, internal}
	child.Env = append(os.Environ(), engineProcessVariable+"=1", "HTTP_PROXY=http://192.0.2.1:1")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // in the group of this program there are other tests
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer input.Close()
	served.Close()
	internal.Close()
	held := nvml.Value{Processes: []nvml.Process{{PID: uint32(child.Process.Pid), UsedBytes: new(uint64(1 << 30))}}}
	host := sparkWith(t, gb10().with(nvml.CallComputeProcesses, held, nvml.Success).with(nvml.CallGraphicsProcesses, nvml.Value{}, nvml.Success))
	host.Proc, host.HTTP, host.Loopback, host.Mode = hostfs.Dir{Path: "/proc"}, engine.Transport(nil), engine.LoopbackTransport(), Live
	series, outcome := page(t, engineSpec(), host, Options{Sources: SourceOptions{Known: supported.Engines()}})
	source := fmt.Sprintf("127.0.0.1:%d/metrics", port)
	wantSeries(t, series, map[string]float64{fmt.Sprintf("uma_engine_up{source=%q}", source): 1,
		`uma_engine_discovery_sockets{result="found"}`: 1, `uma_engine_discovery_sockets{result="not_asked"}`: 1})
	for _, one := range outcome.Sample.EngineSockets() {
		found := one.PID == uint32(child.Process.Pid) && one.Engine == "vllm" && one.Source == source
		if isEngine := int(one.Address.Port()) == port; found != isEngine || !isEngine && int(one.Address.Port()) != internalPort {
			t.Errorf("%+v", one)
		}
	}
	input.Close()
	if accepted, err := bufio.NewReader(output).ReadString('\n'); err != nil || accepted != "0\n" {
		t.Errorf("the listener that is no server's got %q connections, %v", accepted, err)
	}
}
