package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/umascope/umascope/exporter/hostfs"
)

const diskTier = "/mnt/alice/kvbm/dynamo-kvbm-disk-cache-Xa91Qz (deleted)"

func TestAnUnlinkedFileHasItsSizeAndNothingElse(t *testing.T) {
	a := mustRead(t, small+"-- proc/77/fd/188 -> "+diskTier+" --\nsize: 34359738368\n-- proc/77/fd/3 -> socket:[26411] --\n")
	if link, err := hostfs.ReadProcessLink(a.Proc, 77, "fd/188"); link != diskTier || err != nil {
		t.Errorf("leads to %q, %v", link, err)
	}
	info, err := a.Proc.Stat("77/fd/188")
	if err != nil || info.Size() != 34359738368 || !info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := a.Proc.Lstat("77/fd/188"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link itself: %v, %v", info, err)
	}
	for _, name := range []string{"77/fd/3", "77/fd/188/below"} {
		if info, err := a.Proc.Stat(name); err == nil {
			t.Errorf("%s is %v", name, info)
		}
	}
}

func TestOnlyDescriptorsTellASizeAndOnlyAWholeOne(t *testing.T) {
	for _, entry := range []string{
		"proc/77/fd/188 -> /a --\nsize: -1\n", "proc/77/fd/188 -> /a --\nsize: 9223372036854775808\n", "proc/77/fd/188 -> /a --\n5\n",
		"proc/77/fd/188 -> /a --\nsize: 5 bytes\n", "proc/77/fd/x -> /a --\nsize: 5\n", "sys/77/fd/1 -> /a --\nsize: 5\n",
	} {
		if _, err := Read([]byte(small + "-- " + entry)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

func TestOfDescriptorsTheRecorderKeepsTheDiskTierAndStorageDevices(t *testing.T) {
	host := secretHost()
	link := func(target string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
	}
	host["proc/6330/fd/20"] = link("/dev/nvidia-fs3")
	host["proc/6330/fd/21"] = link("/home/alice/dynamo-kvbm-disk-cache-list.txt\n-- proc/forged --")
	host["proc/6330/fd/22"] = link("/home/alice/diary.txt")
	host["proc/6330/fd/23"] = link("socket:[26411]")
	host["proc/6330/fdinfo/188"] = &fstest.MapFile{Data: []byte("pos:\t0\nflags:\t02600002\nmnt_id:\t31\nino:\t9961475\nlock:\t1: POSIX ADVISORY READ 4711 00:00:1 0 EOF\n")}
	host["proc/6330/fdinfo/22"] = &fstest.MapFile{Data: []byte("flags:\t02\n")}
	source := sourceOf(t, host)
	opened := filepath.Join(source.Proc.Path, "6330/root", diskTier) // as hostfs.ReadProcessLink expects it of a copy
	if err := errors.Join(os.MkdirAll(filepath.Dir(opened), 0o700), os.WriteFile(opened, nil, 0o600), os.Truncate(opened, 34359738368),
		os.Symlink(opened, filepath.Join(source.Proc.Path, "6330/fd/188"))); err != nil {
		t.Fatal(err)
	}
	text := writeHost(t, source)
	for _, secret := range []string{"alice", "diary", "26411", "4711", "forged"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in the recording", secret)
		}
	}
	a := mustRead(t, text)
	table, err := a.Proc.ReadDir("6330/fd")
	if err != nil || len(table) != 2 {
		t.Errorf("%d descriptors, %v", len(table), err)
	}
	link188, _ := hostfs.ReadProcessLink(a.Proc, 6330, "fd/188")
	link20, _ := hostfs.ReadProcessLink(a.Proc, 6330, "fd/20")
	if link188 != "/masked/dynamo-kvbm-disk-cache-Xa91Qz (deleted)" || link20 != "/dev/nvidia-fs3" {
		t.Errorf("lead to %q and %q", link188, link20)
	}
	if info, err := a.Proc.Stat("6330/fd/188"); err != nil || info.Size() != 34359738368 {
		t.Errorf("%v, %v", info, err)
	}
	if flags, err := a.Proc.ReadFile("6330/fdinfo/188"); err != nil || string(flags) != "pos:\t0\nflags:\t02600002\nmnt_id:\t31\nino:\t9961475\n" {
		t.Errorf("%q, %v", flags, err)
	}
	if _, err := a.Proc.Stat("6330/fdinfo/22"); err == nil {
		t.Error("how another file was opened is kept")
	}
}

func TestOfManyDescriptorsSomeAreRecorded(t *testing.T) {
	host := secretHost()
	for _, fd := range strings.Fields("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19") {
		host["proc/6330/fd/"+fd] = &fstest.MapFile{Data: []byte("/dev/nvidia-fs0"), Mode: fs.ModeSymlink}
	}
	a := mustRead(t, writeHost(t, sourceOf(t, host)))
	if table, err := a.Proc.ReadDir("6330/fd"); err != nil || len(table) != maxKept {
		t.Errorf("%d descriptors, %v", len(table), err)
	}
}
