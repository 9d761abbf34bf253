package collector

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

const kernelLogNeed = "kernel_log"

// needKernelLog is the permission that the kernel requires to read its log.
func needKernelLog() Need {
	return Need{
		Name:  kernelLogNeed,
		Cost:  "errors that the driver of the GPU writes to the kernel log are not counted: XID codes, failed initialisation, a GPU that fell off the bus; nor are failed allocations of memory",
		Fix:   "give CAP_SYSLOG and the device (systemd: copy the example /usr/share/doc/umascope/examples/kernel-log.conf to /etc/systemd/system/uma-exporter.service.d/, it has CAP_SYSLOG and ProtectKernelLogs=no; docker run --cap-add=SYSLOG --device=/dev/kmsg:/dev/kmsg:r, in compose cap_add and devices)",
		Asked: func(host Host, options Options) bool { return options.KernelLog && host.KernelLog != nil },
	}
}

// mostRecords is the maximum number of records that one collection reads: a flooded log does not delay it, and the rest
// is read the next time.
const mostRecords = 20_000

// driverLog counts lines of the driver and failed allocations from the end that the kernel log had when it was opened.
type driverLog struct {
	open     func() (next func() (string, error), err error)
	next     func() (string, error) // nil until it is open
	kinds    map[hostfs.DriverKind]float64
	xids     map[uint64]float64
	overruns float64
	// pages and contiguous are failed allocations of one page, and of several in a row.
	pages, contiguous float64
}

// newDriverLog returns nil if the log is not requested or does not belong to this host.
func newDriverLog(host Host, options Options) *driverLog {
	if host.KernelLog == nil || !options.KernelLog {
		return nil
	}
	return &driverLog{open: host.KernelLog, kinds: map[hostfs.DriverKind]float64{}, xids: map[uint64]float64{}}
}

// emit reads the new records, without waiting, and adds every count, from 0 on, so that the first line is an increase.
func (d *driverLog) emit(batch *Batch) error {
	if d == nil {
		return nil
	}
	err := d.read()
	if d.next == nil {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			batch.Lacks(kernelLogNeed)
			return nil
		}
		return err
	}
	for _, kind := range hostfs.DriverKinds() {
		batch.Counter(metric.DriverLogLinesTotal, d.kinds[kind], string(kind))
	}
	other := d.kinds[hostfs.DriverXID]
	for _, xid := range metric.KnownXIDs() {
		other -= d.xids[xid.Code]
		batch.Counter(metric.DriverLogXIDLinesTotal, d.xids[xid.Code], strconv.FormatUint(xid.Code, 10))
	}
	batch.Counter(metric.DriverLogXIDLinesTotal, other, metric.XIDOther)
	batch.Counter(metric.DriverLogOverrunsTotal, d.overruns)
	batch.Counter(metric.KernelAllocationFailuresTotal, d.pages, metric.AllocationOfPage)
	batch.Counter(metric.KernelAllocationFailuresTotal, d.contiguous, metric.AllocationOfContiguous)
	return err
}

// read reads the new records. A record that cannot be parsed is the error of this collection; the others are counted.
func (d *driverLog) read() error {
	if d.next == nil {
		next, err := d.open()
		if err != nil {
			return err
		}
		d.next = next
	}
	var malformed error
	for range mostRecords {
		text, err := d.next()
		switch {
		case errors.Is(err, hostfs.ErrNoRecord):
			return malformed
		case errors.Is(err, hostfs.ErrOverrun):
			d.overruns++
			continue
		case err != nil:
			return fmt.Errorf("kernel log: %w", err)
		}
		record, err := hostfs.ParseKernelRecord(text)
		if err != nil {
			malformed = err
			continue
		}
		d.count(record)
	}
	return malformed
}

func (d *driverLog) count(record hostfs.KernelRecord) {
	if line, is := record.DriverLine(); is {
		d.kinds[line.Kind]++
		if line.Kind == hostfs.DriverXID && metric.IsKnownXID(line.XID) {
			d.xids[line.XID]++
		}
	}
	switch order, failed := record.FailedAllocation(); {
	case failed && order > 0:
		d.contiguous++
	case failed:
		d.pages++
	}
}
