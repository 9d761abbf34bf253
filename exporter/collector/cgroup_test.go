package collector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
)

const (
	engineID    = "4f5b3a0c9d1e2f3a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f901234"
	engineScope = "/system.slice/docker-" + engineID + ".scope"
	idleID      = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	idleScope   = "/system.slice/docker-" + idleID + ".scope"
)

// dockerSpark is a Spark with two containers, of which one serves the model, and a desktop.
func dockerSpark(t testing.TB) Host {
	host := spark(t)
	host.Cgroup = onDisk(t, dockerCgroups())
	host.Proc = onDisk(t, replaced(replaced(sparkProc(), "6330/cgroup", "0::"+engineScope+"\n"), "3150/cgroup", "0::/user.slice/user-1000.slice/session-2.scope\n"))
	sys := sparkSys()
	sys["dev/block/259:0"] = link("../../devices/pci0004:00/nvme/nvme0/nvme0n1")
	host.Sys = onDisk(t, sys)
	return host
}

func dockerCgroups() fstest.MapFS {
	contents := map[string]string{"cgroup.controllers": "cpu io memory\n"}
	add := func(cgroup string, files map[string]string) {
		for file, text := range files {
			contents[cgroup[1:]+"/"+file] = text
		}
	}
	unlimited := containerFiles()
	unlimited["memory.max"] = "max\n"
	for _, cgroup := range []string{"/init.scope", "/system.slice", "/user.slice", "/user.slice/user-1000.slice", "/user.slice/user-1000.slice/session-2.scope",
		"/system.slice/ssh.service", idleScope} {
		add(cgroup, unlimited)
	}
	add(engineScope, containerFiles())
	return tree(contents)
}

func cgroupPage(t *testing.T, host Host, options CgroupOptions) (map[string]float64, Outcome) {
	t.Helper()
	return page(t, cgroupSpec(), host, Options{Cgroups: options})
}

// shownCgroups are the cgroups with an info series, in no order.
func shownCgroups(series map[string]float64) map[string]bool {
	shown := map[string]bool{}
	path := regexp.MustCompile(`^uma_cgroup_info\{.*cgroup="([^"]+)"`)
	for name := range series {
		if found := path.FindStringSubmatch(name); found != nil {
			shown[found[1]] = true
		}
	}
	return shown
}

func wantShown(t *testing.T, series map[string]float64, paths ...string) {
	t.Helper()
	shown := shownCgroups(series)
	for _, path := range paths {
		if !shown[path] {
			t.Errorf("%s is not shown", path)
		}
		delete(shown, path)
	}
	for path := range shown {
		t.Errorf("%s is shown", path)
	}
}

func of(name, cgroup string, more ...string) string {
	labels := fmt.Sprintf("cgroup=%q", cgroup)
	for _, pair := range more {
		key, value, _ := strings.Cut(pair, "=")
		labels += fmt.Sprintf(",%s=%q", key, value)
	}
	return "uma_cgroup_" + name + "{" + labels + "}"
}

