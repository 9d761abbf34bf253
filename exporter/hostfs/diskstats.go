package hostfs

import (
	"fmt"
	"math"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
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

// ReadDiskstats reads /proc/diskstats in the order of its lines: whole devices and partitions. A line has 14, 18 or 20
// columns by kernel version (Documentation/admin-guide/iostats.rst); additional columns of later kernels are not read. A
// line with fewer columns is left out.
//
//	259       0 nvme0n1 1841223 1021 214478132 402911 2213377 1288421 391882744 1902877 0 1187412 2391004 0 0 0 0 98211 85216
func ReadDiskstats(proc Dir) ([]Diskstats, error) {
	return readProcfs(proc, "diskstats", func(procfs.FS) ([]Diskstats, error) {
		tree, err := blockdevice.NewFS(proc.Path, proc.Path)
		if err != nil {
			return nil, err
		}
		read, err := tree.ProcDiskstats()
		if err != nil {
			return nil, err
		}
		disks := make([]Diskstats, len(read))
		for i, disk := range read {
			if disks[i], err = newDiskstats(disk); err != nil {
				return nil, err
			}
		}
		return disks, nil
	})
}

// The numbers of columns that a line may have.
const (
	columnsAtFirst      = 14
	columnsWithDiscards = 18
	columnsWithFlushes  = 20
)

func newDiskstats(read blockdevice.Diskstats) (Diskstats, error) {
	columns := read.IoStatsCount
	known := columns == columnsAtFirst || columns == columnsWithDiscards || columns == columnsWithFlushes
	if !known || max(read.ReadSectors, read.WriteSectors, read.DiscardSectors) > math.MaxInt64/sectorBytes {
		return Diskstats{}, fmt.Errorf("%w: %d columns of %s", errMalformed, columns, excerpt(read.DeviceName))
	}
	disk := Diskstats{
		Device:      read.DeviceName,
		Reads:       DiskOperations{read.ReadIOs, read.ReadSectors * sectorBytes, seconds(read.ReadTicks)},
		Writes:      DiskOperations{read.WriteIOs, read.WriteSectors * sectorBytes, seconds(read.WriteTicks)},
		InFlight:    read.IOsInProgress,
		BusySeconds: seconds(read.IOsTotalTicks), WeightedSeconds: seconds(read.WeightedIOTicks),
	}
	if columns >= columnsWithDiscards {
		disk.Discards = &DiskOperations{read.DiscardIOs, read.DiscardSectors * sectorBytes, seconds(read.DiscardTicks)}
	}
	if columns >= columnsWithFlushes {
		disk.Flushes = &DiskFlushes{read.FlushRequestsCompleted, seconds(read.TimeSpentFlushing)}
	}
	return disk, nil
}

func seconds(milliseconds uint64) float64 { return float64(milliseconds) / 1e3 }

// ReadBlockDeviceBytes reads the size of a block device from /sys/class/block/<device>/size. procfs reads it below
// /sys/block, which recordings do not have.
//
//	8001573552
func ReadBlockDeviceBytes(sys Dir, device string) (uint64, error) {
	sectors, err := readUint(sys, "class/block/"+device+"/size")
	if err == nil && sectors > math.MaxInt64/sectorBytes {
		return 0, errMalformed
	}
	return sectors * sectorBytes, err
}
