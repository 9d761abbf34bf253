package collector

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/nvml"
)

// withProcess adds a process's files to a procfs.
func withProcess(proc fstest.MapFS, pid uint32, comm string, startTicks int, anonKiB int) fstest.MapFS {
	more := fstest.MapFS{}
	maps.Copy(more, proc)
	at := fmt.Sprint(pid) + "/"
	for name, text := range map[string]string{
		"comm": comm + "\n",
		"stat": fmt.Sprintf("%d (%s) S 1 1 1 0 -1 0 0 0 0 0 2116 673 0 0 20 0 18 0 %d 0 0 0"+strings.Repeat(" 0", 30)+"\n", pid, comm, startTicks),
		"status": fmt.Sprintf("Name:\t%s\nRssAnon:\t%8d kB\nRssFile:\t     200 kB\nRssShmem:\t     100 kB\nVmSwap:\t       8 kB\nHugetlbPages:\t       0 kB\n",
			comm, anonKiB),
		"io":     "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 512\n",
		"cgroup": "0::" + engineCgroup + "\n",
	} {
		more[at+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return more
}

// busySpark has files for the engine, the desktop, and two processes that use no GPU.
func busySpark(t testing.TB) Host {
	host := spark(t)
	proc := replaced(sparkProc(), "stat", "cpu  1 1 1 1 1 1 1 1 0 0\nbtime 1700000000\n")
	proc = withProcess(proc, 6330, "VLLM::EngineCor", 9933, 1000)
	proc = withProcess(proc, 6331, "python3", 9950, 500)
	host.Proc = onDisk(t, withProcess(proc, 6332, "python3", 9960, 700))
	return host
}

func options(limit int, match string) Options {
	o := Options{ProcessLimit: limit}
	if match != "" {
		o.Processes.Match = regexp.MustCompile(match)
	}
	return o
}

func TestProcessesOfTheGPUWorkedOutByHand(t *testing.T) {
	series, outcome := page(t, processSpec(), busySpark(t), options(20, ""))
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	label := func(more string) string {
		return `{cgroup="` + engineCgroup + `",comm="VLLM::EngineCor",` + more + `pid="6330"}`
	}
	want := map[string]float64{
		"uma_process_resident_bytes" + label(`kind="anon",`):          1000 * 1024,
		"uma_process_resident_bytes" + label(`kind="file",`):          200 * 1024,
		"uma_process_resident_bytes" + label(`kind="shmem",`):         100 * 1024,
		"uma_process_resident_bytes" + label(`kind="hugetlb",`):       0,
		"uma_process_swap_bytes" + label(""):                          8 * 1024,
		"uma_process_cpu_seconds_total" + label(""):                   27.89,
		"uma_process_threads" + label(""):                             18,
		"uma_process_start_time_seconds" + label(""):                  1700000099.33,
		"uma_process_io_bytes_total" + label(`op="read",`):            4096,
		"uma_process_io_bytes_total" + label(`op="write",`):           8192,
		"uma_process_io_bytes_total" + label(`op="cancelled_write",`): 512,
		`uma_collector_privilege{collector="process",needs="ptrace"}`: 1,
	}
	wantSeries(t, series, want)
	// The desktop holds GPU memory too, but its files are gone: it has ended.
	wantAbsent(t, series, `uma_process_threads{cgroup="/user.slice"`, `uma_process_threads{cgroup="`+engineCgroup+`",comm="python3"`)
}

// pidsShown lists the PIDs on a page.
func pidsShown(series map[string]float64) []string {
	var pids []string
	for name := range series {
		if label, found := strings.CutPrefix(name, "uma_process_threads{"); found {
			_, pid, _ := strings.Cut(label, `pid="`)
			pids = append(pids, strings.TrimSuffix(pid, `"}`))
		}
	}
	slices.Sort(pids)
	return pids
}

func TestGPUProcessesComeFirstThenTheLargestByName(t *testing.T) {
	for _, test := range []struct {
		limit int
		match string
		want  []string
	}{
		{20, "", []string{"6330"}},
		{20, "^python", []string{"6330", "6331", "6332"}},
		{3, "^python", []string{"6330", "6332"}}, // the desktop, which has ended, takes a place
		{20, "EngineCor", []string{"6330"}},
		{0, ".", nil},
	} {
		series, outcome := page(t, processSpec(), busySpark(t), options(test.limit, test.match))
		if got := pidsShown(series); !slices.Equal(got, test.want) || outcome.State != OK {
			t.Errorf("limit %d, %q: %v, want %v; %s, %v", test.limit, test.match, got, test.want, outcome.State, outcome.Err)
		}
	}
}

func TestWithoutAGPUProcessesAreShownByNameOrNotAtAll(t *testing.T) {
	host := busySpark(t)
	host.GPU = nvml.NewReader(driver{opens: nvml.LibraryNotFound}, nvml.ReaderOptions{})
	if series, outcome := page(t, processSpec(), host, options(20, "")); outcome.State != Absent || len(pidsShown(series)) > 0 {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	if series, outcome := page(t, processSpec(), host, options(20, "python3")); outcome.State != OK || len(pidsShown(series)) != 2 {
		t.Errorf("%s: %v, %v", outcome.State, outcome.Err, pidsShown(series))
	}
	foreign := busySpark(t)
	foreign.ForeignGPU = true
	if series, outcome := page(t, processSpec(), foreign, options(20, "")); outcome.State != Absent || len(pidsShown(series)) > 0 {
		t.Errorf("another machine's GPU: %s, %v", outcome.State, outcome.Err)
	}
}

func TestWhatMayNotBeReadIsAbsentAndSaysWhatItNeeds(t *testing.T) {
	host := busySpark(t)
	host.Proc = refusing(host.Proc, "/io", unix.EACCES)
	series, outcome := page(t, processSpec(), host, options(20, ""))
	if outcome.State != OK || len(pidsShown(series)) != 1 {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantAbsent(t, series, "uma_process_io_bytes_total")
	wantSeries(t, series, map[string]float64{`uma_collector_privilege{collector="process",needs="ptrace"}`: 0})
}

func TestAProcessThatEndsMeanwhileIsNoFailure(t *testing.T) {
	for _, file := range []string{"/stat", "/status", "/io"} {
		host := busySpark(t)
		host.Proc = refusing(host.Proc, file, unix.ESRCH)
		if _, outcome := page(t, processSpec(), host, options(20, "python3")); outcome.State != OK {
			t.Errorf("%s: %s, %v", file, outcome.State, outcome.Err)
		}
	}
}

func TestAFileThatCannotBeUnderstoodCostsItselfOnly(t *testing.T) {
	host := busySpark(t)
	overwrite(t, host.Proc, "6330/io", "read_bytes: many\n")
	series, outcome := page(t, processSpec(), host, options(20, ""))
	if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), "6330/io") || len(pidsShown(series)) != 1 {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantAbsent(t, series, "uma_process_io_bytes_total")
	host = busySpark(t)
	overwrite(t, host.Proc, "stat", "cpu  1\n")
	series, outcome = page(t, processSpec(), host, options(20, ""))
	if outcome.State != Failed || len(pidsShown(series)) != 1 {
		t.Errorf("without boot time: %s, %v", outcome.State, outcome.Err)
	}
	wantAbsent(t, series, "uma_process_start_time_seconds")
}

func TestFilesOfTwoProcessesAreNoReading(t *testing.T) {
	host := busySpark(t)
	proc, stats := host.Proc, 0
	host.Proc.Refuse = func(name string) error { // the process ends while it is read, and another one gets its PID
		if name != "6330/stat" {
			return nil
		}
		if stats++; stats == 2 {
			return os.Rename(filepath.Join(proc.Path, "6331/stat"), filepath.Join(proc.Path, "6330/stat"))
		}
		return nil
	}
	series, outcome := page(t, processSpec(), host, options(20, ""))
	if got := pidsShown(series); len(got) > 0 || outcome.State != OK {
		t.Errorf("%v, %s, %v", got, outcome.State, outcome.Err)
	}
}

func TestStartOfAProcessStaysWhenTheClockIsSet(t *testing.T) {
	host := busySpark(t)
	runner := NewRunner(host, options(20, ""), []Spec{processSpec()}, RunnerSettings{})
	start := `uma_process_start_time_seconds{cgroup="` + engineCgroup + `",comm="VLLM::EngineCor",pid="6330"}`
	before := gather(t, mustScrape(t, runner, t.Context()))[start]
	overwrite(t, host.Proc, "stat", "btime 1700000500\n")
	if after := gather(t, mustScrape(t, runner, t.Context()))[start]; after != before || before != 1700000099.33 {
		t.Errorf("%v, then %v", before, after)
	}
	for name, file := range withProcess(nil, 6330, "VLLM::EngineCor", 40000, 1) {
		overwrite(t, host.Proc, name, string(file.Data))
	}
	if after := gather(t, mustScrape(t, runner, t.Context()))[start]; after != 1700000900 {
		t.Errorf("another process began at %v", after)
	}
}

func TestLookingForNamesEndsWithTheCollection(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &processCollector{host: busySpark(t), options: options(20, "python3")}
	if found, err := c.matching(ctx, nil); err == nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}
