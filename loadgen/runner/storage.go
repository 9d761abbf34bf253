package runner

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/rundir"
)

// storageHost holds the paths of proc and sys.
type storageHost struct{ proc, sys string }

// mostDrives is the most drives that are searched below a mapped device.
const mostDrives = 32

// StorageOf returns the storage of a folder of this process.
func StorageOf(dir string) (rundir.Storage, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return rundir.Storage{}, err
	}
	return storageHost{"/proc", "/sys"}.of("self", dir)
}

// storageOfProcess returns the storage of a folder as a process sees it, which may be in a container. It needs
// permission to read that process's links.
func storageOfProcess(pid int, dir string) (rundir.Storage, error) {
	return storageHost{"/proc", "/sys"}.of(strconv.Itoa(pid), dir)
}

func (m storageHost) of(process, dir string) (rundir.Storage, error) {
	dir = path.Clean(dir)
	found := rundir.Storage{Path: dir}
	mount, err := m.mount(process, dir)
	if err != nil {
		return found, err
	}
	found.Source, found.FileSystem, found.Options = mount.Source, mount.FSType, mountOptions(mount)
	var stats unix.Statfs_t
	if err := unix.Statfs(path.Join(m.proc, process, "root", dir), &stats); err != nil {
		return found, fmt.Errorf("statfs %s: %w", dir, err)
	}
	block := uint64(stats.Bsize)
	found.TotalBytes, found.FreeBytes = stats.Blocks*block, stats.Bavail*block
	found.Drives = m.drives(mount)
	return found, nil
}

// mount returns the mount that contains a folder of a process: the deepest mount point above it and, of several mounts
// at one point, the last, which hides the others.
func (m storageHost) mount(process, dir string) (*procfs.MountInfo, error) {
	fs, err := procfs.NewFS(m.proc)
	if err != nil {
		return nil, err
	}
	var proc procfs.Proc
	if pid, isNumber := strconv.Atoi(process); isNumber == nil {
		proc, err = fs.Proc(pid)
	} else {
		proc, err = fs.Self()
	}
	if err != nil {
		return nil, err
	}
	mounts, err := proc.MountInfo()
	if err != nil {
		return nil, err
	}
	var deepest *procfs.MountInfo
	for _, one := range mounts {
		one.MountPoint = unescape(one.MountPoint)
		if isWithin(dir, one.MountPoint) && (deepest == nil || len(one.MountPoint) >= len(deepest.MountPoint)) {
			deepest = one
		}
	}
	if deepest == nil {
		return nil, fmt.Errorf("no mount holds %s", dir)
	}
	return deepest, nil
}

// isWithin reports whether a folder is a mount point or below it.
func isWithin(dir, point string) bool {
	return point == "/" || dir == point || strings.HasPrefix(dir, point+"/")
}

// unescape decodes the escapes of mountinfo for white space and backslashes: "/mnt/my\040disk".
func unescape(text string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(text)
}

// mountOptions returns the options of the mount and of its file system, sorted, without duplicates.
func mountOptions(mount *procfs.MountInfo) []string {
	var all []string
	for _, set := range []map[string]string{mount.Options, mount.SuperOptions} {
		for name, value := range set {
			if value != "" {
				name += "=" + value
			}
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// drives returns the devices at the bottom. A file system with an anonymous device, such as btrfs, is on the device
// that it was mounted from.
func (m storageHost) drives(mount *procfs.MountInfo) []rundir.Drive {
	device := path.Join(m.sys, "dev/block", mount.MajorMinorVer)
	if _, err := os.Stat(device); err != nil {
		name, isDevice := strings.CutPrefix(mount.Source, "/dev/")
		if !isDevice {
			return nil
		}
		device = path.Join(m.sys, "class/block", path.Base(name))
	}
	var drives []rundir.Drive
	for _, dir := range wholeDrives(device, nil) {
		drives = append(drives, describeDrive(dir))
	}
	return drives
}

// wholeDrives adds the whole drives below a device: the parts of a mapped device and, for a partition, its drive.
func wholeDrives(device string, found []string) []string {
	real, err := filepath.EvalSymlinks(device)
	if err != nil || len(found) >= mostDrives {
		return found
	}
	if slaves, err := os.ReadDir(path.Join(real, "slaves")); err == nil && len(slaves) > 0 {
		for _, slave := range slaves {
			found = wholeDrives(path.Join(real, "slaves", slave.Name()), found)
		}
		return found
	}
	if _, err := os.Stat(path.Join(real, "partition")); err == nil {
		real = path.Dir(real)
	}
	if slices.Contains(found, real) {
		return found
	}
	return append(found, real)
}

// describeDrive reads the description of a drive from sysfs. NVMe has the firmware as firmware_rev, SCSI as rev.
func describeDrive(dir string) rundir.Drive {
	d := rundir.Drive{Device: path.Base(dir), Model: sysfsLine(dir, "device/model"), Firmware: sysfsLine(dir, "device/firmware_rev")}
	if d.Firmware == "" {
		d.Firmware = sysfsLine(dir, "device/rev")
	}
	// For an NVMe drive, the controller is between the drive and its place on the bus.
	d.LinkSpeed, d.LinkWidth = sysfsLine(dir, "device/device/current_link_speed"), sysfsLine(dir, "device/device/current_link_width")
	return d
}

// longestLine is the most that is read of a sysfs file, in bytes.
const longestLine = 256

// sysfsLine returns the text of a one-line file, or "" if it cannot be read.
func sysfsLine(dir, name string) string {
	text, err := os.ReadFile(path.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text[:min(len(text), longestLine)]))
}
