package hostfs

import (
	"path"
	"regexp"
	"slices"
)

// IsDisk reports whether a block device is a whole drive that is not NVMe, by its name: sda, vda, xvda and mmcblk0 are;
// their partitions are not, nor are devices that the kernel makes up, such as loop0, dm-0 and md0.
func IsDisk(device string) bool { return wholeDisk.MatchString(device) }

var wholeDisk = regexp.MustCompile(`^(?:(?:sd|vd|xvd|hd|dasd)[a-z]+|mmcblk[0-9]+|pmem[0-9]+)$`)

// mostDrives is the most devices that are searched below one: a volume may be spread over many, and links of a broken
// tree may go round.
const mostDrives = 64

// Drives returns the whole drives below the block device with a number such as 253:1, through partitions and through
// the parts of mapped devices: LVM, dm-crypt, md. They are in order of names. The number of a file system without a
// device, such as tmpfs, nfs or btrfs, has none.
//
//	/sys/dev/block/253:1 -> ../../devices/virtual/block/dm-1
//	/sys/class/block/dm-1/slaves/nvme0n1p3
//	/sys/class/block/nvme0n1p3 -> ../../devices/pci0000:00/0000:00:1d.0/nvme/nvme0/nvme0n1/nvme0n1p3
func Drives(sys Dir, number string) []string {
	name, err := BlockDeviceName(sys, number)
	if err != nil {
		return nil
	}
	drives, seen := []string(nil), []string{name}
	for i := 0; i < len(seen); i++ {
		below := blockParts(sys, seen[i])
		if len(below) == 0 {
			drives = append(drives, seen[i])
		}
		for _, part := range below {
			if !slices.Contains(seen, part) && len(seen) < mostDrives {
				seen = append(seen, part)
			}
		}
	}
	slices.Sort(drives)
	return drives
}

// blockParts returns the devices that a device consists of: its slaves, or the drive that it is a partition of; none for
// a drive.
func blockParts(sys Dir, name string) []string {
	slaves, _, err := sys.Names("class/block/"+name+"/slaves", mostDrives)
	if err == nil && len(slaves) > 0 {
		return slaves
	}
	target, err := sys.ReadLink("class/block/" + name)
	if err != nil {
		return nil
	}
	// The folder of a partition lies in that of its drive, which is a block device too.
	parent := path.Base(path.Dir(target))
	if _, err := sys.Lstat("class/block/" + parent); err != nil {
		return nil
	}
	return []string{parent}
}
