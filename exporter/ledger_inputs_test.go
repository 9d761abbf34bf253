package exporter

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/nvml"
)

const gibibyte = 1 << 30

// The tests of this file do with the other inputs of the ledger what TestOneFieldMovesItsLineAndTheRestOnly
// does with meminfo: one of them grows by 1 GiB, and only its line and the remainder may move.

// wantMoves compares two ledgers; a line that is not named must stay where it is.
func wantMoves(t *testing.T, what string, before, after map[string]float64, want map[string]float64) {
	t.Helper()
	for line := range before {
		if moved := (after[line] - before[line]) / gibibyte; moved != want[line] {
			t.Errorf("%s + 1 GiB moves %s by %v GiB, want %v", what, line, moved, want[line])
		}
	}
	if len(after) != len(before) {
		t.Errorf("%s + 1 GiB makes %d lines of %d", what, len(after), len(before))
	}
}

// ledgerWith is the ledger of a host of which something has been changed, in bytes by line.
func ledgerWith(t *testing.T, name string, change func(*collector.Host)) map[string]float64 {
	t.Helper()
	host := openRecorded(t, name)
	change(&host)
	return ledgerOfHost(t, host)
}

// TestKernelMemoryOfACgroupMovesManagedOnly goes through every top-level cgroup and every field that managed
// is worked out from.
func TestKernelMemoryOfACgroupMovesManagedOnly(t *testing.T) {
	moved := 0
	eachHost(t, func(t *testing.T, name string) {
		host := openRecorded(t, name)
		before := settledLedger(t, host)
		for _, cgroup := range topCgroups(host) {
			for field, direction := range map[string]float64{
				"kernel": 1, "slab": -1, "kernel_stack": -1, "pagetables": -1, "sec_pagetables": -1, "percpu": -1, "vmalloc": -1, "zswap": -1,
				"anon": 0, "file": 0, "shmem": 0, "sock": 0, // which meminfo counts
			} {
				grown := false
				after := ledgerEdited(t, host, host.Cgroup, cgroup[1:]+"/memory.stat", func(stat []byte) []byte {
					larger := growStat(stat, field)
					grown = !bytes.Equal(larger, stat)
					return larger
				})
				want := map[string]float64{}
				if _, known := before[ledger.Managed]; grown && known && direction != 0 {
					want = map[string]float64{ledger.Managed: direction, ledger.Unattributed: -direction}
					moved++
				}
				wantMoves(t, cgroup+" "+field, before, after, want)
			}
		}
	})
	if moved == 0 {
		t.Error("managed has moved on no host")
	}
}

func topCgroups(host collector.Host) []string {
	tops, err := hostfs.ReadTopMemoryStats(host.Cgroup)
	if err != nil {
		return nil // cgroup v1
	}
	return slices.Sorted(maps.Keys(tops))
}

// growStat adds 1 GiB to a field of a memory.stat that has it.
func growStat(stat []byte, field string) []byte {
	row := regexp.MustCompile(`(?m)^` + field + ` (\d+)$`)
	return row.ReplaceAllFunc(stat, func(line []byte) []byte {
		value, _ := strconv.ParseInt(string(row.FindSubmatch(line)[1]), 10, 64)
		return []byte(field + " " + strconv.FormatInt(value+gibibyte, 10))
	})
}

// TestWhatAProcessHoldsMovesItsLineOnlyWhereThatIsMemoryOfThePool lets the first process of every list hold
// more.
func TestWhatAProcessHoldsMovesItsLineOnlyWhereThatIsMemoryOfThePool(t *testing.T) {
	in, outside := 0, 0
	eachHost(t, func(t *testing.T, name string) {
		archive, err := readHost(name)
		must(t, err)
		driver, err := archive.Driver()
		must(t, err)
		before := ledgerWith(t, name, func(*collector.Host) {})
		var grew atomic.Bool // devices are read side by side
		after := ledgerWith(t, name, func(host *collector.Host) {
			host.GPU.Close()
			host.GPU = nvml.NewReader(heldMore{driver, &grew}, nvml.ReaderOptions{})
			t.Cleanup(host.GPU.Close)
		})
		want := map[string]float64{}
		_, inPool := before[ledger.GPUProcess]
		switch {
		case !grew.Load():
		case inPool:
			want = map[string]float64{ledger.GPUProcess: 1, ledger.Unattributed: -1}
			in++
		default:
			outside++
		}
		wantMoves(t, "what a process holds", before, after, want)
	})
	if in < 2 || outside < 1 {
		t.Errorf("memory in the pool on %d hosts, beside it on %d", in, outside)
	}
}

// heldMore is a driver whose compute lists begin with a process that holds 1 GiB more.
type heldMore struct {
	nvml.Driver
	grew *atomic.Bool
}

func (h heldMore) Do(device int, call nvml.Call) (nvml.Value, nvml.Return) {
	value, code := h.Driver.Do(device, call)
	if call == nvml.CallComputeProcesses && len(value.Processes) > 0 && value.Processes[0].UsedBytes != nil {
		value.Processes = slices.Clone(value.Processes)
		value.Processes[0].UsedBytes = new(*value.Processes[0].UsedBytes + gibibyte)
		h.grew.Store(true)
	}
	return value, code
}

// TestTheCacheOfZFSMovesItsLineOnly gives every host a ZFS.
func TestTheCacheOfZFSMovesItsLineOnly(t *testing.T) {
	withARC := func(bytes int) func(*collector.Host) {
		return func(host *collector.Host) {
			put(t, host.Proc, "spl/kstat/zfs/arcstats", []byte("13 1 0x01\nname type data\nsize 4 "+strconv.Itoa(bytes)+"\n"))
		}
	}
	eachHost(t, func(t *testing.T, name string) {
		before, after := ledgerWith(t, name, withARC(5)), ledgerWith(t, name, withARC(5+gibibyte))
		wantMoves(t, "ARC", before, after, map[string]float64{ledger.ZFSArc: 1, ledger.Unattributed: -1})
	})
}

// TestGPUHostsOfEveryKindAreAmongTheHosts keeps the tests above from passing for want of hosts.
func TestGPUHostsOfEveryKindAreAmongTheHosts(t *testing.T) {
	var pages strings.Builder
	for _, name := range hostNames() {
		pages.Write(renderPage(t, name))
	}
	for _, architecture := range []nvml.Architecture{nvml.Integrated, nvml.CoherentNUMA, nvml.Discrete, "none"} {
		if !strings.Contains(pages.String(), `memory_architecture="`+string(architecture)+`"`) {
			t.Errorf("no host with memory %s", architecture)
		}
	}
}
