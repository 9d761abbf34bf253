package exporter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
)

func TestAReasonIsShownOnce(t *testing.T) {
	host := integratedHost(t, "x")
	host.Cgroup = onDisk(t, nil)
	text := explained(t, host)
	if count := strings.Count(text, "cgroup.controllers"); count != 1 {
		t.Errorf("the missing cgroup v2 is named %d times:\n%s", count, text)
	}
	if count := strings.Count(text, "boot with cgroup v2"); count != 1 {
		t.Errorf("its fix is named %d times:\n%s", count, text)
	}
	wantIn(t, text, "Collector cgroup is absent", "ine other kernel-charged is not known, its bytes are in unattributed")
}

func TestGapsKeepTheirMendWhenTheyAreMerged(t *testing.T) {
	var g gaps
	g.add(gap{what: "Collector cgroup is absent", why: "no tree"})
	g.add(gap{what: "Collector memory lacks host_cgroups: a line", fix: "mount it.", need: "host_cgroups"})
	g.add(gap{what: "Collector nvme lacks nvme_admin: wear", fix: "give it", need: "nvme_admin"})
	g.addLine("other kernel-charged", "unattributed", fmt.Errorf("%w: here", hostfs.ErrNotHostCgroups))
	g.addLine("percpu", "unattributed", errors.New("no tree"))
	want := []string{
		"Collector cgroup is absent; line percpu is not known, its bytes are in unattributed: no tree.",
		"Collector nvme lacks nvme_admin: wear. Fix: give it.",
		"Line other kernel-charged is not known, its bytes are in unattributed: not the host's cgroup v2 tree: here. Fix: mount it.",
	}
	got := g.sentences()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestExplainOfACoherentMachine(t *testing.T) {
	text := explained(t, openRecorded(t, "gh200"))
	wantIn(t, text,
		"memory coherent_numa: its own, which the pool contains as a NUMA node (by the driver's source; not measured yet)",
		"  GPU-held                 78.98    13.8%",
		"     478.59    267.33  0\n", "      95.00     11.46  1\n", // nodes
		"GPU-held memory is of the pool",
		"CUDA reports the memory of the device, GPU 0: 11.46 of 95.00 GiB free", // 97280 MiB, what the node holds
	)
	wantNotIn(t, text, "  2\n", "the device's own\n", "counted twice", "(MemFree)")
}

func TestExplainShowsWhyGPUMemoryOfACoherentMachineIsNotInTheLedger(t *testing.T) {
	host := openRecorded(t, "gh200")
	host.Sys = onDisk(t, nil)
	text := explained(t, host)
	wantIn(t, text, "GPU-held               unknown", "Line GPU-held is not known, its bytes are in unattributed: GPU 0: the kernel shows no NUMA nodes")
}

// TestADriverThatChargesNodeMemoryIsNoticed imitates drivers after 595, which can charge what processes hold to their
// cgroups.
func TestADriverThatChargesNodeMemoryIsNoticed(t *testing.T) {
	host := openRecorded(t, "gh200")
	edit(t, host.Cgroup, "system.slice/memory.stat", func(stat []byte) []byte {
		for range 79 { // GiB
			stat = growStat(stat, "kernel")
		}
		return stat
	})
	text := explained(t, host)
	wantIn(t, text, "Unattributed is negative: something is counted twice", "it is in gpu_process and in managed.")
}

func TestExplainShowsWhosePageCacheItIs(t *testing.T) {
	host := integratedHost(t, "x")
	host.CacheResident = func(_ context.Context, path string) (uint64, error) {
		switch path {
		case "/models/a":
			return 3 << 29, nil
		case "/models/" + hostile:
			return 0, fmt.Errorf("%s: %w", path, fs.ErrPermission)
		}
		return 0, fmt.Errorf("open %s: %w", path, fs.ErrNotExist)
	}
	e := exporterOf(t, host, Settings{Options: collector.Options{CachePaths: []string{"/models/a", "/models/" + hostile, "/gone"}}})
	var out strings.Builder
	must(t, e.Explain(t.Context(), &out))
	text := out.String()
	wantIn(t, text,
		"Page cache by path\n", "       1.50  /models/a\n", "    unknown  /gone\n",
		"How much of /gone is in the page cache: open /gone: file does not exist.",
		"Collector memory lacks page_cache_owner", "CAP_FOWNER",
	)
	if strings.ContainsRune(text, '\x1b') {
		t.Errorf("a terminal would obey this:\n%q", text)
	}
}
