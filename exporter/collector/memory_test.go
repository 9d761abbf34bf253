package collector

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// page runs one collector on a host and returns its series with the outcome.
func page(t *testing.T, spec Spec, host Host, options Options) (map[string]float64, Outcome) {
	t.Helper()
	scrape := mustScrape(t, NewRunner(host, options, []Spec{spec}, RunnerSettings{}), t.Context())
	return gather(t, scrape), scrape.Outcomes[0]
}

func memoryPage(t *testing.T, host Host) (map[string]float64, Outcome) {
	t.Helper()
	return page(t, memorySpec(), host, Options{})
}

func wantSeries(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if value, there := got[name]; !there || value != want[name] {
			t.Errorf("%s is %v (there: %v), want %v", name, value, there, want[name])
		}
	}
}

func wantAbsent(t *testing.T, got map[string]float64, names ...string) {
	t.Helper()
	for series, value := range got {
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(series, name) }) {
			t.Errorf("%s is there: %v", series, value)
		}
	}
}

func bytesOf(line string) string { return fmt.Sprintf("uma_memory_ledger_bytes{line=%q}", line) }
func knownOf(line string) string { return fmt.Sprintf("uma_memory_ledger_line_known{line=%q}", line) }

func TestMemoryOfASparkWorkedOutByHand(t *testing.T) {
	series, outcome := memoryPage(t, spark(t))
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{
		"uma_memory_pool_bytes{}":     127600748 * kib,
		bytesOf("free"):               4812340 * kib,
		bytesOf("anon"):               6520044 * kib,
		bytesOf("page_cache"):         (312044 + 13204112 - 204812) * kib,
		bytesOf("shmem"):              204812 * kib,
		bytesOf("swap_cache"):         128 * kib,
		bytesOf("slab_reclaimable"):   1390600 * kib,
		bytesOf("slab_unreclaimable"): 436420 * kib,
		bytesOf("kernel_stack"):       31552 * kib,
		bytesOf("page_tables"):        (122296 + 2048) * kib,
		bytesOf("percpu"):             66048 * kib,
		bytesOf("hugetlb"):            4096 * kib,
		bytesOf("gpu_process"):        (96073 + 218) * mib,
		bytesOf("managed"):            768 * mib,
		// 127600748 less the kernel's lines (26901728), GPU processes (98601984) and managed (786432), in kB
		bytesOf("unattributed"):                                            1310604 * kib,
		"uma_memory_available_bytes{}":                                     18566368 * kib,
		"uma_memory_cuda_free_bytes{}":                                     4812340 * kib,
		"uma_memory_hidden_by_cache_bytes{}":                               (18566368 - 4812340) * kib,
		"uma_memory_dirty_bytes{}":                                         2376 * kib,
		"uma_memory_swap_total_bytes{}":                                    16777212 * kib,
		"uma_memory_swap_free_bytes{}":                                     16770044 * kib,
		`uma_memory_free_contiguous_bytes{min_block_bytes="65536"}`:        10*64*kib + 3*2*mib + 4*mib,
		`uma_memory_free_contiguous_bytes{min_block_bytes="2097152"}`:      3*2*mib + 4*mib,
		`uma_memory_free_contiguous_bytes{min_block_bytes="4194304"}`:      4 * mib,
		`uma_pressure_waiting_seconds_total{resource="memory"}`:            10.481234,
		`uma_pressure_stalled_seconds_total{resource="memory"}`:            9.481234,
		`uma_pressure_waiting_seconds_total{resource="cpu"}`:               10.481234,
		`uma_pressure_stalled_seconds_total{resource="irq"}`:               2.5,
		"uma_vmstat_swapped_in_bytes_total{}":                              32 * 4096,
		"uma_vmstat_swapped_out_bytes_total{}":                             1792 * 4096,
		"uma_vmstat_compaction_stalls_total{}":                             2712345,
		"uma_vmstat_compaction_failures_total{}":                           1350021,
		"uma_vmstat_oom_kills_total{}":                                     0,
		"uma_vmstat_major_page_faults_total{}":                             44121,
		`uma_collector_privilege{collector="memory",needs="host_cgroups"}`: 1,
	})
	wantAbsent(t, series, bytesOf("zfs_arc"), knownOf("zfs_arc"),
		`uma_pressure_stalled_seconds_total{resource="cpu"}`, `uma_pressure_waiting_seconds_total{resource="irq"}`, `uma_pressure_waiting_seconds_total{resource="io"}`)
}

