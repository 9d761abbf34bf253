package hostfs

import (
	"math"
	"strings"
)

// Diskstats are the counts of one block device since boot. Times are summed over requests that overlap; the kernel
// counts them in milliseconds in 32 bits, so they restart after 2^32 ms.
type Diskstats struct {
	Device        string
	Reads, Writes DiskOperations
	// Discards is nil before kernel 4.18, Flushes before 5.5.
	Discards *DiskOperations
	Flushes  *DiskFlushes
	// InFlight is the number of requests now.
	InFlight uint64
	// BusySeconds is the time with at least one request in flight, WeightedSeconds that time
	// multiplied by their number.
	BusySeconds, WeightedSeconds float64
}

// DiskOperations are operations of one kind.
type DiskOperations struct {
	Completed, Bytes uint64
	Seconds          float64
}

// DiskFlushes are flush requests, which carry no data.
type DiskFlushes struct {
	Completed uint64
	Seconds   float64
}

// The columns of /proc/diskstats after major, minor and name (Documentation/admin-guide/iostats.rst).
const (
	columnReads        = 0 // completed, merged, sectors, milliseconds
	columnWrites       = 4
	columnInFlight     = 8
	columnBusy         = 9
	columnWeighted     = 10
	columnDiscards     = 11
	columnFlushes      = 15 // completed, milliseconds
	columnsWithoutMore = 11
	columnsAll         = 17
)

// ReadDiskstats reads /proc/diskstats in the order of its lines: whole devices and partitions. A line has 14, 18 or 20
// columns by kernel version; additional columns of later kernels are not read.
//
//	259       0 nvme0n1 1841223 1021 214478132 402911 2213377 1288421 391882744 1902877 0 1187412 2391004 0 0 0 0 98211 85216
func ReadDiskstats(proc Dir) ([]Diskstats, error) {
	return parseFile(proc, "diskstats", parseDiskstats)
}

func parseDiskstats(text string) ([]Diskstats, error) {
	disks := make([]Diskstats, 0, strings.Count(text, "\n"))
	err := parseLines(text, func(line string) error {
		disk, err := parseDisk(line)
		disks = append(disks, disk)
		return err
	})
	if err != nil {
		return nil, err
	}
	return disks, nil
}

func parseDisk(line string) (Diskstats, error) {
	var values [columnsAll]uint64
	name, column := "", -3
	for field := range strings.FieldsSeq(line) {
		switch {
		case column == -1:
			name = field
		case column >= columnsAll:
			// A column of a later kernel.
		default:
			value, err := parseUint(field)
			if err != nil {
				return Diskstats{}, errMalformed
			}
			if column >= 0 {
				values[column] = value
			}
		}
		column++
	}
	switch {
	case column == columnsWithoutMore, column == columnFlushes, column >= columnsAll:
		return newDiskstats(name, values, column)
	}
	return Diskstats{}, errMalformed
}

func newDiskstats(name string, values [columnsAll]uint64, columns int) (Diskstats, error) {
	for _, at := range []int{columnReads, columnWrites, columnDiscards} {
		if values[at+2] > math.MaxInt64/sectorBytes {
			return Diskstats{}, errMalformed
		}
	}
	disk := Diskstats{
		Device: name,
		Reads:  operations(values[columnReads:]), Writes: operations(values[columnWrites:]),
		InFlight:    values[columnInFlight],
		BusySeconds: seconds(values[columnBusy]), WeightedSeconds: seconds(values[columnWeighted]),
	}
	if columns > columnDiscards {
		discards := operations(values[columnDiscards:])
		disk.Discards = &discards
	}
	if columns > columnFlushes {
		disk.Flushes = &DiskFlushes{Completed: values[columnFlushes], Seconds: seconds(values[columnFlushes+1])}
	}
	return disk, nil
}

// operations are four columns: completed, merged, sectors, milliseconds.
func operations(columns []uint64) DiskOperations {
	return DiskOperations{Completed: columns[0], Bytes: columns[2] * sectorBytes, Seconds: seconds(columns[3])}
}

func seconds(milliseconds uint64) float64 { return float64(milliseconds) / 1e3 }

// ReadBlockDeviceBytes reads the size of a block device from /sys/class/block/<device>/size.
//
//	8001573552
func ReadBlockDeviceBytes(sys Dir, device string) (uint64, error) {
	sectors, err := readUint(sys, "class/block/"+device+"/size")
	if err == nil && sectors > math.MaxInt64/sectorBytes {
		return 0, errMalformed
	}
	return sectors * sectorBytes, err
}
