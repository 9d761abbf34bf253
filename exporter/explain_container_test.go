package exporter

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/collector"
)

// recordedContainers is what Docker 20.10.24 (API 1.41) answered to GET /containers/json with three containers; vllmID
// is the id of the one named vllm.
const (
	recordedContainers = "testdata/docker/containers-20.10.24.json"
	vllmID             = "2c7d4579b810a0e293e724d3bbe4480759f234f08fe3128b600af7a8927a0e39"
)

// dockerAt serves an answer as Docker does, and makes it the user's.
func dockerAt(t *testing.T, answer http.HandlerFunc) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", socket)
	must(t, err)
	server := &http.Server{Handler: answer}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Close()
		<-ended
	})
	t.Setenv("DOCKER_HOST", "unix://"+socket)
}

// inContainer is the small machine, live, with its process in a container of Docker.
func inContainer(t *testing.T, id string) collector.Host {
	t.Helper()
	host := integratedHost(t, "VLLM::EngineCor")
	host.Mode = collector.Live
	edit(t, host.Proc, "7/cgroup", func([]byte) []byte { return []byte("0::/system.slice/docker-" + id + ".scope\n") })
	return host
}

// explainedBy is what explain prints of a running exporter of the host.
func explainedBy(t *testing.T, host collector.Host, args ...string) string {
	t.Helper()
	return runHere(t, append([]string{"explain", "--url=" + servedAt(t, exporterOf(t, host, Settings{}).Handler())}, args...)...)
}

func TestAContainerIsShownByItsNameInDocker(t *testing.T) {
	dockerAt(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/containers/json" {
			t.Errorf("asked %s %s", r.Method, r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(readText(t, recordedContainers)))
	})
	wantIn(t, explainedBy(t, inContainer(t, vllmID)),
		"      40.00    0         7  VLLM::EngineCor  container vllm (2c7d4579b810)\n",
		"    unknown     40.00  container vllm (2c7d4579b810)\n")
	wantIn(t, explainedBy(t, inContainer(t, vllmID), "--json"),
		`"container": "vllm"`, `"cgroup": "/system.slice/docker-`+vllmID+`.scope"`)
	wantIn(t, explainedBy(t, inContainer(t, strings.Repeat("0", 64))), "  VLLM::EngineCor  /system.slice/docker-0000")
}

// TestNoDockerIsNoError: there is none, the user may not ask it, it is on another machine, or it answers nonsense.
func TestNoDockerIsNoError(t *testing.T) {
	check := func(t *testing.T) {
		t.Helper()
		wantIn(t, explainedBy(t, inContainer(t, vllmID)), "  VLLM::EngineCor  /system.slice/docker-"+vllmID+".scope\n", "; CUDA reports 20.0 GiB free; up to 48.0 GiB ")
	}
	for name, address := range map[string]string{"no socket": "unix://" + filepath.Join(t.TempDir(), "none.sock"), "another machine": "tcp://127.0.0.1:1", "nonsense": "unix://x"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", address)
			check(t)
		})
	}
	for name, answer := range map[string]http.HandlerFunc{
		"not allowed": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"no list":     func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"Id":`)) },
	} {
		t.Run(name, func(t *testing.T) {
			dockerAt(t, answer)
			check(t)
		})
	}
}

func TestARecordingIsNotComparedWithTheContainersOfThisMachine(t *testing.T) {
	dockerAt(t, func(http.ResponseWriter, *http.Request) { t.Error("Docker is asked about a recording") })
	runHere(t, "explain", "--replay=hosts/docker-systemd.txtar")
}