// ledgerOf picks the ledger out of a page, in bytes.
func ledgerOf(series map[string]float64) map[string]float64 {
	lines := map[string]float64{}
	for name, value := range series {
		if rest, isLine := strings.CutPrefix(name, `uma_memory_ledger_bytes{line="`); isLine {
			lines[strings.TrimSuffix(rest, `"}`)] = value
		}
	}
	return lines
}

// TestOneGiBMoreInMeminfoMovesItsLineAndUnattributedOnly goes through every line of the file.
func TestOneGiBMoreInMeminfoMovesItsLineAndUnattributedOnly(t *testing.T) {
	lineOf := map[string]string{
		"MemFree": "free", "AnonPages": "anon", "Buffers": "page_cache", "Cached": "page_cache", "SwapCached": "swap_cache",
		"SReclaimable": "slab_reclaimable", "SUnreclaim": "slab_unreclaimable", "KernelStack": "kernel_stack",
		"PageTables": "page_tables", "SecPageTables": "page_tables", "Percpu": "percpu", "Hugetlb": "hugetlb",
	}
	host := spark(t)
	series, _ := memoryPage(t, host)
	before := ledgerOf(series)
	for field, value := range kibibytesOf(t, sparkMeminfo) {
		want := maps.Clone(before)
		switch line, inLedger := lineOf[field]; {
		case field == "MemTotal":
			want["unattributed"] += gib
		case field == "Shmem": // it is part of Cached too
			want["shmem"] += gib
			want["page_cache"] -= gib
		case inLedger:
			want[line] += gib
			want["unattributed"] -= gib
		}
		more := host
		more.Proc = onDisk(t, replaced(sparkProc(), "meminfo", withField(sparkMeminfo, field, value+mib)))
		series, _ := memoryPage(t, more)
		if got := ledgerOf(series); !maps.Equal(got, want) {
			t.Errorf("%s:\ngot  %v\nwant %v", field, got, want)
		}
	}
}