func TestCgroupsOfASparkWorkedOutByHand(t *testing.T) {
	series, outcome := cgroupPage(t, dockerSpark(t), CgroupOptions{})
	if outcome.State != OK {
		t.Fatal(outcome.State, outcome.Err)
	}
	const held = 96073 * mib
	wantSeries(t, series, map[string]float64{
		of("memory_current_bytes", engineScope):                 9663676416,
		of("memory_peak_bytes", engineScope):                    10737418240,
		of("memory_max_bytes", engineScope):                     34359738368,
		of("swap_bytes", engineScope):                           4096,
		of("memory_stat_bytes", engineScope, "kind=anon"):       4521984000,
		of("memory_stat_bytes", engineScope, "kind=kernel"):     631242752,
		of("memory_stat_bytes", engineScope, "kind=pagetables"): 37748736,
		// 631242752 - (369098752 + 7340032 + 37748736 + 12582912 + 2097152 + 1048576 + 0)
		of("kernel_other_bytes", engineScope):                                       201326592,
		of("memory_events_total", engineScope, "event=oom_kill"):                    1,
		of("memory_events_total", engineScope, "event=low"):                         0,
		of("pressure_waiting_seconds_total", engineScope, "resource=cpu"):           10.481234,
		of("pressure_stalled_seconds_total", engineScope, "resource=cpu"):           9.481234,
		of("cpu_seconds_total", engineScope, "mode=user"):                           0.8001,
		of("cpu_seconds_total", engineScope, "mode=system"):                         0.2425,
		of("tasks", engineScope):                                                    152,
		of("io_bytes_total", engineScope, "device=nvme0n1", "op=read"):              13220446208,
		of("io_bytes_total", engineScope, "device=nvme0n1", "op=discard"):           8192,
		of("io_operations_total", engineScope, "device=nvme0n1", "op=write"):        40124,
		of("gpu_memory_bytes", engineScope):                                         held,
		of("gpu_memory_bytes", "/system.slice"):                                     held,
		of("gpu_memory_bytes", idleScope):                                           0,
		of("gpu_memory_bytes", "/user.slice"):                                       218 * mib,
		of("gpu_memory_bytes", "/user.slice/user-1000.slice/session-2.scope"):       218 * mib,
		of("gpu_memory_bytes", "/init.scope"):                                       0,
		of("footprint_bytes", engineScope):                                          9663676416 - 2883940352 + held,
		of("footprint_bytes", idleScope):                                            9663676416 - 2883940352,
		of("limit_uncovered_ratio", engineScope):                                    float64(held) / (held + 9663676416),
		"uma_cgroup_excluded{}":                                                     0,
		`uma_collector_privilege{collector="cgroup",needs="host_cgroups"}`:          1,
		`uma_collector_privilege{collector="cgroup",needs="host_cgroup_namespace"}`: 1,
		`uma_cgroup_info{cgroup="` + engineScope + `",container="",container_id="` + engineID + `",image="",namespace="",parent="/system.slice",pod="",pod_uid="",runtime="docker"}`: 1,
		`uma_cgroup_info{cgroup="/system.slice",container="",container_id="",image="",namespace="",parent="/",pod="",pod_uid="",runtime=""}`:                                         1,
	})
	wantAbsent(t, series, of("memory_high_bytes", engineScope), of("memory_max_bytes", idleScope), of("limit_uncovered_ratio", idleScope),
		of("memory_stat_bytes", engineScope, "kind=sock"), of("memory_stat_bytes", engineScope, "kind=pgfault"))
	// ssh.service and user-1000.slice are neither on top nor containers, and no process in them holds anything.
	wantShown(t, series, "/init.scope", "/system.slice", "/user.slice", "/user.slice/user-1000.slice/session-2.scope", engineScope, idleScope)
}

func TestDetailShowsEveryAmountAndNoCount(t *testing.T) {
	series, _ := cgroupPage(t, dockerSpark(t), CgroupOptions{Detail: true})
	wantSeries(t, series, map[string]float64{
		of("memory_stat_bytes", engineScope, "kind=sock"):     4194304,
		of("memory_stat_bytes", engineScope, "kind=anon"):     4521984000,
		of("memory_stat_bytes", engineScope, "kind=anon_thp"): 2147483648,
		of("memory_stat_bytes", engineScope, "kind=zswap"):    0,
	})
	wantAbsent(t, series, of("memory_stat_bytes", engineScope, "kind=pgfault"), of("memory_stat_bytes", engineScope, "kind=thp_fault_alloc"))
}

func TestMoreCgroupsAreShownOnRequest(t *testing.T) {
	series, _ := cgroupPage(t, dockerSpark(t), CgroupOptions{Include: regexp.MustCompile(`ssh|user-\d+\.slice$`)})
	wantShown(t, series, "/init.scope", "/system.slice", "/user.slice", "/user.slice/user-1000.slice", "/user.slice/user-1000.slice/session-2.scope",
		engineScope, idleScope, "/system.slice/ssh.service")
}

