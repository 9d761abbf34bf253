package exporter

import (
	"bytes"
	"io/fs"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/hosts"
	"github.com/umascope/umascope/exporter/metric"
)

// kB is the unit of /proc/meminfo.
const kB = 1024

// handWorked are the ledgers of all hosts in bytes, worked out from the raw text of their archives.
// Sums are written as they were made. Managed is, over the top-level cgroups,
// kernel - (slab + kernel_stack + pagetables + sec_pagetables + percpu + vmalloc).
func handWorked() map[string]map[string]int64 {
	return map[string]map[string]int64{
		"gb10-idle": {
			metric.LineFree: 113001500 * kB, metric.LineAnon: 6568100 * kB, metric.LinePageCache: (312844 + 5653480 - 152832) * kB,
			metric.LineShmem: 152832 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 412772 * kB, metric.LineSlabUnreclaimable: 391244 * kB,
			metric.LineKernelStack: 18640 * kB, metric.LinePageTables: (31928 + 2048) * kB, metric.LinePercpu: 14720 * kB, metric.LineHugetlb: 0,
			metric.LineGPUProcess: 45088768, // process 3150
			metric.LineManaged: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				261619712 - (239337472 + 7077888 + 9437184 + 0 + 3145728 + 2097152) + // system.slice
				122814464 - (90177536 + 5898240 + 20971520 + 1048576 + 1572864 + 1048576), // user.slice
			metric.LineUnattributed: (127600748-113001500-6568100-5813492-152832-0-412772-391244-18640-33976-14720-0)*kB -
				45088768 - 2621440,
		},
		"gb10-load": {
			metric.LineFree: 7065704 * kB, metric.LineAnon: 11551232 * kB, metric.LinePageCache: (412560 + 7206900 - 1203200) * kB,
			metric.LineShmem: 1203200 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 611840 * kB, metric.LineSlabUnreclaimable: 562176 * kB,
			metric.LineKernelStack: 24704 * kB, metric.LinePageTables: (78848 + 18432) * kB, metric.LinePercpu: 16384 * kB, metric.LineHugetlb: 0,
			metric.LineGPUProcess: 100739842048 + 228589568, // processes 6330 and 3150, which is in two lists
			metric.LineManaged: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				832045056 - (545259520 + 11534336 + 45088768 + 12582912 + 4718592 + 3145728) + // system.slice
				147324928 - (106954752 + 6291456 + 25165824 + 2097152 + 1572864 + 1048576), // user.slice
			metric.LineUnattributed: (127600748-7065704-11551232-6416260-1203200-0-611840-562176-24704-97280-16384-0)*kB -
				100968431616 - 213909504,
		},
		// The host tier of 8388608 kB, pinned, is in Shmem; the model's weights are in Cached.
		"kvbm-disk": {
			metric.LineFree: 50139744 * kB, metric.LineAnon: 11551232 * kB, metric.LinePageCache: (412560 + 31279612 - 9591808) * kB,
			metric.LineShmem: 9591808 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 611840 * kB, metric.LineSlabUnreclaimable: 562176 * kB,
			metric.LineKernelStack: 24704 * kB, metric.LinePageTables: (78848 + 18432) * kB, metric.LinePercpu: 16384 * kB, metric.LineHugetlb: 0,
			metric.LineGPUProcess: 32212254720 + 228589568, // processes 6330 and 3150, which is in two lists
			metric.LineManaged: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				693633024 - (545259520 + 11534336 + 45088768 + 12582912 + 4718592 + 3145728) + // system.slice
				147324928 - (106954752 + 6291456 + 25165824 + 2097152 + 1572864 + 1048576), // user.slice
			metric.LineUnattributed: (127600748-50139744-11551232-22100364-9591808-0-611840-562176-24704-97280-16384-0)*kB -
				32440844288 - 75497472,
		},
		// The memory of gb10-load, of which four engines hold what vLLM holds there.
		"engines": {
			metric.LineFree: 7065704 * kB, metric.LineAnon: 11551232 * kB, metric.LinePageCache: (412560 + 7206900 - 1203200) * kB,
			metric.LineShmem: 1203200 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 611840 * kB, metric.LineSlabUnreclaimable: 562176 * kB,
			metric.LineKernelStack: 24704 * kB, metric.LinePageTables: (78848 + 18432) * kB, metric.LinePercpu: 16384 * kB, metric.LineHugetlb: 0,
			metric.LineGPUProcess: 61203283968 + 23622320128 + 9663676416 + 6250561536 + 228589568,
			metric.LineManaged: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				832045056 - (545259520 + 11534336 + 45088768 + 12582912 + 4718592 + 3145728) + // system.slice
				147324928 - (106954752 + 6291456 + 25165824 + 2097152 + 1572864 + 1048576), // user.slice
			metric.LineUnattributed: (127600748-7065704-11551232-6416260-1203200-0-611840-562176-24704-97280-16384-0)*kB -
				100968431616 - 213909504,
		},
		// Memory of a discrete GPU is not in the pool: no line gpu_process.
		"h200-idle": {
			metric.LineFree: 130648352 * kB, metric.LineAnon: 21756 * kB, metric.LinePageCache: (13048 + 990940 - 7368) * kB,
			metric.LineShmem: 7368 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 13708 * kB, metric.LineSlabUnreclaimable: 39192 * kB,
			metric.LineKernelStack: 3696 * kB, metric.LinePageTables: (1540 + 0) * kB, metric.LinePercpu: 4672 * kB, metric.LineHugetlb: 0,
			metric.LineManaged: 18845696 - (7809312 + 671744 + 1003520 + 0 + 503280 + 8736768) + // group1
				0 - (0 + 0 + 0 + 0 + 0 + 0), // inference.slice
			metric.LineUnattributed: (131981020-130648352-21756-996620-7368-0-13708-39192-3696-1540-4672-0)*kB - 121072,
		},
		"h200-load": {
			metric.LineFree: 118892628 * kB, metric.LineAnon: 3889584 * kB, metric.LinePageCache: (23832 + 8431848 - 2120904) * kB,
			metric.LineShmem: 2120904 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 133052 * kB, metric.LineSlabUnreclaimable: 64624 * kB,
			metric.LineKernelStack: 4304 * kB, metric.LinePageTables: (16256 + 0) * kB, metric.LinePercpu: 4672 * kB, metric.LineHugetlb: 0,
			metric.LineManaged: 19107840 - (8199712 + 671744 + 880640 + 0 + 503856 + 8736768) + // group1
				149618688 - (129524552 + 557056 + 15245312 + 0 + 63648 + 0), // inference.slice
			metric.LineUnattributed: (131981020-118892628-3889584-6334776-2120904-0-133052-64624-4304-16256-4672-0)*kB - 4343240,
		},
		// The kernel files of these two are those of gb10-idle, but their GPUs are discrete.
		"gpu-lost": {
			metric.LineFree: 113001500 * kB, metric.LineAnon: 6568100 * kB, metric.LinePageCache: (312844 + 5653480 - 152832) * kB,
			metric.LineShmem: 152832 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 412772 * kB, metric.LineSlabUnreclaimable: 391244 * kB,
			metric.LineKernelStack: 18640 * kB, metric.LinePageTables: (31928 + 2048) * kB, metric.LinePercpu: 14720 * kB, metric.LineHugetlb: 0,
			metric.LineManaged: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				261619712 - (239337472 + 7077888 + 9437184 + 0 + 3145728 + 2097152) + // system.slice
				122814464 - (90177536 + 5898240 + 20971520 + 1048576 + 1572864 + 1048576), // user.slice
			metric.LineUnattributed: (127600748-113001500-6568100-5813492-152832-0-412772-391244-18640-33976-14720-0)*kB - 2621440,
		},
		"mig": {
			metric.LineFree: 113001500 * kB, metric.LineAnon: 6568100 * kB, metric.LinePageCache: (312844 + 5653480 - 152832) * kB,
			metric.LineShmem: 152832 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 412772 * kB, metric.LineSlabUnreclaimable: 391244 * kB,
			metric.LineKernelStack: 18640 * kB, metric.LinePageTables: (31928 + 2048) * kB, metric.LinePercpu: 14720 * kB, metric.LineHugetlb: 0,
			metric.LineManaged: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				261619712 - (239337472 + 7077888 + 9437184 + 0 + 3145728 + 2097152) + // system.slice
				122814464 - (90177536 + 5898240 + 20971520 + 1048576 + 1572864 + 1048576), // user.slice
			metric.LineUnattributed: (127600748-113001500-6568100-5813492-152832-0-412772-391244-18640-33976-14720-0)*kB - 2621440,
		},
		// Without a GPU there is no line gpu_process; on cgroup v1 managed is unknown.
		"no-gpu": {
			metric.LineFree: 22673256 * kB, metric.LineAnon: 69468 * kB, metric.LinePageCache: (65492 + 1601644 - 8872) * kB,
			metric.LineShmem: 8872 * kB, metric.LineSwapCache: 0, metric.LineSlabReclaimable: 95308 * kB, metric.LineSlabUnreclaimable: 26660 * kB,
			metric.LineKernelStack: 2008 * kB, metric.LinePageTables: (2404 + 0) * kB, metric.LinePercpu: 712 * kB, metric.LineHugetlb: 0,
			metric.LineUnattributed: (24684084 - 22673256 - 69468 - 1658264 - 8872 - 0 - 95308 - 26660 - 2008 - 2404 - 712 - 0) * kB,
		},
	}
}