// kibibytesOf are the amounts of a meminfo, without its numbers of huge pages.
func kibibytesOf(t *testing.T, meminfo string) map[string]uint64 {
	t.Helper()
	fields := map[string]uint64{}
	for _, field := range regexp.MustCompile(`(?m)^(.+): +([0-9]+) kB$`).FindAllStringSubmatch(meminfo, -1) {
		amount, err := strconv.ParseUint(field[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		fields[field[1]] = amount
	}
	return fields
}

func withField(meminfo, field string, kibibytes uint64) string {
	lines := strings.SplitAfter(meminfo, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, field+":") {
			lines[i] = fmt.Sprintf("%s: %d kB\n", field, kibibytes)
		}
	}
	return strings.Join(lines, "")
}

func withoutField(meminfo, field string) string {
	return strings.Join(slices.DeleteFunc(strings.SplitAfter(meminfo, "\n"), func(line string) bool {
		return strings.HasPrefix(line, field+":")
	}), "")
}

func replaced(fsys fstest.MapFS, name, content string) fstest.MapFS {
	fsys[name] = &fstest.MapFile{Data: []byte(content)}
	return fsys
}

func without(fsys fstest.MapFS, prefixes ...string) fstest.MapFS {
	maps.DeleteFunc(fsys, func(name string, _ *fstest.MapFile) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
	return fsys
}

func TestLedgerLinesAreThoseOfTheVocabularyInItsOrder(t *testing.T) {
	host := spark(t)
	proc := replaced(sparkProc(), "spl/kstat/zfs/arcstats", "13 1\nname type data\nsize 4 1073741824\n")
	host.Proc = onDisk(t, replaced(proc, "meminfo", sparkMeminfo+"CmaTotal: 0 kB\nCmaFree: 1048576 kB\n"))
	reading, err := NewSample(host, Options{}).Memory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, line := range reading.Lines {
		names = append(names, line.Name)
	}
	want := ledger.Names()
	if !slices.Equal(names, want) {
		t.Errorf("got  %v\nwant %v", names, want)
	}
	if arc := (ledger.Line{Name: ledger.ZFSArc, Bytes: gib}); !slices.Contains(reading.Lines, arc) {
		t.Errorf("no %v in %v", arc, reading.Lines)
	}
}

// TestGPUProcessesAreALineOnlyWhereTheirMemoryIsThePool goes through what can be known of a GPU.
func TestGPUProcessesAreALineOnlyWhereTheirMemoryIsThePool(t *testing.T) {
	const (
		leftOut = "left out"
		unknown = "unknown"
		known   = "known"
	)
	list := func(processes ...nvml.Process) nvml.Value { return nvml.Value{Processes: processes} }
	container := func(h Host) Host {
		proc := sparkProc()
		proc["self/ns/pid"].Data = []byte("pid:[4026532455]")
		h.Proc = onDisk(t, proc)
		return h
	}
	foreign := func(h Host) Host { h.ForeignGPU = true; return h }
	tests := []struct {
		name    string
		host    Host
		options Options
		want    string
		held    float64
		cuda    bool // whether CUDA's view of the pool is told
		why     string
	}{
		{name: "integrated", host: spark(t), want: known, held: (96073 + 218) * mib, cuda: true},
		{name: "integrated and idle", host: sparkWith(t, gb10().with(nvml.CallComputeProcesses, list(), nvml.Success).with(nvml.CallGraphicsProcesses, list(), nvml.Success)), want: known, cuda: true},
		{name: "integrated, not in the host's PID namespace", host: container(spark(t)), want: unknown, cuda: true, why: "PID namespace"},
		{name: "integrated, a list fails", host: sparkWith(t, gb10().with(nvml.CallComputeProcesses, nvml.Value{}, nvml.Unknown)), want: unknown, cuda: true, why: "Compute"},
		{name: "integrated, no figure for a process", host: sparkWith(t, gb10().with(nvml.CallComputeProcesses, list(nvml.Process{PID: 6330}), nvml.Success)), want: unknown, cuda: true, why: "what every process holds"},
		{name: "discrete", host: sparkWith(t, h200()), want: leftOut},
		{name: "discrete, not in the host's PID namespace", host: container(sparkWith(t, h200())), want: leftOut},
		{name: "said to be integrated", host: sparkWith(t, h200()), options: Options{Architecture: nvml.Integrated}, want: known, held: (96073 + 218) * mib, cuda: true},
		{name: "said to be integrated, without a driver", host: sparkWith(t, driver{opens: nvml.LibraryNotFound}), options: Options{Architecture: nvml.Integrated}, want: unknown, cuda: true, why: "libnvidia-ml"},
		{name: "no driver", host: sparkWith(t, driver{opens: nvml.LibraryNotFound}), want: leftOut},
		{name: "no library, but the kernel has the driver", host: withModule(t, sparkWith(t, driver{opens: nvml.LibraryNotFound})), want: unknown, why: "libnvidia-ml"},
		{name: "no cgo, but the kernel has the driver", host: withModule(t, sparkWith(t, driver{opens: nvml.NotBuilt})), want: unknown, why: "without cgo"},
		{name: "a driver that does not work", host: sparkWith(t, driver{opens: nvml.LibRMVersionMismatch}), want: unknown, why: "different driver versions"},
		{name: "no device", host: sparkWith(t, driver{}), want: leftOut},
		{name: "unlike any known device", host: sparkWith(t, gb10().with(nvml.CallName, nvml.Value{Text: "NVIDIA GB99"}, nvml.Success)), want: unknown, why: "could not be told"},
		{name: "a recording beside the live host", host: foreign(spark(t)), want: leftOut},
		{name: "a recording beside the live host, said to be integrated", host: foreign(spark(t)), options: Options{Architecture: nvml.Integrated}, want: leftOut},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			series, outcome := page(t, memorySpec(), test.host, test.options)
			wantSeries(t, series, map[string]float64{`uma_collector_state{collector="memory",state="ok"}`: 1})
			lines, sum := ledgerOf(series), 0.0
			for _, bytes := range lines {
				sum += bytes
			}
			if sum != 127600748*kib {
				t.Errorf("the lines add up to %v", sum)
			}
			switch test.want {
			case leftOut:
				wantAbsent(t, series, bytesOf("gpu_process"), knownOf("gpu_process"))
			case unknown:
				wantAbsent(t, series, bytesOf("gpu_process"))
				wantSeries(t, series, map[string]float64{knownOf("gpu_process"): 0})
			case known:
				wantSeries(t, series, map[string]float64{knownOf("gpu_process"): 1, bytesOf("gpu_process"): test.held})
			}
			if _, told := series["uma_memory_cuda_free_bytes{}"]; told != test.cuda {
				t.Errorf("CUDA's view is told: %v, want %v", told, test.cuda)
			}
			reading, err := outcome.Sample.Memory(t.Context())
			why := reading.Unknown[ledger.GPUProcess]
			if err != nil || (why != nil) != (test.want == unknown) || why != nil && !strings.Contains(why.Error(), test.why) {
				t.Errorf("%v, unknown because %v", err, why)
			}
		})
	}
}

