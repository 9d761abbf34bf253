package runner

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
)

// machineOf is a machine of files, by path; "-> target" is a link. Process 7 is one on it.
func machineOf(t *testing.T, files map[string]string) storageHost {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		write := func() error { return os.WriteFile(at, []byte(text), 0o644) }
		if target, link := strings.CutPrefix(text, "-> "); link {
			write = func() error { return os.Symlink(strings.ReplaceAll(target, "ROOT", root), at) }
		}
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	return storageHost{filepath.Join(root, "proc"), filepath.Join(root, "sys")}
}

// drive is an NVMe drive with one partition, as sysfs has it.
func drive(name, model, number string) map[string]string {
	dir := "sys/devices/pci0/nvme-of-" + name + "/" + name + "/"
	return map[string]string{
		dir + "device/model": model + "   \n", dir + "device/firmware_rev": "7B4Q\n",
		dir + "device/device/current_link_speed": "16.0 GT/s PCIe\n", dir + "device/device/current_link_width": "4\n",
		dir + name + "p1/partition":      "1\n",
		"sys/dev/block/" + number:        "-> ROOT/" + dir + name + "p1",
		"sys/class/block/" + name + "p1": "-> ROOT/" + dir + name + "p1",
	}
}

func join(parts ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, part := range parts {
		for name, text := range part {
			all[name] = text
		}
	}
	return all
}

func TestAFolderIsOnTheDriveOfItsDeepestMount(t *testing.T) {
	first := rundir.Drive{Device: "nvme0n1", Model: "Fast", Firmware: "7B4Q", LinkSpeed: "16.0 GT/s PCIe", LinkWidth: "4"}
	second := first
	second.Device, second.Model = "nvme1n1", "Other"
	m := machineOf(t, join(drive("nvme0n1", "Fast", "259:1"), drive("nvme1n1", "Other", "259:9"), map[string]string{
		"proc/7/mountinfo": "" +
			"22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw,errors=remount-ro\n" +
			"23 22 0:21 / /mnt rw - tmpfs tmpfs rw,size=10k\n" +
			"24 22 259:9 / /mnt rw,noatime - xfs /dev/nvme1n1p1 rw,attr2\n" +
			"25 22 0:44 / /mnt/my\\040kv rw - btrfs /dev/nvme0n1p1 rw,ssd\n" +
			"26 22 253:0 / /striped rw - ext4 /dev/mapper/both rw\n" +
			"27 22 0:9 / /dev/shm rw - tmpfs tmpfs rw\n",
		"sys/dev/block/253:0":                     "-> ROOT/sys/devices/virtual/block/dm-0",
		"sys/devices/virtual/block/dm-0/slaves/a": "-> ROOT/sys/class/block/nvme0n1p1",
		"sys/devices/virtual/block/dm-0/slaves/b": "-> ROOT/sys/class/block/nvme1n1p1",
		"proc/7/root/home/x/file":                 "", "proc/7/root/mnt/kv/file": "", "proc/7/root/mnt/my kv/a/file": "", "proc/7/root/striped/file": "",
		"proc/7/root/dev/shm/file": "", "proc/7/root/mntx/file": "",
	}))
	for dir, want := range map[string]rundir.Storage{
		"/home/x":      {Source: "/dev/nvme0n1p1", FileSystem: "ext4", Options: []string{"errors=remount-ro", "relatime", "rw"}, Drives: []rundir.Drive{first}},
		"/mnt/kv/":     {Source: "/dev/nvme1n1p1", FileSystem: "xfs", Options: []string{"attr2", "noatime", "rw"}, Drives: []rundir.Drive{second}},
		"/mntx":        {Source: "/dev/nvme0n1p1", FileSystem: "ext4", Options: []string{"errors=remount-ro", "relatime", "rw"}, Drives: []rundir.Drive{first}},
		"/mnt/my kv/a": {Source: "/dev/nvme0n1p1", FileSystem: "btrfs", Options: []string{"rw", "ssd"}, Drives: []rundir.Drive{first}},
		"/striped":     {Source: "/dev/mapper/both", FileSystem: "ext4", Options: []string{"rw"}, Drives: []rundir.Drive{first, second}},
		"/dev/shm":     {Source: "tmpfs", FileSystem: "tmpfs", Options: []string{"rw"}},
	} {
		got, err := m.of("7", dir)
		if err != nil || got.TotalBytes == 0 || got.FreeBytes > got.TotalBytes {
			t.Errorf("%s: %+v, %v", dir, got, err)
		}
		want.Path, want.TotalBytes, want.FreeBytes = strings.TrimSuffix(dir, "/"), got.TotalBytes, got.FreeBytes
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v, want\n%+v", dir, got, want)
		}
	}
}

func TestWhatCannotBeSeenOfAProcessIsAnError(t *testing.T) {
	m := machineOf(t, map[string]string{"proc/7/mountinfo": "22 1 259:1 / / rw - ext4 /dev/x rw\n", "proc/8/mountinfo": "no mounts\n", "proc/9/mountinfo": ""})
	for process, dir := range map[string]string{"7": "/gone", "8": "/", "9": "/", "10": "/"} {
		if got, err := m.of(process, dir); err == nil {
			t.Errorf("process %s: %+v", process, got)
		}
	}
}

func TestTheFolderOfThisProcessIsFound(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	relative, err := StorageOf(".")
	if err != nil {
		t.Fatal(err)
	}
	if relative.Path != dir || relative.FileSystem == "" || relative.TotalBytes == 0 || !slices.Contains(relative.Options, "rw") {
		t.Errorf("%+v", relative)
	}
	if other, err := storageOfProcess(os.Getpid(), dir); err != nil || other.Source != relative.Source {
		t.Errorf("%+v, %v", other, err)
	}
}