func TestLedgerOfEveryHostIsTheOneWorkedOutByHand(t *testing.T) {
	eachHost(t, func(t *testing.T, name string) {
		want, worked := handWorked()[name]
		if !worked {
			t.Fatal("nobody has worked out the ledger of this host by hand")
		}
		got := ledgerOf(t, name, func(meminfo []byte) []byte { return meminfo })
		for line, byHand := range want {
			if bytes, there := got[line]; !there || bytes != float64(byHand) {
				t.Errorf("%s is %.0f bytes (there: %v), by hand %d", line, bytes, there, byHand)
			}
		}
		for line := range got {
			if _, expected := want[line]; !expected {
				t.Errorf("line %s was not expected", line)
			}
		}
	})
}

// TestOneFieldMovesItsLineAndTheRestOnly adds 1 GiB to every field of every host's meminfo in turn.
func TestOneFieldMovesItsLineAndTheRestOnly(t *testing.T) {
	const gibibyte = 1 << 30
	// Cached contains Shmem, so shared memory comes out of the page cache's line.
	moves := map[string]map[string]float64{
		"MemTotal": {metric.LineUnattributed: 1}, "MemFree": {metric.LineFree: 1}, "AnonPages": {metric.LineAnon: 1},
		"Buffers": {metric.LinePageCache: 1}, "Cached": {metric.LinePageCache: 1}, "Shmem": {metric.LineShmem: 1, metric.LinePageCache: -1},
		"SwapCached": {metric.LineSwapCache: 1}, "SReclaimable": {metric.LineSlabReclaimable: 1}, "SUnreclaim": {metric.LineSlabUnreclaimable: 1},
		"KernelStack": {metric.LineKernelStack: 1}, "PageTables": {metric.LinePageTables: 1}, "SecPageTables": {metric.LinePageTables: 1},
		"Percpu": {metric.LinePercpu: 1}, "Hugetlb": {metric.LineHugetlb: 1},
	}
	eachHost(t, func(t *testing.T, name string) {
		before := ledgerOf(t, name, func(meminfo []byte) []byte { return meminfo })
		for _, field := range meminfoFields(t, name) {
			after := ledgerOf(t, name, func(meminfo []byte) []byte { return grow(meminfo, field, gibibyte/1024) })
			want := map[string]float64{}
			for line, step := range moves[field] {
				want[line] += step
				if field != "MemTotal" {
					want[metric.LineUnattributed] -= step
				}
			}
			for line := range before {
				if moved := (after[line] - before[line]) / gibibyte; moved != want[line] {
					t.Errorf("%s + 1 GiB moves %s by %v GiB, want %v", field, line, moved, want[line])
				}
			}
			if len(after) != len(before) {
				t.Errorf("%s + 1 GiB makes %d lines of %d", field, len(after), len(before))
			}
		}
	})
}