func TestManagedMemoryIsUnknownWhereCgroupsDoNotTell(t *testing.T) {
	tests := []struct {
		name    string
		cgroups fstest.MapFS
		why     string
	}{
		{"cgroup v1", tree(map[string]string{"memory/memory.usage_in_bytes": "1\n"}), "cgroup.controllers"},
		{"a container's own cgroup", replaced(sparkCgroups(), "memory.current", "4096\n"), "container"},
		{"kernel before 5.18", replaced(sparkCgroups(), "user.slice/memory.stat", "anon 5\nslab 7\n"), "5.18"},
		{"memory controller off", without(sparkCgroups(), "user.slice/memory.stat"), "memory controller"},
		{"garbage", replaced(sparkCgroups(), "user.slice/memory.stat", "\x00\x01\n"), "user.slice/memory.stat: line 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			host := spark(t)
			host.Cgroup = onDisk(t, test.cgroups)
			series, outcome := memoryPage(t, host)
			wantSeries(t, series, map[string]float64{knownOf("managed"): 0, bytesOf("unattributed"): (1310604 + 786432) * kib})
			wantAbsent(t, series, bytesOf("managed"))
			reading, err := outcome.Sample.Memory(t.Context())
			if why := reading.Unknown[ledger.Managed]; err != nil || why == nil || !strings.Contains(why.Error(), test.why) {
				t.Errorf("%v, unknown because %v", err, why)
			}
		})
	}
}

func TestACgroupThatIsRemovedMeanwhileHoldsNothing(t *testing.T) {
	cgroups := onDisk(t, sparkCgroups())
	cgroups.Refuse = func(name string) error { // it goes as soon as it has been listed
		if strings.HasPrefix(name, "user.slice/") {
			return os.RemoveAll(filepath.Join(cgroups.Path, "user.slice"))
		}
		return nil
	}
	amount, err := managedMemory(hostfs.ReadTopMemoryStats(cgroups))
	if want := KnownAmount(512 * mib); err != nil || amount != want {
		t.Errorf("%v, %v; want %v", amount, err, want)
	}
}

