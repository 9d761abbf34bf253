package collector

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/umascope/umascope/exporter/engine"
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

// serveAsEngine listens at any port, prints it, and serves as vLLM until its input ends.
func serveAsEngine() {
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
}

// TestARealProcessIsFoundOverTheKernelAndLoopback takes all from the running kernel but the driver's list of processes.
func TestARealProcessIsFoundOverTheKernelAndLoopback(t *testing.T) {
	child := exec.CommandContext(t.Context(), os.Args[0])
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
	port, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	held := nvml.Value{Processes: []nvml.Process{{PID: uint32(child.Process.Pid), UsedBytes: new(uint64(1 << 30))}}}
	host := sparkWith(t, gb10().with(nvml.CallComputeProcesses, held, nvml.Success).with(nvml.CallGraphicsProcesses, nvml.Value{}, nvml.Success))
	host.Proc, host.HTTP, host.Loopback, host.Mode = hostfs.Dir{Path: "/proc"}, engine.Transport(nil), engine.LoopbackTransport(), Live
	series, outcome := page(t, engineSpec(), host, Options{})
	source := "127.0.0.1:" + strings.TrimSpace(port) + "/metrics"
	wantSeries(t, series, map[string]float64{fmt.Sprintf("uma_engine_up{source=%q}", source): 1, `uma_engine_discovery_sockets{result="found"}`: 1})
	sockets := outcome.Sample.EngineSockets()
	if len(sockets) != 1 || sockets[0].PID != uint32(child.Process.Pid) || sockets[0].Engine != "vllm" || sockets[0].Source != source {
		t.Errorf("%+v", sockets)
	}
}
