// Package storage finds the storage of a folder: the mount, its file system, and the drives below it. It reads proc
// and sys only. A folder of another process is resolved as that process sees it.
package storage

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

// machine holds the paths of proc and sys.
type machine struct{ proc, sys string }

// mostDrives is the most drives that are searched below a mapped device.
const mostDrives = 32

// Of returns the storage of a folder of this process.
func Of(dir string) (rundir.Storage, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return rundir.Storage{}, err
	}
	return machine{"/proc", "/sys"}.of("self", dir)
}

// OfProcess returns the storage of a folder as a process sees it, which may be in a container. It needs permission to
// read that process's links.
func OfProcess(pid int, dir string) (rundir.Storage, error) {
	return machine{"/proc", "/sys"}.of(strconv.Itoa(pid), dir)
}

func (m machine) of(process, dir string) (rundir.Storage, error) {
	dir = path.Clean(dir)
	found := rundir.Storage{Path: dir}
	mount, err := m.mount(process, dir)
	if err != nil {
		return found, err
	}
	found.Source, found.FileSystem, found.Options = mount.Source, mount.FSType, options(mount)
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
func (m machine) mount(process, dir string) (*procfs.MountInfo, error) {
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
		if within(dir, one.MountPoint) && (deepest == nil || len(one.MountPoint) >= len(deepest.MountPoint)) {
			deepest = one
		}
	}
	if deepest == nil {
		return nil, fmt.Errorf("no mount holds %s", dir)
	}
	return deepest, nil
}

// within reports whether a folder is a mount point or below it.
func within(dir, point string) bool {
	return point == "/" || dir == point || strings.HasPrefix(dir, point+"/")
}

// unescape decodes the escapes of mountinfo for white space and backslashes: "/mnt/my\040disk".
func unescape(text string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(text)
}

// options returns the options of the mount and of its file system, sorted, without duplicates.
func options(mount *procfs.MountInfo) []string {
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
func (m machine) drives(mount *procfs.MountInfo) []rundir.Drive {
	device := path.Join(m.sys, "dev/block", mount.MajorMinorVer)
	if _, err := os.Stat(device); err != nil {
		name, isDevice := strings.CutPrefix(mount.Source, "/dev/")
		if !isDevice {
			return nil
		}
		device = path.Join(m.sys, "class/block", path.Base(name))
	}
	var drives []rundir.Drive
	for _, dir := range bottom(device, nil) {
		drives = append(drives, describe(dir))
	}
	return drives
}

// bottom adds the whole drives below a device: the parts of a mapped device and, for a partition, its drive.
func bottom(device string, found []string) []string {
	real, err := filepath.EvalSymlinks(device)
	if err != nil || len(found) >= mostDrives {
		return found
	}
	if slaves, err := os.ReadDir(path.Join(real, "slaves")); err == nil && len(slaves) > 0 {
		for _, slave := range slaves {
			found = bottom(path.Join(real, "slaves", slave.Name()), found)
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

// describe reads the description of a drive from sysfs. NVMe has the firmware as firmware_rev, SCSI as rev.
func describe(dir string) rundir.Drive {
	d := rundir.Drive{Device: path.Base(dir), Model: line(dir, "device/model"), Firmware: line(dir, "device/firmware_rev")}
	if d.Firmware == "" {
		d.Firmware = line(dir, "device/rev")
	}
	// For an NVMe drive, the controller is between the drive and its place on the bus.
	d.LinkSpeed, d.LinkWidth = line(dir, "device/device/current_link_speed"), line(dir, "device/device/current_link_width")
	return d
}

// longestLine is the most that is read of a sysfs file, in bytes.
const longestLine = 256

// line returns the text of a one-line file, or "" if it cannot be read.
func line(dir, name string) string {
	text, err := os.ReadFile(path.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text[:min(len(text), longestLine)]))
}