func TestLittleIsUnattributedOnHostsWithoutGPU(t *testing.T) {
	checked := 0
	for _, name := range hosts.Names() {
		page := renderPage(t, name)
		if !bytes.Contains(page, []byte(`memory_architecture="none"`)) {
			continue
		}
		checked++
		pool := seriesOf(t, page, "uma_memory_pool_bytes ")
		rest := seriesOf(t, page, `uma_memory_ledger_bytes{line="unattributed"} `)
		if math.Abs(rest) >= 0.02*pool {
			t.Errorf("%s: %.0f of %.0f bytes are unattributed", name, rest, pool)
		}
	}
	if checked == 0 {
		t.Error("no host without GPU")
	}
}

func seriesOf(t *testing.T, page []byte, series string) float64 {
	t.Helper()
	_, after, found := bytes.Cut(page, []byte("\n"+series))
	text, _, _ := strings.Cut(string(after), "\n")
	value, err := strconv.ParseFloat(text, 64)
	if !found || err != nil {
		t.Fatalf("%s: %v", series, err)
	}
	return value
}

// ledgerOf is the ledger on the page of a host whose meminfo has been changed, in bytes by line.
func ledgerOf(t *testing.T, name string, change func([]byte) []byte) map[string]float64 {
	t.Helper()
	host, err := hosts.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer host.GPU.Close()
	meminfo, err := fs.ReadFile(host.Proc, "meminfo")
	if err != nil {
		t.Fatal(err)
	}
	host.Proc = withMeminfo{host.Proc, change(meminfo)}
	e, err := New(host, Settings{Collectors: []string{"memory"}})
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := e.WritePage(t.Context(), &page); err != nil {
		t.Fatal(err)
	}
	lines := map[string]float64{}
	for _, match := range regexp.MustCompile(`(?m)^uma_memory_ledger_bytes\{line="(\w+)"\} (.*)$`).FindAllStringSubmatch(page.String(), -1) {
		value, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		lines[match[1]] = value
	}
	return lines
}

