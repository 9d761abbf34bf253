package hostfs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAWholeDiskIsRecognizedByItsName(t *testing.T) {
	for name, want := range map[string]bool{
		"sda": true, "sdab": true, "vda": true, "xvda": true, "mmcblk0": true, "dasda": true, "pmem0": true,
		"sda1": false, "vda15": false, "mmcblk0p1": false, "mmcblk0boot0": false, "mmcblk0rpmb": false, "loop0": false, "dm-0": false, "md127": false, "ram0": false,
		"zram0": false, "sr0": false, "nbd0": false, "nvme0n1": false, "nvme0n1p1": false, "": false, "sd": false,
	} {
		if IsDisk(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// sysWith makes a tree of sysfs: devices by their path below /sys/devices, with their number; parts by device.
func sysWith(t testing.TB, devices, parts map[string]string) Dir {
	t.Helper()
	root := t.TempDir()
	link := func(target, name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for device, number := range devices {
		if err := os.MkdirAll(filepath.Join(root, "devices", device, "slaves"), 0o755); err != nil {
			t.Fatal(err)
		}
		link("../../devices/"+device, filepath.Join(root, "class/block", filepath.Base(device)))
		link("../../devices/"+device, filepath.Join(root, "dev/block", number))
	}
	for device, names := range parts {
		for name := range strings.FieldsSeq(names) {
			link("../../"+name, filepath.Join(root, "devices", device, "slaves", name))
		}
	}
	return Dir{Path: root}
}

func TestDrivesAreFoundThroughPartitionsAndMappedDevices(t *testing.T) {
	sys := sysWith(t, map[string]string{
		"pci0/virtio1/block/vda": "254:0", "pci0/virtio1/block/vda/vda2": "254:2", "pci0/nvme/nvme0/nvme0n1": "259:0", "pci0/nvme/nvme0/nvme0n1/nvme0n1p3": "259:3",
		"pci0/ata1/block/sda": "8:0", "virtual/block/dm-0": "253:0", "virtual/block/dm-1": "253:1", "virtual/block/md0": "9:0", "virtual/block/dm-8": "253:8", "virtual/block/dm-9": "253:9",
		"virtual/block/loop0": "7:0",
	}, map[string]string{
		"virtual/block/dm-0": "nvme0n1p3", "virtual/block/dm-1": "dm-0", "virtual/block/md0": "sda vda2", "virtual/block/dm-8": "dm-9", "virtual/block/dm-9": "dm-8",
	})
	for number, want := range map[string][]string{
		"254:0": {"vda"}, "254:2": {"vda"}, "259:3": {"nvme0n1"},
		"253:1": {"nvme0n1"}, // LVM on dm-crypt on a partition
		"9:0":   {"sda", "vda"}, "7:0": {"loop0"},
		"253:8": nil, // a tree that goes round
		"0:45":  nil, "": nil, "1": nil, "../..": nil,
	} {
		if got := Drives(sys, number); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", number, got, want)
		}
	}
}

// Whatever the number and the links are, drives are few, in order, and no device has parts of its own.
func FuzzDrives(f *testing.F) {
	f.Add("253:0", "nvme0n1p3 dm-1")
	f.Add("0:4", "dm-0")
	f.Add("../254:0", "")
	f.Fuzz(func(t *testing.T, number, slaves string) {
		for name := range strings.FieldsSeq(slaves) {
			if strings.ContainsAny(name, "/\x00") || name == "." || name == ".." || len(name) > 100 {
				return
			}
		}
		var distinct []string
		for name := range strings.FieldsSeq(slaves) {
			if !slices.Contains(distinct, name) {
				distinct = append(distinct, name)
			}
		}
		sys := sysWith(t, map[string]string{"virtual/block/dm-0": "253:0", "pci0/block/vda": "254:0", "pci0/block/vda/vda1": "254:1"}, map[string]string{"virtual/block/dm-0": strings.Join(distinct, " ")})
		got := Drives(sys, number)
		if !slices.IsSorted(got) || len(got) > mostDrives || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%q: %v", number, got)
		}
		if slices.Contains(got, "vda1") {
			t.Errorf("%q: a partition is called a drive: %v", number, got)
		}
	})
}