// TestFieldsThatAKernelDoesNotHave tells what is not counted from what does not exist.
func TestFieldsThatAKernelDoesNotHave(t *testing.T) {
	tests := []struct {
		name, meminfo string
		unknown       []string
		absent        []string
	}{
		{"before 6.1: no SecPageTables", withoutField(sparkMeminfo, "SecPageTables"), nil, nil},
		{"before 4.21: no Percpu", withoutField(sparkMeminfo, "Percpu"), []string{"percpu"}, nil},
		{"before 4.16: no Hugetlb", withoutField(sparkMeminfo, "Hugetlb"), []string{"hugetlb"}, nil},
		{"without huge pages", withoutField(withoutField(sparkMeminfo, "Hugetlb"), "Hugepagesize"), nil, []string{"hugetlb"}},
		{"without Shmem", withoutField(sparkMeminfo, "Shmem"), []string{"shmem", "page_cache"}, nil},
		{"MemTotal alone", "MemTotal: 1024 kB\n", []string{"free", "anon", "page_cache"}, []string{"hugetlb"}},
	}
	for _, test := range tests {
		host := spark(t)
		host.Proc, host.PageSize = onDisk(t, replaced(sparkProc(), "meminfo", test.meminfo)), 4096
		series, outcome := memoryPage(t, host)
		if outcome.State != OK {
			t.Errorf("%s: %v", test.name, outcome.Err)
		}
		for _, line := range test.unknown {
			wantSeries(t, series, map[string]float64{knownOf(line): 0})
			wantAbsent(t, series, bytesOf(line))
		}
		for _, line := range test.absent {
			wantAbsent(t, series, bytesOf(line), knownOf(line))
		}
		if len(test.unknown)+len(test.absent) == 0 {
			wantSeries(t, series, map[string]float64{knownOf("page_tables"): 1, bytesOf("page_tables"): 122296 * kib})
		}
	}
}

func TestFilesThatAKernelDoesNotHaveAreAbsentSeries(t *testing.T) {
	host := spark(t)
	host.Proc = onDisk(t, without(sparkProc(), "vmstat", "buddyinfo", "pressure"))
	series, outcome := memoryPage(t, host)
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{bytesOf("free"): 4812340 * kib})
	wantAbsent(t, series, "uma_vmstat", "uma_pressure", "uma_memory_free_contiguous")
}

func TestFilesThatCannotBeReadCostTheirSeriesOnly(t *testing.T) {
	for file, lost := range map[string]string{
		"vmstat": "uma_vmstat", "buddyinfo": "uma_memory_free_contiguous", "pressure/memory": `uma_pressure_waiting_seconds_total{resource="memory"}`,
	} {
		host := spark(t)
		host.Proc = onDisk(t, replaced(sparkProc(), file, "\x00garbage"))
		series, outcome := memoryPage(t, host)
		if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), file) {
			t.Errorf("%s: %s, %v", file, outcome.State, outcome.Err)
		}
		wantSeries(t, series, map[string]float64{bytesOf("free"): 4812340 * kib})
		wantAbsent(t, series, lost)
	}
}

func TestWithoutMeminfoTheCollectorFailsAndNamesThePath(t *testing.T) {
	host, root := spark(t), t.TempDir()
	host.Proc = hostfs.Dir{Path: root}
	series, outcome := memoryPage(t, host)
	if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), root+"/meminfo") {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantAbsent(t, series, "uma_memory", "uma_vmstat", "uma_pressure")
}