// meminfoFields lists the fields in kB.
func meminfoFields(t *testing.T, name string) []string {
	t.Helper()
	host, err := hosts.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer host.GPU.Close()
	meminfo, err := fs.ReadFile(host.Proc, "meminfo")
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, match := range regexp.MustCompile(`(?m)^(.+?):.* kB$`).FindAllSubmatch(meminfo, -1) {
		fields = append(fields, string(match[1]))
	}
	if len(fields) < 20 {
		t.Fatalf("only %d fields", len(fields))
	}
	return fields
}

// grow adds to one field of a meminfo.
func grow(meminfo []byte, field string, kibibytes int64) []byte {
	row := regexp.MustCompile(`(?m)^(` + regexp.QuoteMeta(field) + `: +)(\d+) kB$`)
	return row.ReplaceAllFunc(meminfo, func(line []byte) []byte {
		parts := row.FindSubmatch(line)
		before, _ := strconv.ParseInt(string(parts[2]), 10, 64)
		return append(bytes.Clone(parts[1]), strconv.FormatInt(before+kibibytes, 10)+" kB"...)
	})
}

// withMeminfo is a procfs with another meminfo.
type withMeminfo struct {
	fs.FS
	meminfo []byte
}

func (w withMeminfo) ReadFile(name string) ([]byte, error) {
	if name == "meminfo" {
		return bytes.Clone(w.meminfo), nil
	}
	return fs.ReadFile(w.FS, name)
}

func (w withMeminfo) ReadLink(name string) (string, error)   { return fs.ReadLink(w.FS, name) }
func (w withMeminfo) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(w.FS, name) }