func TestTheLimitKeepsWhatMattersAndCountsTheRest(t *testing.T) {
	host := dockerSpark(t)
	cgroups := dockerCgroups()
	charge := func(cgroup, bytes string) {
		cgroups[cgroup[1:]+"/memory.current"] = &fstest.MapFile{Data: []byte(bytes + "\n")}
	}
	charge("/init.scope", "5")
	charge("/system.slice", "50")
	charge("/user.slice", "500000000000") // not charged by containers or by what holds GPU memory
	charge("/system.slice/ssh.service", "900000000000")
	charge(idleScope, "7")
	charge(engineScope, "1")
	charge("/user.slice/user-1000.slice/session-2.scope", "2")
	host.Cgroup = onDisk(t, cgroups)
	include := regexp.MustCompile("ssh")
	for limit, want := range map[int][]string{
		2: {engineScope, "/user.slice/user-1000.slice/session-2.scope"},
		4: {engineScope, "/user.slice/user-1000.slice/session-2.scope", "/user.slice", "/system.slice"},
		6: {engineScope, "/user.slice/user-1000.slice/session-2.scope", "/user.slice", "/system.slice", idleScope, "/init.scope"},
		7: {engineScope, "/user.slice/user-1000.slice/session-2.scope", "/user.slice", "/system.slice", idleScope, "/init.scope", "/system.slice/ssh.service"},
	} {
		series, outcome := cgroupPage(t, host, CgroupOptions{Limit: limit, Include: include})
		if outcome.State != OK {
			t.Error(outcome.Err)
		}
		wantShown(t, series, want...)
		wantSeries(t, series, map[string]float64{"uma_cgroup_excluded{}": float64(7 - limit)})
	}
}

func TestGPUMemoryOfCgroupsIsAbsentWhereItIsNotKnown(t *testing.T) {
	container := dockerSpark(t)
	proc := replaced(sparkProc(), "6330/cgroup", "0::"+engineScope+"\n")
	proc["self/ns/pid"] = link("pid:[4026532455]")
	container.Proc = onDisk(t, proc)

	foreign := dockerSpark(t)
	foreign.ForeignGPU = true

	namespaced := dockerSpark(t)
	namespaced.Proc = onDisk(t, replaced(sparkProc(), "6330/cgroup", "0::/../docker-4f5b3a.scope\n"))

	hidden := dockerSpark(t)
	hidden.Proc = refusing(hidden.Proc, "/cgroup", unix.EPERM)

	with := func(d nvml.Driver) Host {
		host := dockerSpark(t)
		host.GPU = nvml.NewReader(d, nvml.ReaderOptions{})
		return host
	}
	for name, host := range map[string]Host{
		"in a PID namespace of its own":    container,
		"GPU of another machine":           foreign,
		"in a cgroup namespace of its own": namespaced,
		"cgroups of processes are hidden":  hidden,
		"no GPU":                           with(driver{opens: nvml.LibraryNotFound}),
		"driver that does not work":        with(driver{opens: nvml.LibRMVersionMismatch}),
		"a list that cannot be read":       with(gb10().with(nvml.CallComputeProcesses, nvml.Value{}, nvml.Unknown)),
		"a process without figure":         with(gb10().with(nvml.CallComputeProcesses, nvml.Value{Processes: []nvml.Process{{PID: 6330}}}, nvml.Success)),
	} {
		t.Run(name, func(t *testing.T) {
			series, outcome := cgroupPage(t, host, CgroupOptions{})
			if outcome.State != OK {
				t.Error(outcome.State, outcome.Err)
			}
			wantAbsent(t, series, "uma_cgroup_gpu_memory_bytes", "uma_cgroup_footprint_bytes", "uma_cgroup_limit_uncovered_ratio")
			wantSeries(t, series, map[string]float64{of("memory_current_bytes", engineScope): 9663676416})
		})
	}
}