func TestPagesAreThoseOfTheKernelThatWroteTheFiles(t *testing.T) {
	large := replaced(sparkProc(), "vmstat", fmt.Sprintf("nr_free_pages %d\npswpin 3\n", 4812340/64))
	untold := replaced(sparkProc(), "vmstat", "pswpin 3\n")
	const blocks = `uma_memory_free_contiguous_bytes{min_block_bytes="2097152"}`
	tests := []struct {
		name   string
		proc   fstest.MapFS
		stated int
		state  State
		want   map[string]float64
	}{
		// order 0 is 64 KiB; orders 9 and 10 are 32 and 64 MiB
		{"files give it away", large, 0, OK, map[string]float64{"uma_vmstat_swapped_in_bytes_total{}": 3 * 65536, blocks: (3*32 + 64) * mib}},
		// Linux 6.18 as a guest of Firecracker counts 8 GiB more in MemFree than in nr_free_pages.
		{"stated, and the files contradict it", replaced(sparkProc(), "vmstat", fmt.Sprintf("nr_free_pages %d\npswpin 3\n", 4812340/8)), 65536, OK, map[string]float64{"uma_vmstat_swapped_in_bytes_total{}": 3 * 65536, blocks: (3*32 + 64) * mib}},
		{"stated with the host", untold, 65536, OK, map[string]float64{"uma_vmstat_swapped_in_bytes_total{}": 3 * 65536, blocks: (3*32 + 64) * mib}},
		{"nobody knows", untold, 0, Failed, nil},
	}
	for _, test := range tests {
		host := spark(t)
		host.Proc, host.PageSize = onDisk(t, test.proc), test.stated
		series, outcome := memoryPage(t, host)
		if outcome.State != test.state {
			t.Errorf("%s: %s, %v", test.name, outcome.State, outcome.Err)
		}
		wantSeries(t, series, test.want)
		if test.want == nil {
			wantAbsent(t, series, "uma_vmstat_swapped", "uma_memory_free_contiguous")
		}
	}
}

// TestMemoryIsServedWhileADriverCallHangs: the list never comes, the rest of memory does, in half of the time.
func TestMemoryIsServedWhileADriverCallHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		hanging := gb10()
		answer := hanging.answer
		hanging.answer = func(device int, call nvml.Call) (nvml.Value, nvml.Return) {
			if call == nvml.CallComputeProcesses {
				<-release
			}
			return answer(device, call)
		}
		start := time.Now()
		series, outcome := memoryPage(t, sparkWith(t, hanging))
		if took := time.Since(start); outcome.State != OK || took > DefaultTimeout/2 {
			t.Errorf("%s after %v: %v", outcome.State, took, outcome.Err)
		}
		wantSeries(t, series, map[string]float64{knownOf("gpu_process"): 0, bytesOf("free"): 4812340 * kib})
		wantAbsent(t, series, bytesOf("gpu_process"))
		reading, _ := outcome.Sample.Memory(t.Context())
		if why := reading.Unknown[ledger.GPUProcess]; why == nil || !strings.Contains(why.Error(), string(nvml.CallComputeProcesses)) {
			t.Errorf("unknown because %v", why)
		}
	})
}

func TestEveryMemorySeriesOfTheVocabularyIsDeclared(t *testing.T) {
	wantDeclared(t, memorySpec(), "Memory")
	wantDeclared(t, nvmeSpec(), "NVMe")
}

func wantDeclared(t *testing.T, spec Spec, subject string) {
	t.Helper()
	declared := map[string]bool{}
	for _, definer := range spec.Metrics {
		declared[definer.Def().Name] = true
	}
	at := slices.IndexFunc(metric.Subjects(), func(s metric.Subject) bool { return s.Title == subject })
	defs := metric.Subjects()[at].Defs
	for _, definer := range defs {
		if !declared[definer.Def().Name] {
			t.Errorf("%s does not declare %s", spec.Name, definer.Def().Name)
		}
	}
	if len(defs) != len(spec.Metrics) {
		t.Errorf("%s declares %d series, the vocabulary has %d", spec.Name, len(spec.Metrics), len(defs))
	}
}

// BenchmarkMemoryCollector runs the whole collector on the machine that it runs on.
func BenchmarkMemoryCollector(b *testing.B) {
	host := Host{
		Proc: hostfs.Dir{Path: "/proc"}, Sys: hostfs.Dir{Path: "/sys"}, Cgroup: hostfs.Dir{Path: "/sys/fs/cgroup"},
		GPU: nvml.NewReader(driver{opens: nvml.LibraryNotFound}, nvml.ReaderOptions{}), Mode: Live, Now: time.Now, PageSize: os.Getpagesize(),
	}
	known := newFamilies(memoryMetrics())
	for b.Loop() {
		if err := collectMemory(b.Context(), host, NewSample(host, Options{}), newBatch(known)); err != nil {
			b.Fatal(err)
		}
	}
}
