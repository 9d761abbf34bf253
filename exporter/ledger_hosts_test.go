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
	"github.com/umascope/umascope/exporter/ledger"
)

// kB is the unit of /proc/meminfo.
const kB = 1024

// handWorked are the ledgers of all hosts in bytes, worked out from the raw text of their archives.
// Sums are written as they were made. Managed is, over the top-level cgroups,
// kernel - (slab + kernel_stack + pagetables + sec_pagetables + percpu + vmalloc).
func handWorked() map[string]map[string]int64 {
	return map[string]map[string]int64{
		"gb10-idle": {
			ledger.Free: 113001500 * kB, ledger.Anon: 6568100 * kB, ledger.PageCache: (312844 + 5653480 - 152832) * kB,
			ledger.Shmem: 152832 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 412772 * kB, ledger.SlabUnreclaimable: 391244 * kB,
			ledger.KernelStack: 18640 * kB, ledger.PageTables: (31928 + 2048) * kB, ledger.Percpu: 14720 * kB, ledger.Hugetlb: 0,
			ledger.GPUProcess: 45088768, // process 3150
			ledger.Managed: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				261619712 - (239337472 + 7077888 + 9437184 + 0 + 3145728 + 2097152) + // system.slice
				122814464 - (90177536 + 5898240 + 20971520 + 1048576 + 1572864 + 1048576), // user.slice
			ledger.Unattributed: (127600748-113001500-6568100-5813492-152832-0-412772-391244-18640-33976-14720-0)*kB -
				45088768 - 2621440,
		},
		"gb10-load": {
			ledger.Free: 7065704 * kB, ledger.Anon: 11551232 * kB, ledger.PageCache: (412560 + 7206900 - 1203200) * kB,
			ledger.Shmem: 1203200 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 611840 * kB, ledger.SlabUnreclaimable: 562176 * kB,
			ledger.KernelStack: 24704 * kB, ledger.PageTables: (78848 + 18432) * kB, ledger.Percpu: 16384 * kB, ledger.Hugetlb: 0,
			ledger.GPUProcess: 100739842048 + 228589568, // processes 6330 and 3150, which is in two lists
			ledger.Managed: 3645440 - (2838528 + 294912 + 413696 + 0 + 98304 + 0) + // init.scope
				832045056 - (545259520 + 11534336 + 45088768 + 12582912 + 4718592 + 3145728) + // system.slice
				147324928 - (106954752 + 6291456 + 25165824 + 2097152 + 1572864 + 1048576), // user.slice
			ledger.Unattributed: (127600748-7065704-11551232-6416260-1203200-0-611840-562176-24704-97280-16384-0)*kB -
				100968431616 - 213909504,
		},
		// Memory of a discrete GPU is not in the pool: no line gpu_process.
		"h200-idle": {
			ledger.Free: 130648352 * kB, ledger.Anon: 21756 * kB, ledger.PageCache: (13048 + 990940 - 7368) * kB,
			ledger.Shmem: 7368 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 13708 * kB, ledger.SlabUnreclaimable: 39192 * kB,
			ledger.KernelStack: 3696 * kB, ledger.PageTables: (1540 + 0) * kB, ledger.Percpu: 4672 * kB, ledger.Hugetlb: 0,
			ledger.Managed: 18845696 - (7809312 + 671744 + 1003520 + 0 + 503280 + 8736768) + // group1
				0 - (0 + 0 + 0 + 0 + 0 + 0), // inference.slice
			ledger.Unattributed: (131981020-130648352-21756-996620-7368-0-13708-39192-3696-1540-4672-0)*kB - 121072,
		},
		"h200-load": {
			ledger.Free: 118892628 * kB, ledger.Anon: 3889584 * kB, ledger.PageCache: (23832 + 8431848 - 2120904) * kB,
			ledger.Shmem: 2120904 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 133052 * kB, ledger.SlabUnreclaimable: 64624 * kB,
			ledger.KernelStack: 4304 * kB, ledger.PageTables: (16256 + 0) * kB, ledger.Percpu: 4672 * kB, ledger.Hugetlb: 0,
			ledger.Managed: 19107840 - (8199712 + 671744 + 880640 + 0 + 503856 + 8736768) + // group1
				149618688 - (129524552 + 557056 + 15245312 + 0 + 63648 + 0), // inference.slice
			ledger.Unattributed: (131981020-118892628-3889584-6334776-2120904-0-133052-64624-4304-16256-4672-0)*kB - 4343240,
		},
		// Without a GPU there is no line gpu_process; on cgroup v1 managed is unknown.
		"no-gpu": {
			ledger.Free: 22673256 * kB, ledger.Anon: 69468 * kB, ledger.PageCache: (65492 + 1601644 - 8872) * kB,
			ledger.Shmem: 8872 * kB, ledger.SwapCache: 0, ledger.SlabReclaimable: 95308 * kB, ledger.SlabUnreclaimable: 26660 * kB,
			ledger.KernelStack: 2008 * kB, ledger.PageTables: (2404 + 0) * kB, ledger.Percpu: 712 * kB, ledger.Hugetlb: 0,
			ledger.Unattributed: (24684084 - 22673256 - 69468 - 1658264 - 8872 - 0 - 95308 - 26660 - 2008 - 2404 - 712 - 0) * kB,
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
		"MemTotal": {ledger.Unattributed: 1}, "MemFree": {ledger.Free: 1}, "AnonPages": {ledger.Anon: 1},
		"Buffers": {ledger.PageCache: 1}, "Cached": {ledger.PageCache: 1}, "Shmem": {ledger.Shmem: 1, ledger.PageCache: -1},
		"SwapCached": {ledger.SwapCache: 1}, "SReclaimable": {ledger.SlabReclaimable: 1}, "SUnreclaim": {ledger.SlabUnreclaimable: 1},
		"KernelStack": {ledger.KernelStack: 1}, "PageTables": {ledger.PageTables: 1}, "SecPageTables": {ledger.PageTables: 1},
		"Percpu": {ledger.Percpu: 1}, "Hugetlb": {ledger.Hugetlb: 1},
	}
	eachHost(t, func(t *testing.T, name string) {
		before := ledgerOf(t, name, func(meminfo []byte) []byte { return meminfo })
		for _, field := range meminfoFields(t, name) {
			after := ledgerOf(t, name, func(meminfo []byte) []byte { return grow(meminfo, field, gibibyte/1024) })
			want := map[string]float64{}
			for line, step := range moves[field] {
				want[line] += step
				if field != "MemTotal" {
					want[ledger.Unattributed] -= step
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