func TestMemoryOfADiscreteGPUIsHeldButNoPartOfThePool(t *testing.T) {
	host := dockerSpark(t)
	host.GPU = nvml.NewReader(h200(), nvml.ReaderOptions{})
	series, _ := cgroupPage(t, host, CgroupOptions{})
	wantSeries(t, series, map[string]float64{of("gpu_memory_bytes", engineScope): 96073 * mib, of("gpu_memory_bytes", idleScope): 0})
	wantAbsent(t, series, "uma_cgroup_footprint_bytes", "uma_cgroup_limit_uncovered_ratio")
}

func TestNothingIsUncoveredByTheLimitOfAnEmptyCgroup(t *testing.T) {
	host := dockerSpark(t)
	host.Cgroup = onDisk(t, replaced(replaced(dockerCgroups(), idleScope[1:]+"/memory.current", "0\n"), idleScope[1:]+"/memory.max", "1048576\n"))
	series, outcome := cgroupPage(t, host, CgroupOptions{})
	if outcome.State != OK {
		t.Error(outcome.Err)
	}
	wantSeries(t, series, map[string]float64{of("limit_uncovered_ratio", idleScope): 0})
}

func TestWithoutCgroup2TheCollectorIsAbsentAndSaysWhy(t *testing.T) {
	for why, cgroups := range map[string]fstest.MapFS{
		"cgroup v1 at":                 tree(map[string]string{"memory/memory.usage_in_bytes": "1\n", "unified/cgroup.controllers": "\n"}),
		"no cgroups at all":            tree(nil),
		"is the cgroup of a container": replaced(dockerCgroups(), "memory.current", "4096\n"),
	} {
		host := dockerSpark(t)
		host.Cgroup = onDisk(t, cgroups)
		series, outcome := cgroupPage(t, host, CgroupOptions{})
		if outcome.State != Absent || !strings.Contains(outcome.Reason(), why) {
			t.Errorf("%s: %s, %v", why, outcome.State, outcome.Err)
		}
		wantAbsent(t, series, "uma_cgroup_")
		wantSeries(t, series, map[string]float64{`uma_collector_privilege{collector="cgroup",needs="host_cgroups"}`: 0})
	}
}

