package collector

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// kernelLogOf is a log that has these records or errors next.
func kernelLogOf(next *[]any) func() (func() (string, error), error) {
	return func() (func() (string, error), error) {
		return func() (string, error) {
			if len(*next) == 0 {
				return "", hostfs.ErrNoRecord
			}
			one := (*next)[0]
			*next = (*next)[1:]
			if err, failed := one.(error); failed {
				return "", err
			}
			return one.(string), nil
		}, nil
	}
}

// driverCounts are the series of a collection that are not 0, as they stand on a page.
func driverCounts(t *testing.T, log *driverLog) (counts map[string]float64, series int, err error) {
	t.Helper()
	batch := newBatch(newFamilies([]metric.Definer{metric.DriverLogLinesTotal, metric.DriverLogXIDLinesTotal, metric.DriverLogOverrunsTotal, metric.KernelAllocationFailuresTotal}))
	err = log.emit(batch)
	found, closed := batch.close()
	if closed != nil {
		t.Fatal(closed)
	}
	counts = map[string]float64{}
	for _, family := range found {
		for _, m := range family.Metric {
			series++
			if v := m.Counter.GetValue(); v != 0 {
				counts[fmt.Sprint(family.GetName(), labelValues(m))] = v
			}
		}
	}
	return counts, series, err
}

func TestLinesOfTheDriverAreCountedFromTheStartOfTheExporter(t *testing.T) {
	var next []any
	host := Host{KernelLog: kernelLogOf(&next)}
	if newDriverLog(host, Options{}) != nil || newDriverLog(Host{}, Options{KernelLog: true}) != nil {
		t.Error("a log that was not asked for, or is not there, is read")
	}
	log := newDriverLog(host, Options{KernelLog: true})
	counts, series, err := driverCounts(t, log)
	if want := len(hostfs.DriverKinds()) + len(metric.KnownXIDs()) + 4; len(counts) != 0 || series != want || err != nil {
		t.Errorf("before the first line: %v, %d series and not %d, %v", counts, series, want, err)
	}
	next = []any{
		"4,1,1,-;NVRM: Xid (PCI:0000:01:00): 79, pid=77, name=secret, GPU has fallen off the bus.\n", "4,2,1,-;NVRM: Xid (PCI:0000:01:00): 12345, x\n",
		hostfs.ErrOverrun, "6,3,1,-;usb 1-1: new device\n", "4,4,1,-;NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.\n", "nonsense", "4,5,1,-;NVRM: x: Out of memory\n",
		"4,6,1,-;vllm: page allocation failure: order:4, mode:0x40dc0(GFP_KERNEL|__GFP_COMP|__GFP_ZERO)\n", "4,7,1,-;python3: page allocation failure: order:0, mode:0x1\n",
	}
	counts, _, err = driverCounts(t, log)
	want := map[string]float64{
		"uma_gpu_driver_log_lines_total[xid]": 2, "uma_gpu_driver_log_lines_total[fell_off_bus]": 1, "uma_gpu_driver_log_lines_total[out_of_memory]": 1,
		"uma_gpu_driver_log_xid_lines_total[79]": 1, "uma_gpu_driver_log_xid_lines_total[other]": 1, "uma_gpu_driver_log_overruns_total[]": 1,
		"uma_kernel_allocation_failures_total[contiguous]": 1, "uma_kernel_allocation_failures_total[page]": 1,
	}
	if fmt.Sprint(counts) != fmt.Sprint(want) || err == nil {
		t.Errorf("%v, want %v; %v", counts, want, err)
	}
	if again, _, err := driverCounts(t, log); fmt.Sprint(again) != fmt.Sprint(want) || err != nil {
		t.Errorf("later: %v, %v", again, err)
	}
}

func TestKindsThatAlertsNameAreThoseOfTheLog(t *testing.T) {
	for _, kind := range []string{metric.DriverLineFellOffBus, metric.DriverLineOutOfMemory, metric.DriverLineInitFailed, metric.DriverLineAssertion} {
		if !slices.Contains(hostfs.DriverKinds(), hostfs.DriverKind(kind)) {
			t.Errorf("no line is of kind %s", kind)
		}
	}
}

func TestAFloodOfTheKernelLogHoldsNoCollectionUp(t *testing.T) {
	reads := 0
	log := newDriverLog(Host{KernelLog: func() (func() (string, error), error) {
		return func() (string, error) { reads++; return "4,1,1,-;NVRM: again\n", nil }, nil
	}}, Options{KernelLog: true})
	if counts, _, err := driverCounts(t, log); err != nil || reads != mostRecords || counts["uma_gpu_driver_log_lines_total[other]"] != mostRecords {
		t.Errorf("%d reads, %v, %v", reads, counts, err)
	}
}

func TestWhoMayNotReadTheKernelLogIsToldHow(t *testing.T) {
	for _, refused := range []error{fs.ErrPermission, fs.ErrNotExist} {
		log := newDriverLog(Host{KernelLog: func() (func() (string, error), error) { return nil, refused }}, Options{KernelLog: true})
		batch := newBatch(newFamilies(hostSpec().Metrics))
		if err := log.emit(batch); err != nil || len(batch.lacking) != 1 || batch.lacking[0] != needKernelLog().Name {
			t.Errorf("%v: %v, lacks %q", refused, err, batch.lacking)
		}
		if found, _ := batch.close(); len(found) != 0 {
			t.Errorf("%v: %d families of a log that was not read", refused, len(found))
		}
	}
	if fix := needKernelLog().Fix; !strings.Contains(fix, "CAP_SYSLOG") || !strings.Contains(fix, "ProtectKernelLogs=no") {
		t.Error(fix)
	}
}
