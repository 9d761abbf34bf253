package hostfs

import (
	"fmt"
	"math"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
)

// The numbers of columns in a line of diskstats, by kernel version: without discards before 4.18, without flushes before
// 5.5 (Documentation/admin-guide/iostats.rst).
const (
	DiskColumnsAtFirst      = 14
	DiskColumnsWithDiscards = 18
	DiskColumnsWithFlushes  = 20
)

// ReadDiskstats reads /proc/diskstats in the order of its lines: whole devices and partitions, in sectors of 512 bytes and
// milliseconds. Times are summed over requests that overlap; the kernel counts them in 32 bits, so they restart after
// 2^32 ms. Additional columns of later kernels are not read. A line with fewer columns than at first is left out.
//
//	259       0 nvme0n1 1841223 1021 214478132 402911 2213377 1288421 391882744 1902877 0 1187412 2391004 0 0 0 0 98211 85216
func ReadDiskstats(proc Dir) ([]blockdevice.Diskstats, error) {
	return readProcfs(proc, "diskstats", func(procfs.FS) ([]blockdevice.Diskstats, error) {
		tree, err := blockdevice.NewFS(proc.Path, proc.Path)
		if err != nil {
			return nil, err
		}
		disks, err := tree.ProcDiskstats()
		if err != nil {
			return nil, err
		}
		for _, disk := range disks {
			if err := checkDisk(disk); err != nil {
				return nil, err
			}
		}
		return disks, nil
	})
}

func checkDisk(disk blockdevice.Diskstats) error {
	switch disk.IoStatsCount {
	case DiskColumnsAtFirst, DiskColumnsWithDiscards, DiskColumnsWithFlushes:
		if max(disk.ReadSectors, disk.WriteSectors, disk.DiscardSectors) <= math.MaxInt64/procfs.SectorSize {
			return nil
		}
	}
	return fmt.Errorf("%w: %d columns of %s", errMalformed, disk.IoStatsCount, excerpt(disk.DeviceName))
}

// ReadBlockDeviceBytes reads the size of a block device from /sys/class/block/<device>/size. procfs reads it below
// /sys/block, which recordings do not have.
//
//	8001573552
func ReadBlockDeviceBytes(sys Dir, device string) (uint64, error) {
	sectors, err := readUint(sys, "class/block/"+device+"/size")
	if err == nil && sectors > math.MaxInt64/procfs.SectorSize {
		return 0, errMalformed
	}
	return sectors * procfs.SectorSize, err
}