func TestATreeThatMustNotBeListedIsAFailure(t *testing.T) {
	host := dockerSpark(t)
	host.Cgroup.Refuse = func(name string) error {
		if name == "." {
			return fs.ErrPermission
		}
		return nil
	}
	series, outcome := cgroupPage(t, host, CgroupOptions{})
	if outcome.State != Failed || !errors.Is(outcome.Err, fs.ErrPermission) {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantAbsent(t, series, "uma_cgroup_") // not even a counted 0 of what was left out
}

func TestTheCgroupNamespaceMattersWithAGPUOnly(t *testing.T) {
	host := dockerSpark(t)
	proc := sparkProc()
	proc["self/ns/cgroup"] = link("cgroup:[4026532455]")
	host.Proc = onDisk(t, proc)
	if !seesWholeCgroupPaths(host) {
		t.Error("missed on a machine without a driver")
	}
	if seesWholeCgroupPaths(withModule(t, host)) {
		t.Error("not missed on a machine with a driver")
	}
	if !seesWholeCgroupPaths(withModule(t, dockerSpark(t))) {
		t.Error("missed on a recording that does not say")
	}
}

func TestTroubleOfOneCgroupCostsItsValuesOnly(t *testing.T) {
	host := dockerSpark(t)
	host.Cgroup = onDisk(t, replaced(replaced(dockerCgroups(), idleScope[1:]+"/memory.peak", "garbage\n"), idleScope[1:]+"/memory.stat", "garbage\n"))
	series, outcome := cgroupPage(t, host, CgroupOptions{})
	if outcome.State != Failed || !strings.Contains(outcome.Reason(), idleScope[1:]+"/memory.stat") {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{of("memory_current_bytes", idleScope): 9663676416, of("memory_peak_bytes", engineScope): 10737418240})
	wantAbsent(t, series, of("memory_peak_bytes", idleScope), of("memory_stat_bytes", idleScope, "kind=anon"))
}

// TestFilesOfTwoCgroupsAreNoReading: a container that is removed and made again while it is read has the same path.
func TestFilesOfTwoCgroupsAreNoReading(t *testing.T) {
	host := dockerSpark(t)
	at := filepath.Join(host.Cgroup.Path, idleScope)
	again := sync.OnceValue(func() error {
		return errors.Join(os.Rename(at, filepath.Join(t.TempDir(), "removed")), os.CopyFS(at, os.DirFS(filepath.Join(host.Cgroup.Path, engineScope))))
	})
	host.Cgroup.Refuse = func(name string) error {
		if name == idleScope[1:]+"/memory.peak" {
			return again()
		}
		return nil
	}
	series, outcome := cgroupPage(t, host, CgroupOptions{})
	if shown := shownCgroups(series); shown[idleScope] || !shown[engineScope] || outcome.State != OK {
		t.Errorf("%v, %s, %v", shown, outcome.State, outcome.Err)
	}
}

func TestAKernelBefore518HasNoRestOfKernelMemory(t *testing.T) {
	host := dockerSpark(t)
	host.Cgroup = onDisk(t, replaced(without(dockerCgroups(), engineScope[1:]+"/memory.peak"), engineScope[1:]+"/memory.stat", "anon 5\nslab 7\ninactive_file 1\n"))
	series, outcome := cgroupPage(t, host, CgroupOptions{})
	if outcome.State != OK {
		t.Error(outcome.Err)
	}
	wantAbsent(t, series, of("kernel_other_bytes", engineScope), of("memory_stat_bytes", engineScope, "kind=kernel"), of("memory_peak_bytes", engineScope))
	wantSeries(t, series, map[string]float64{of("memory_stat_bytes", engineScope, "kind=slab"): 7})
}

func TestACollectionThatIsOutOfTimeServesWhatItHasRead(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	host := dockerSpark(t)
	spec := cgroupSpec()
	batch := newBatch(newFamilies(spec.Metrics))
	err := spec.Open(host, Options{})(ended, NewSample(host, Options{}), batch)
	if err == nil || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestAPanicWhileCgroupsAreReadIsContained: a panic of a goroutine ends the process.
func TestAPanicWhileCgroupsAreReadIsContained(t *testing.T) {
	host := dockerSpark(t)
	host.Cgroup.Refuse = func(name string) error {
		if strings.HasSuffix(name, "memory.peak") {
			panic("broken")
		}
		return nil
	}
	_, outcome := cgroupPage(t, host, CgroupOptions{})
	if outcome.State != Failed || !strings.Contains(outcome.Reason(), "panic: broken") {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
}

func TestInParallelDoesEachOnceAndTakesOneAtATime(t *testing.T) {
	var done [100]atomic.Int32
	taking, sum := false, 0
	inParallel(len(done), func(i int) int { done[i].Add(1); return i }, func(i int) {
		if taking {
			t.Error("two at a time")
		}
		taking = true
		sum += i
		taking = false
	})
	for i := range done {
		if n := done[i].Load(); n != 1 {
			t.Errorf("%d was done %d times", i, n)
		}
	}
	if sum != 99*100/2 {
		t.Errorf("sum %d", sum)
	}
	inParallel(0, func(int) int { t.Error("something of nothing"); return 0 }, func(int) {})
}

// TestCgroupsThatComeAndGoLeaveNothingBehind makes and removes hundreds of containers on disk while pages are made.
func TestCgroupsThatComeAndGoLeaveNothingBehind(t *testing.T) {
	root := t.TempDir()
	write := func(cgroup string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(root, cgroup), 0o755); err != nil {
			t.Error(err)
		}
		for file, text := range containerFiles() {
			// As the kernel does it: a file is there whole or not at all.
			part := filepath.Join(root, fmt.Sprintf(".part-%s", file))
			if err := errors.Join(os.WriteFile(part, []byte(text), 0o644), os.Rename(part, filepath.Join(root, cgroup, file))); err != nil {
				t.Error(err)
			}
		}
	}
	write("system.slice")
	if err := os.WriteFile(filepath.Join(root, "cgroup.controllers"), []byte("memory\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	scope := func(i int) string { return fmt.Sprintf("system.slice/docker-%064x.scope", i) }
	host := dockerSpark(t)
	host.Cgroup = hostfs.Dir{Path: root}
	runner := NewRunner(host, Options{}, []Spec{cgroupSpec()}, RunnerSettings{})

	const containers, alive = 300, 20
	var churn sync.WaitGroup
	churned := make(chan struct{})
	churn.Go(func() {
		defer close(churned)
		for i := range containers {
			write(scope(i))
			if i >= alive {
				if err := os.RemoveAll(filepath.Join(root, scope(i-alive))); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for busy := true; busy; {
		select {
		case <-churned:
			busy = false
		default:
		}
		scrape := mustScrape(t, runner, t.Context())
		if outcome := scrape.Outcomes[0]; outcome.State != OK {
			t.Fatalf("%s: %v", outcome.State, outcome.Err)
		}
	}
	churn.Wait()
	series := gather(t, mustScrape(t, runner, t.Context()))
	want := []string{"/system.slice"}
	for i := containers - alive; i < containers; i++ {
		want = append(want, "/"+scope(i))
	}
	wantShown(t, series, want...)
}

// containerFiles are the files of a cgroup as a kernel of today writes them: memory.stat has some 60 lines.
func containerFiles() map[string]string {
	const pressure = "some avg10=0.00 avg60=0.12 avg300=0.05 total=10481234\nfull avg10=0.00 avg60=0.10 avg300=0.04 total=9481234\n"
	return map[string]string{
		"memory.current": "9663676416\n", "memory.peak": "10737418240\n", "memory.max": "34359738368\n", "memory.high": "max\n",
		"memory.swap.current": "4096\n", "memory.events": "low 0\nhigh 12\nmax 3\noom 1\noom_kill 1\noom_group_kill 0\n",
		"memory.stat": containerMemoryStat, "io.stat": "259:0 rbytes=13220446208 wbytes=41908961280 rios=12608 wios=40124 dbytes=8192 dios=2\n",
		"memory.pressure": pressure, "io.pressure": pressure, "cpu.pressure": pressure,
		"cpu.stat": "usage_usec 1042600\nuser_usec 800100\nsystem_usec 242500\n", "pids.current": "152\n",
	}
}

const containerMemoryStat = `anon 4521984000
file 4806569984
kernel 631242752
kernel_stack 7340032
pagetables 37748736
sec_pagetables 12582912
percpu 2097152
sock 4194304
vmalloc 1048576
shmem 1073741824
zswap 0
zswapped 0
file_mapped 1291845632
file_dirty 0
file_writeback 0
swapcached 0
anon_thp 2147483648
file_thp 0
shmem_thp 0
inactive_anon 5315018752
active_anon 280707072
inactive_file 2883940352
active_file 848887808
unevictable 0
slab_reclaimable 247463936
slab_unreclaimable 121634816
slab 369098752
workingset_refault_anon 0
workingset_refault_file 1120
workingset_activate_anon 0
workingset_activate_file 811
workingset_restore_anon 0
workingset_restore_file 0
workingset_nodereclaim 0
pgdemote_kswapd 0
pgdemote_direct 0
pgdemote_khugepaged 0
pgpromote_success 0
pgscan 0
pgsteal 0
pgscan_kswapd 0
pgscan_direct 0
pgscan_khugepaged 0
pgsteal_kswapd 0
pgsteal_direct 0
pgsteal_khugepaged 0
pgfault 1203344
pgmajfault 17
pgrefill 0
pgactivate 0
pgdeactivate 0
pglazyfree 0
pglazyfreed 0
swpin_zero 0
swpout_zero 0
zswpin 0
zswpout 0
zswpwb 0
thp_fault_alloc 1024
thp_collapse_alloc 0
thp_swpout 0
thp_swpout_fallback 0
`
