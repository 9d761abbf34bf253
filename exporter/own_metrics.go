package exporter

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// own gathers the series of the exporter's own process, under the names that all exporters use.
//
// It replaces the client library's collectors of process and Go runtime. Those cost 300 µs and 170 KB, as much as the
// rest of a page: most of it goes into the network counters of the whole machine, which they read from /proc/self/net,
// and into memory statistics that are rarely used. These cost a tenth.
type own struct {
	startTime float64 // Unix time in seconds, 0 if unknown
}

// newOwn reads the constant values. It reads the live /proc, wherever that of the host is.
func newOwn() own {
	self, err := procfs.Self()
	if err != nil {
		return own{}
	}
	stat, err := self.Stat()
	if err != nil {
		return own{}
	}
	started, err := stat.StartTime()
	if err != nil {
		return own{}
	}
	return own{startTime: started}
}

// Gather implements prometheus.Gatherer. Values that cannot be read are left out and named in the error.
func (o own) Gather() ([]*dto.MetricFamily, error) {
	page := runtimeFamilies()
	if o.startTime > 0 {
		page = append(page, ownGauge("process_start_time_seconds", "When the process started, in seconds since the Unix epoch.", o.startTime))
	}
	var errs []error
	for _, read := range []func() ([]*dto.MetricFamily, error){ownCPU, ownMemory, ownFiles} {
		found, err := read()
		page, errs = append(page, found...), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return page, fmt.Errorf("the exporter's own process: %w", err)
	}
	return page, nil
}

// ownRuntime is a figure of the Go runtime under the name that other Go programs give it.
type ownRuntime struct {
	source, name, help string
	make               func(name, help string, value float64) *dto.MetricFamily
}

func ownRuntimes() []ownRuntime {
	return []ownRuntime{
		{"/sched/goroutines:goroutines", "go_goroutines", "Goroutines that exist now.", ownGauge},
		{"/sched/threads/total:threads", "go_threads", "Threads of the operating system that the Go runtime has now.", ownGauge},
		{"/gc/cycles/total:gc-cycles", "go_gc_cycles_total_gc_cycles_total", "Garbage collections until now.", ownCounter},
		{"/gc/heap/allocs:bytes", "go_memstats_alloc_bytes_total", "Bytes allocated on the heap until now, even if freed already.", ownCounter},
		{"/memory/classes/heap/objects:bytes", "go_memstats_heap_alloc_bytes", "Bytes of the heap that objects use, those that wait to be freed included.", ownGauge},
		{"/memory/classes/total:bytes", "go_memstats_sys_bytes", "Bytes that the Go runtime has from the system; what C libraries allocate is not in it.", ownGauge},
	}
}

func runtimeFamilies() []*dto.MetricFamily {
	version, label := runtime.Version(), "version"
	info := ownGauge("go_info", "The Go that the exporter was built with.", 1)
	info.Metric[0].Label = []*dto.LabelPair{{Name: &label, Value: &version}}
	page := []*dto.MetricFamily{info}
	rows := ownRuntimes()
	samples := make([]metrics.Sample, len(rows))
	for i, row := range rows {
		samples[i].Name = row.source
	}
	metrics.Read(samples)
	for i, row := range rows {
		if samples[i].Value.Kind() == metrics.KindUint64 { // a runtime without it returns KindBad
			page = append(page, row.make(row.name, row.help, float64(samples[i].Value.Uint64())))
		}
	}
	return page
}

func ownCPU() ([]*dto.MetricFamily, error) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return nil, err
	}
	seconds := float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
	return []*dto.MetricFamily{ownCounter("process_cpu_seconds_total", "CPU time of the process, user and system, in seconds.", seconds)}, nil
}

// ownMemory reads /proc/self/statm: pages of address space and pages resident come first
// (man 5 proc_pid_statm).
//
//	765 422 394 5 0 123 0
func ownMemory() ([]*dto.MetricFamily, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return nil, err
	}
	var size, resident float64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return nil, fmt.Errorf("/proc/self/statm %q: %w", strings.TrimSpace(string(text)), err)
	}
	page := float64(os.Getpagesize())
	return []*dto.MetricFamily{
		ownGauge("process_virtual_memory_bytes", "Address space of the process in bytes; most of it is reserved and not memory.", size*page),
		ownGauge("process_resident_memory_bytes", "Resident memory of the process in bytes.", resident*page),
	}, nil
}

func ownFiles() ([]*dto.MetricFamily, error) {
	list, err := os.Open("/proc/self/fd")
	if err != nil {
		return nil, err
	}
	defer list.Close()
	names, err := list.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return nil, err
	}
	return []*dto.MetricFamily{
		ownGauge("process_open_fds", "Open file descriptors of the process.", float64(len(names)-1)), // less that of the list
		ownGauge("process_max_fds", "How many file descriptors the process may have open.", float64(limit.Cur)),
	}, nil
}

func ownGauge(name, help string, value float64) *dto.MetricFamily {
	return &dto.MetricFamily{Name: &name, Help: &help, Type: dto.MetricType_GAUGE.Enum(),
		Metric: []*dto.Metric{{Gauge: &dto.Gauge{Value: &value}}}}
}

func ownCounter(name, help string, value float64) *dto.MetricFamily {
	return &dto.MetricFamily{Name: &name, Help: &help, Type: dto.MetricType_COUNTER.Enum(),
		Metric: []*dto.Metric{{Counter: &dto.Counter{Value: &value}}}}
}
