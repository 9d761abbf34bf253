package exporter

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/sim"
)

// simulatedSpark is the name of the golden files of a simulated host.
const simulatedSpark = "sim-gb10"

// machineNames are the hosts that have golden pages: those of package hosts and a simulated one.
func machineNames() []string { return append(hostNames(), simulatedSpark) }

// eachMachine runs the test on every host that has a golden page.
func eachMachine(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	eachHost(t, test)
	t.Run(simulatedSpark, func(t *testing.T) { test(t, simulatedSpark) })
}

// openMachine opens a host by name, with the options under which it shows all it has.
func openMachine(t testing.TB, name string) (collector.Host, collector.Options) {
	t.Helper()
	if name == simulatedSpark {
		return simulate(t).Collect(), hostOptions(name)
	}
	host, err := openHost(name)
	must(t, err)
	return host, hostOptions(name)
}

// What the engine of the simulated host holds at the moment of its golden page.
const (
	simulatedWeights = 60 << 30
	simulatedDevice  = 92 << 30
	simulatedPinned  = 2 << 30
	simulatedManaged = 512 << 20
	simulatedDesktop = 43 << 20 // Xorg's, of the machine at rest
)

// simulate tells a short story: a container with a limit of 32 GiB loads a model, its owner drops caches so that CUDA reports
// more, and it serves for twenty minutes with a cache on disk, its clock a little lowered for power.
func simulate(t testing.TB) *sim.Host {
	t.Helper()
	host, err := sim.New(sim.Config{Seed: 1, SwapBytes: 16 << 30, RailSensors: true})
	must(t, err)
	t.Cleanup(host.Close)
	must(t, host.AddFile("weights", simulatedWeights))
	const scope = "/system.slice/docker-00000000000100000000000000000000000000000000000000000000000000ab.scope"
	must(t, host.SetLimits(scope, sim.Limits{MaxBytes: 32 << 30}))
	engine, err := host.Start(sim.Program{
		Comm: "VLLM::EngineCor", Cgroup: scope, Threads: 84, MappedBytes: 1 << 30,
		OpenFiles: []sim.OpenFile{{Target: "/tmp/dynamo-kvbm-disk-cache-f00d (deleted)", Bytes: 24 << 30, Direct: true}},
	})
	must(t, err)
	loading := sim.Demand{AnonBytes: 4 << 30, DeviceBytes: 1 << 30, CPUs: 4, Read: sim.FileTransfer{File: "weights", BytesPerSecond: 3 << 30}}
	engine.Demand(loading)
	host.Advance(30 * time.Second)
	host.DropCaches()
	serving := loading
	serving.DeviceBytes, serving.PinnedBytes, serving.ManagedBytes, serving.ShmemBytes = simulatedDevice, simulatedPinned, simulatedManaged, 1<<30
	serving.BusyRatio, serving.CPUs = 0.96, 2.5
	serving.DirectReadBytesPerSecond, serving.DirectWriteBytesPerSecond = 1_300_000_000, 400_000_000
	engine.Demand(serving)
	host.Advance(20 * time.Minute)
	return host
}

func TestSimulatedLedgerMatchesTheDemandOfTheEngine(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("testdata", simulatedSpark+".prom"))
	must(t, err)
	for line, want := range map[string]float64{
		ledger.GPUProcess: simulatedDevice + simulatedPinned + simulatedDesktop,
		// The page tables of the GPU are 2 MiB a GiB, in whole pages.
		ledger.Managed:      simulatedManaged + simulatedDevice/512 + simulatedDesktop/512 + (4096-simulatedDesktop/512%4096)%4096,
		ledger.Unattributed: float64(simulate(t).Truth().UnattributedBytes),
	} {
		if got := seriesOf(t, page, `uma_memory_ledger_bytes{line="`+line+`"} `); got != want {
			t.Errorf("%s is %.0f bytes, want %.0f", line, got, want)
		}
	}
	if !bytes.Contains(page, []byte(`uma_exporter_mode{mode="simulated"} 1`)) {
		t.Error("the page does not say that it is simulated")
	}
}

// TestSimulatedHostGivesCollectorsNoTrouble: what it shows is there in the form of the kernel.
func TestSimulatedHostGivesCollectorsNoTrouble(t *testing.T) {
	scrape, err := openHostNamed(t, simulatedSpark).runner.Scrape(t.Context())
	must(t, err)
	absent := []string{"engine", "network"} // nobody has named an engine, no card is simulated
	for _, outcome := range scrape.Outcomes {
		want := collector.OK
		if slices.Contains(absent, outcome.Spec.Name) {
			want = collector.Absent
		}
		if outcome.State != want {
			t.Errorf("%s is %s: %v", outcome.Spec.Name, outcome.State, outcome.Reason())
		}
	}
}

func BenchmarkSimulatedPage(b *testing.B) {
	host := simulate(b).Collect()
	b.Cleanup(host.Close)
	e, err := New(host, Settings{Options: hostOptions(simulatedSpark), HideOwnMetrics: true})
	must(b, err)
	for b.Loop() {
		var page bytes.Buffer
		must(b, e.WritePage(b.Context(), &page))
	}
}
