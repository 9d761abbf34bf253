package collector

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
	"github.com/umascope/umascope/exporter/snapshot"
)

// entries are what a host's procfs has beyond the Spark's: files, or links named "path -> target".
type entries map[string]string

// withEntries is the Spark with them. An archive holds them, since its links to open files lead to files as procfs
// has them.
func withEntries(t *testing.T, more entries) Host {
	t.Helper()
	var text strings.Builder
	text.WriteString("kind: constructed\npage_size: 4096\n-- nvml.jsonl --\n" +
		`{"format":"umascope nvml recording","version":1}` + "\n" + `{"device":-1,"call":"nvmlInit_v2","return":12}` + "\n")
	for name, file := range without(sparkProc(), "3150/") { // the desktop has ended
		if file.Mode&fs.ModeSymlink != 0 {
			name += " -> " + string(file.Data)
			file.Data = nil
		}
		fmt.Fprintf(&text, "-- proc/%s --\n%s", name, file.Data)
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		fmt.Fprintf(&text, "-- proc/%s --\n%s\n", name, strings.TrimSuffix(more[name], "\n"))
	}
	recorded, err := snapshot.Read([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	files, err := recorded.Unpack(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	host := spark(t)
	host.Proc = files.Proc
	return host
}

const (
	mapsWithout = "7f2b1c000000-7f2b1c2f0000 r-xp 00000000 103:02 77    /usr/lib/libc.so.6\n"
	mapsWith    = mapsWithout + "7f2b1d000000-7f2b1d2f0000 r-xp 00000000 103:02 78    /opt/venv/nvidia/cufile/lib/libcufile.so.0\n"
	mapsRDMA    = mapsWith + "7f2b1e000000-7f2b1e2f0000 r-xp 00000000 103:02 79    /opt/venv/nvidia/cufile/lib/libcufile_rdma.so.1\n"
)

// worker is process 6330 with these mappings and, beside them, what else it has.
func worker(mappings string, more entries) entries {
	all := entries{
		"6330/stat":              fmt.Sprintf("6330 (VLLM::EngineCor) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 18 0 9933 0 0 0"+"%s\n", strings.Repeat(" 0", 30)),
		"6330/status":            "Name:\tVLLM::EngineCor\nNSpid:\t6330\t276\n",
		"6330/maps":              mappings,
		"6330/environ":           "API_KEY=hunter2\x00",
		"6330/fd/0 -> /dev/null": "",
	}
	maps.Copy(all, more)
	return all
}

func openFile(fd int, target, flags string, inode int) entries {
	return entries{
		fmt.Sprintf("6330/fd/%d -> %s", fd, target): "size: 4096\n",
		fmt.Sprintf("6330/fdinfo/%d", fd):           fmt.Sprintf("pos:\t0\nflags:\t%s\nmnt_id:\t31\nino:\t%d\n", flags, inode),
	}
}

func all(parts ...entries) entries {
	joined := entries{}
	for _, part := range parts {
		maps.Copy(joined, part)
	}
	return joined
}

// modes are the modes on a page that some process is in.
func modes(series map[string]float64) string {
	var found []string
	for _, mode := range []string{"absent", "posix", "compat", "nvfs", "p2pdma", "unknown"} {
		count, there := series[`uma_cufile_processes{mode="`+mode+`"}`]
		if !there || count > 0 {
			found = append(found, fmt.Sprintf("%s %v", mode, count))
		}
	}
	return strings.Join(found, ", ")
}

func TestModeOfAProcessFromWhatIsSeenOfIt(t *testing.T) {
	const notice = " 09-06-2025 07:00:09:116 [pid=%d tid=276] NOTICE  cufio-drv:830 running in compatible mode\n"
	log := func(pid int) entries {
		return all(openFile(9, "/workspace/cufile.log", "0102001", 5), entries{"6330/root/workspace/cufile.log": fmt.Sprintf(notice, pid)})
	}
	nvidiaFS := entries{"6330/fd/12 -> /dev/nvidia-fs0": ""}
	direct, buffered := openFile(20, "/models/weights (deleted)", "02140002", 42), openFile(21, "/models/weights (deleted)", "02100002", 42)
	tests := []struct {
		name string
		more entries
		sys  map[string]string
		want string
	}{
		{name: "no cuFile", more: worker(mapsWithout, nil), want: "absent 1"},
		{name: "direct I/O without cuFile", more: worker(mapsWithout, direct), want: "posix 1"},
		{name: "mapped and idle", more: worker(mapsWith, buffered), want: "absent 1"},
		{name: "nvidia-fs", more: worker(mapsWith, nvidiaFS), want: "nvfs 1"},
		{name: "log of this process by its own number", more: worker(mapsWith, log(276)), want: "compat 1"},
		{name: "log of another process, compat all that is left", more: worker(mapsWith, log(6330)), want: "compat 1"},
		{name: "log of another process, GPU memory within reach", more: worker(mapsWith, log(6330)),
			sys: map[string]string{"bus/pci/drivers/nvidia/0000:41:00.0/p2pmem/size": "1\n"}, want: "unknown 1"},
		{name: "one file open twice", more: worker(mapsWith, all(direct, buffered)), want: "compat 1"},
		{name: "one file open twice, network file systems possible", more: worker(mapsRDMA, all(direct, buffered)), want: "unknown 1"},
		{name: "compat forbidden", more: worker(mapsWith, all(direct, buffered, entries{"6330/root/etc/cufile.json": `{"properties": {"allow_compat_mode": false}}`})), want: "unknown 1"},
		{name: "configuration broken", more: worker(mapsWith, all(direct, buffered, entries{"6330/root/etc/cufile.json": "{"})), want: "unknown 1"},
		{name: "compat demanded by environment", more: worker(mapsWith, all(nvidiaFS, entries{"6330/environ": "CUFILE_FORCE_COMPAT_MODE=TRUE\x00"})), want: "compat 1"},
		{name: "compat demanded by configuration", more: worker(mapsWith, all(nvidiaFS, entries{
			"6330/environ": "CUFILE_ENV_PATH_JSON=my.json\x00", "6330/root/srv/my.json": `{"properties": {"force_compat_mode": true}}`, "6330/cwd -> /srv": ""})), want: "compat 1"},
		{name: "nothing recorded of it", more: entries{"6330/stat": worker("", nil)["6330/stat"]}, want: "unknown 1"},
		{name: "hidden", more: entries{"6330/stat": "\n"}, want: "unknown 1"},
	}
	for _, test := range tests {
		host := withEntries(t, test.more)
		if test.sys != nil {
			host.Sys = onDisk(t, tree(test.sys))
		}
		series, outcome := page(t, cufileSpec(), host, Options{})
		if got := modes(series); got != test.want || outcome.State != OK {
			t.Errorf("%s: %s, want %s; %s, %v", test.name, got, test.want, outcome.State, outcome.Err)
		}
	}
}

func TestEveryModeHasACountAndProcessesWithCuFileSayWhy(t *testing.T) {
	series, outcome := page(t, cufileSpec(), withEntries(t, worker(mapsWith, entries{"6330/fd/12 -> /dev/nvidia-fs0": ""})), Options{})
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{
		`uma_cufile_processes{mode="absent"}`: 0, `uma_cufile_processes{mode="posix"}`: 0, `uma_cufile_processes{mode="compat"}`: 0,
		`uma_cufile_processes{mode="nvfs"}`: 1, `uma_cufile_processes{mode="p2pdma"}`: 0, `uma_cufile_processes{mode="unknown"}`: 0,
		`uma_cufile_process_info{cgroup="` + engineCgroup + `",comm="VLLM::EngineCor",evidence="nvidia_fs_open",mode="nvfs",pid="6330"}`: 1,
	})
	wantAbsent(t, series, "uma_cufile_nvfs", "uma_cufile_log", "uma_cufile_config")
}

func TestSettingsAreShownOncePerContainer(t *testing.T) {
	const config = `{ // the container's
		"properties": {"allow_compat_mode": true, "max_direct_io_size_kb": 16384}, "profile": {"cufile_stats": 3}}`
	second := entries{}
	for name, text := range worker(mapsWith, nil) {
		second[strings.ReplaceAll(name, "6330", "3150")] = strings.ReplaceAll(text, "6330", "3150")
	}
	delete(second, "3150/environ")
	host := withEntries(t, all(worker(mapsWith, entries{"6330/root/etc/cufile.json": config}), second, entries{"3150/cgroup": "0::/user.slice\n",
		"3150/environ": "CUFILE_ENV_PATH_JSON=/etc/broken.json\x00", "3150/root/etc/broken.json": "{"}))
	series, outcome := page(t, cufileSpec(), host, Options{})
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	at := `{cgroup="` + engineCgroup + `",path="/etc/cufile.json"`
	wantSeries(t, series, map[string]float64{
		"uma_cufile_config_readable" + at + "}":                                       1,
		"uma_cufile_config_enabled" + at + `,setting="properties.allow_compat_mode"}`: 1,
		"uma_cufile_config_bytes" + at + `,setting="properties.max_direct_io_size"}`:  16 << 20,
		"uma_cufile_config_value" + at + `,setting="profile.cufile_stats"}`:           3,
		`uma_cufile_config_readable{cgroup="/user.slice",path="/etc/broken.json"}`:    0,
	})
	wantAbsent(t, series, `uma_cufile_config_enabled{cgroup="/user.slice"`, "hunter2")
}

func TestMessagesAreCountedOnceHoweverTheLogChanges(t *testing.T) {
	const line = " 09-06-2025 07:01:23:837 [pid=276 tid=454] ERROR  cufio-udev:67 udev property not found: ID_FS_USAGE dm-0\n"
	host := withEntries(t, worker(mapsWith, openFile(9, "/workspace/cufile.log", "0102001", 5)))
	runner := NewRunner(host, Options{}, []Spec{cufileSpec()}, RunnerSettings{})
	for _, step := range []struct {
		what, text string
		errors     float64
	}{
		{"empty", "", 0}, {"two", line + line, 2}, {"nothing new", line + line, 2}, {"half a line", line + line + line[:20], 2},
		{"the other half", line + line + line, 3}, {"begun anew", line, 4}, {"no message", line + "properties.x : 1\n", 4},
		{"another level", line + "properties.x : 1\n" + strings.Replace(line, "ERROR", "WARN", 1), 4},
	} {
		overwrite(t, host.Proc, "6330/root/workspace/cufile.log", step.text)
		series := gather(t, mustScrape(t, runner, t.Context()))
		if got, there := series[`uma_cufile_log_messages_total{level="ERROR"}`]; got != step.errors || !there {
			t.Errorf("%s: %v errors (there: %v), want %v", step.what, got, there, step.errors)
		}
		if _, there := series[`uma_cufile_log_messages_total{level="TRACE"}`]; !there {
			t.Errorf("%s: a level without messages is absent", step.what)
		}
	}
}

func TestProcessesThatShareALogAreCountedOnce(t *testing.T) {
	logs := newCuFileLogs()
	proc := onDisk(t, tree(map[string]string{"1/root/log": " 09-06-2025 07:01:23:837 [pid=1 tid=1] ERROR  a:1 x\n"}))
	first, again := logs.follow(proc, 1, "/log"), logs.follow(proc, 1, "/log")
	if first == nil || first != again || logs.messages["ERROR"] != 1 {
		t.Errorf("%v", logs.messages)
	}
	others := onDisk(t, nil)
	for pid := range uint32(2 * maxFollowedLogs) {
		overwrite(t, others, fmt.Sprintf("%d/root/log", pid), "")
		logs.follow(others, pid, "/log")
	}
	if len(logs.files) != maxFollowedLogs {
		t.Errorf("%d logs are kept", len(logs.files))
	}
}

func TestALogThatIsStillWrittenIsNotForgottenForThoseOfEndedProcesses(t *testing.T) {
	logs := newCuFileLogs()
	lasting := onDisk(t, tree(map[string]string{"1/root/log": " 09-06-2025 07:01:23:837 [pid=1 tid=1] ERROR  a:1 x\n"}))
	others := onDisk(t, nil)
	for pid := uint32(2); pid < 3*maxFollowedLogs; pid++ {
		logs.follow(lasting, 1, "/log")
		overwrite(t, others, fmt.Sprintf("%d/root/log", pid), "")
		logs.follow(others, pid, "/log")
	}
	if got := logs.messages["ERROR"]; got != 1 {
		t.Errorf("one message is counted %d times", got)
	}
}

func TestOfAProcessFewLogsAreFollowedAndEachOnce(t *testing.T) {
	opened := all(openFile(7, "/workspace/cufile.log", "0102001", 5), openFile(8, "/workspace/cufile.log", "0102001", 5))
	for fd := range 100 {
		maps.Copy(opened, openFile(9+fd, fmt.Sprintf("/workspace/cufile_%d.log", fd), "0102001", 6+fd))
	}
	look := inspect(withEntries(t, worker(mapsWith, opened)), 6330)
	slices.Sort(look.logs)
	if n := len(look.logs); n != maxLogsOfProcess || len(slices.Compact(look.logs)) != n {
		t.Errorf("%d logs: %q", n, look.logs)
	}
}

func TestAProcessIsLookedIntoAtMostThreeTimesAMinute(t *testing.T) {
	host := withEntries(t, worker(mapsWith, nil))
	var reads counting
	start := time.Unix(1_800_000_000, 0)
	now := start
	host.Proc, host.Now = reads.in(host.Proc), func() time.Time { return now }
	runner := NewRunner(host, Options{}, []Spec{cufileSpec()}, RunnerSettings{})
	for _, step := range []struct {
		at    time.Duration
		reads int
	}{{0, 1}, {time.Second, 1}, {19 * time.Second, 1}, {20 * time.Second, 2}, {39 * time.Second, 2}, {40 * time.Second, 3}, {-time.Hour, 4}} {
		now = start.Add(step.at)
		if got := modes(gather(t, mustScrape(t, runner, t.Context()))); got != "absent 1" || reads.reads["6330/maps"] != step.reads {
			t.Errorf("after %v: %s, read %d times, want %d", step.at, got, reads.reads["6330/maps"], step.reads)
		}
	}
}

func TestWhenTheTimeIsUpNoPartOfTheProcessesIsCounted(t *testing.T) {
	host := withEntries(t, worker(mapsWith, nil))
	c := newCuFileCollector(host)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if looks, err := c.lookInto(ctx, []uint32{6330}); err == nil || looks != nil {
		t.Errorf("%v, %v", looks, err)
	}
	if looks, err := c.lookInto(t.Context(), []uint32{6330}); err != nil || len(looks) != 1 {
		t.Errorf("%v, %v", looks, err)
	}
	if looks, err := c.lookInto(ctx, []uint32{6330}); err != nil || len(looks) != 1 {
		t.Errorf("seen before: %v, %v", looks, err)
	}
}

const nvidiaFSStats = `GDS Version: 1.17.1.22 
NVFS statistics(ver: 4.0)
NVFS Driver(version: 2.28.4)
IO stats: Enabled, peer IO stats: Enabled

Active Shadow-Buffer (MiB): 64
Reads				: n=12608 ok=12606 err=2 readMiB=12607 io_state_err=0
Writes				: n=5 ok=5 err=0 writeMiB=6 io_state_err=1 pg-cache=0 pg-cache-fail=0 pg-cache-eio=0
Error				: cpu-gpu-pages=0 sg-ext=0 dma-map=3 dma-ref=0
GPU 0000:41:00.0  uuid:0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9 : Registered_MiB=64 Cache_MiB=0 max_pinned_MiB=128 
`

func TestNvidiaFSIsShownWithOrWithoutAGPU(t *testing.T) {
	host := spark(t)
	host.GPU = nvml.NewReader(driver{opens: nvml.LibraryNotFound}, nvml.ReaderOptions{})
	if series, outcome := page(t, cufileSpec(), host, Options{}); outcome.State != Absent || len(modes(series)) != len("absent 0, posix 0, compat 0, nvfs 0, p2pdma 0, unknown 0") {
		t.Errorf("neither: %s, %v, %s", outcome.State, outcome.Err, modes(series))
	}
	host.Proc = onDisk(t, replaced(replaced(sparkProc(), "driver/nvidia-fs/stats", nvidiaFSStats), "driver/nvidia-fs/modules", "nvme: 1.0\n"))
	host.Sys = onDisk(t, replaced(sparkSys(), "module/nvidia_fs/parameters/rw_stats_enabled", "1\n"))
	series, outcome := page(t, cufileSpec(), host, Options{})
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{
		`uma_cufile_nvfs_info{gds_version="1.17.1.22",version="2.28.4"}`: 1, `uma_cufile_nvfs_module_info{name="nvme",version="1.0"}`: 1,
		`uma_cufile_nvfs_rw_stats_enabled{}`: 1, `uma_cufile_nvfs_shadow_buffer_bytes{}`: 64 << 20,
		`uma_cufile_nvfs_operations_total{op="read"}`: 12608, `uma_cufile_nvfs_operations_total{op="write"}`: 5,
		`uma_cufile_nvfs_bytes_total{op="read"}`: 12607 << 20, `uma_cufile_nvfs_bytes_total{op="write"}`: 6 << 20,
		`uma_cufile_nvfs_errors_total{op="read"}`: 2, `uma_cufile_nvfs_errors_total{op="write_io_state"}`: 1, `uma_cufile_nvfs_errors_total{op="dma_map"}`: 3,
		`uma_cufile_nvfs_registered_bytes{uuid="GPU-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"}`: 64 << 20,
	})
	wantAbsent(t, series, "uma_cufile_processes{")
	host.Proc = onDisk(t, replaced(sparkProc(), "driver/nvidia-fs/stats", "no statistics\n"))
	if _, outcome := page(t, cufileSpec(), host, Options{}); outcome.State != Failed {
		t.Errorf("broken: %s, %v", outcome.State, outcome.Err)
	}
}

func TestProcessesThatMayNotBeLookedIntoAreUnknown(t *testing.T) {
	host := spark(t)
	proc := without(sparkProc(), "3150/")
	for name, text := range map[string]string{"6330/stat": worker("", nil)["6330/stat"], "6330/maps": "", "1/io": ""} {
		proc[name] = &fstest.MapFile{Data: []byte(text)}
	}
	dir := onDisk(t, proc)
	host.Proc = refusing(dir, "/maps", unix.EACCES)
	series, outcome := page(t, cufileSpec(), host, Options{})
	if got := modes(series); got != "unknown 1" || outcome.State != OK {
		t.Errorf("%s; %s, %v", got, outcome.State, outcome.Err)
	}
	host.Proc = refusing(dir, "/io", unix.EACCES)
	series, _ = page(t, cufileSpec(), host, Options{})
	wantSeries(t, series, map[string]float64{`uma_collector_privilege{collector="cufile",needs="ptrace"}`: 0})
}

func TestProcessesOfAnotherMachineAreNotLookedInto(t *testing.T) {
	host := withEntries(t, worker(mapsWith, nil))
	host.ForeignGPU = true
	if series, outcome := page(t, cufileSpec(), host, Options{}); outcome.State != Absent {
		t.Errorf("%s, %v, %s", outcome.State, outcome.Err, modes(series))
	}
}

// TestAProcessOfTheRunningKernelIsLookedInto makes this very process look like one that uses cuFile: a file by the
// library's name is mapped, and a log is open.
func TestAProcessOfTheRunningKernelIsLookedInto(t *testing.T) {
	directory, pid := t.TempDir(), uint32(os.Getpid())
	library, err := os.Create(filepath.Join(directory, "libcufile.so.1.15.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	if err := library.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	mapped, err := unix.Mmap(int(library.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mapped)
	log, err := os.Create(filepath.Join(directory, "cufile.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	host := Host{Proc: hostfs.Dir{Path: "/proc"}, Sys: onDisk(t, nil), Now: time.Now}
	look, logs := inspect(host, pid), newCuFileLogs()
	if !look.evidence.Inspected || !look.evidence.Loaded || !look.evidence.LogOpen || !slices.Contains(look.logs, log.Name()) {
		t.Fatalf("%+v", look)
	}
	if look.evidence.NvidiaFS || logs.evidence(host.Proc, look).Log != (hostfs.CuFileLogMarks{}) {
		t.Errorf("%+v", look)
	}
	status, err := hostfs.ReadProcessStatus(host.Proc, pid)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(log, " 09-06-2025 07:00:09:116 [pid=%d tid=1] NOTICE  cufio-drv:830 running in compatible mode\n", status.InnerPID)
	if verdict := logs.evidence(host.Proc, look).Judge(); verdict != (hostfs.CuFileVerdict{Mode: hostfs.CuFileCompat, Evidence: "log"}) {
		t.Errorf("%+v", verdict)
	}
}
