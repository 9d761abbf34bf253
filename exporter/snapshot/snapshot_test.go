package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
)

const opening = `{"format":"umascope nvml recording","version":1}
{"device":-1,"call":"nvmlInit_v2","return":12}
`

const small = `kind: constructed
description: a small host
page_size: 65536

Reasons,
in two lines.
-- nvml.jsonl --
` + opening + `-- proc/meminfo --
MemTotal: 1 kB
-- proc/self -> 77 --
-- proc/77/ns/pid -> pid:[4026531836] --
-- sys/class/nvme/nvme0 -> ../../devices/pci0000:00/nvme/nvme0 --
-- sys/devices/pci0000:00/nvme/nvme0/model --
Disk
-- sys/class/absolute -> /sys/devices/pci0000:00 --
-- sys/class/out -> ../../../../../proc/meminfo --
-- sys/class/loop -> loop --
-- sys/fs/cgroup/system.slice/memory.stat --
anon 1
`

// opened is an archive with its files unpacked.
type opened struct {
	*Archive
	Files
}

func mustRead(t *testing.T, text string) opened {
	t.Helper()
	a, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	files, err := a.Unpack(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return opened{a, files}
}

func TestArchiveSaysWhatItIs(t *testing.T) {
	a := mustRead(t, small)
	if a.Kind != Constructed || a.Description != "a small host" || a.PageSize != 65536 || a.Notes != "Reasons,\nin two lines." {
		t.Errorf("%+v", a)
	}
	driver, err := a.Driver()
	if err != nil || driver.Init() != nvml.LibraryNotFound {
		t.Errorf("driver: %v", err)
	}
}

func TestLinksLeadWhereTheyLeadOnTheHost(t *testing.T) {
	a := mustRead(t, small)
	for _, c := range []struct {
		dir  hostfs.Dir
		name string
		want string
	}{
		{a.Proc, "meminfo", "MemTotal: 1 kB\n"},
		{a.Sys, "class/nvme/nvme0/model", "Disk\n"},
		{a.Sys, "class/absolute/nvme/nvme0/model", "Disk\n"},
		{a.Sys, "class/out", "MemTotal: 1 kB\n"},
		{a.Cgroup, "system.slice/memory.stat", "anon 1\n"},
	} {
		if got, err := c.dir.ReadFile(c.name); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	if link, err := a.Proc.ReadLink("self/ns/pid"); err != nil || link != "pid:[4026531836]" {
		t.Errorf("self/ns/pid -> %q, %v", link, err)
	}
	if _, err := a.Proc.ReadFile("self/ns/pid"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link that leads to no file: %v", err)
	}
	if _, err := a.Sys.Stat("class/loop"); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a link that leads to itself: %v", err)
	}
	if _, err := a.Sys.ReadDir("class/nvme/nvme0/model"); err == nil {
		t.Error("a file is listed")
	}
	if _, err := a.Sys.ReadFile("class"); err == nil {
		t.Error("a directory is read")
	}
}

// TestNoLinkLeadsOutOfTheFolder unpacks an archive whose links try to reach a file of this machine, and reads through
// each of them.
func TestNoLinkLeadsOutOfTheFolder(t *testing.T) {
	outside := t.TempDir()
	const secret = "hunter2"
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	text := small + "-- proc/9/root/etc/passwd --\nthe container's own\n-- sys/a/b/c/file --\n1\n-- sys/deep -> a/b/c --\n-- sys/up -> deep/../../../../../../../../../.." + outside + "/secret --\n"
	links := []string{"proc/9/fd/1", "proc/9/cwd", "proc/9/fd/2", "sys/absolute", "sys/climbs", "sys/a/climbs", "proc/climbs", "proc/9/root/etc/link"}
	for i, target := range []string{outside + "/secret", outside, "../../../../../../../../../.." + outside + "/secret", outside + "/secret",
		strings.Repeat("../", 30) + outside[1:] + "/secret", "b/../../../../../../../.." + outside + "/secret", "./.././../../.." + outside + "/secret", outside + "/secret"} {
		text += "-- " + links[i] + " -> " + target + " --\n"
	}
	a := mustRead(t, text)
	folder := filepath.Dir(a.Proc.Path)
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		for _, read := range []string{name, name + "/secret"} {
			if content, err := os.ReadFile(read); err == nil && strings.Contains(string(content), secret) {
				t.Errorf("%s is a file of this machine", strings.TrimPrefix(read, folder))
			}
		}
		if end, err := filepath.EvalSymlinks(name); err == nil && !strings.HasPrefix(end, folder+"/") {
			t.Errorf("%s leads to %s", strings.TrimPrefix(name, folder), end)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if link, err := hostfs.ReadProcessLink(a.Proc, 9, "fd/1"); err != nil || link != outside+"/secret" {
		t.Errorf("the link is %q, %v", link, err)
	}
}

func TestBrokenArchivesAreRefusedInOneLine(t *testing.T) {
	head := "kind: recorded\npage_size: 4096\n-- nvml.jsonl --\n" + opening
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "header"},
		"any text":         {"hello\n", "header"},
		"unknown kind":     {strings.Replace(head, "recorded", "dreamt", 1), "header: kind"},
		"odd page size":    {strings.Replace(head, "4096", "5000", 1), "header: page_size"},
		"unknown key":      {"colour: red\n" + head, "header: colour"},
		"no recording":     {"kind: recorded\npage_size: 4096\n", "nvml.jsonl: line 1"},
		"bad recording":    {head + "x\n", "nvml.jsonl: line 3"},
		"two recordings":   {head + "-- nvml.jsonl --\n", "is there twice"},
		"foreign root":     {head + "-- etc/passwd --\n", "is in none of proc, sys"},
		"way out":          {head + "-- proc/../etc/passwd --\n", "is no path"},
		"twice":            {head + "-- proc/a --\n-- proc/a --\n", "is there twice"},
		"below a file":     {head + "-- proc/a --\n-- proc/a/b --\n", "is below a file"},
		"file over folder": {head + "-- proc/a/b --\n-- proc/a --\n", "is there twice"},
		"full link":        {head + "-- proc/a -> b --\nx\n", "is a link and has content"},
		"huge":             {head + strings.Repeat("x", MaxBytes), "at most"},
		"many":             {head + strings.Repeat("-- proc/x --\n", maxEntries+1), "at most"},
	} {
		_, err := Read([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("kind: recorded\npage_size: 4096\n-- nvml.jsonl --\n" + opening + "-- proc/a -> b --\n-- proc/b -> a --\n-- sys/x/y --\n1"))
	f.Add([]byte(served))
	f.Add([]byte("kind: recorded\npage_size: 4096\n-- nvml.jsonl --\n" + opening + "-- proc/7/fd/3 -> /gone (deleted) --\nsize: 18446744073709551615\n"))
	f.Add([]byte("kind: recorded\npage_size: 4096\n-- nvml.jsonl --\n" + opening + "-- proc/7/fd/3 -> ../../x --\nsize: 5\n-- proc/x --\n1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Read(data)
		if err != nil {
			return
		}
		folder := t.TempDir()
		if _, err := a.Unpack(folder); err != nil {
			return // two links to open files of which one is below the other, or a size that the file system does not hold
		}
		entries := 0
		err = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			if end, err := filepath.EvalSymlinks(name); err == nil && end != folder && !strings.HasPrefix(end, folder+"/") {
				t.Errorf("%s leads to %s", name, end)
			}
			entries++
			return nil
		})
		if files := len(txtar.Parse(data).Files); err != nil || entries < files-1 {
			t.Fatalf("%d of %d entries are found, %v", entries, files-1, err)
		}
	})
}

// The secrets planted below, each as it would stand on a machine.
const (
	gpuUUID     = "GPU-4f5bd2a1-9c3e-11ee-b2f1-0242ac120002"
	bootID      = "c7a9be2e-6a1f-4e0b-8b0a-3f5f3a9c7d11"
	podUID      = "podc7a9be2e_6a1f_4e0b_8b0a_3f5f3a9c7d12"
	containerID = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"
	macAddress  = "3c:6d:66:aa:bb:cc"
	secretName  = "alices-spark"
)

// secretHost are the files of a host full of things that a recording must not give away.
func secretHost() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }
	link := func(target string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
	}
	scope := "system.slice/docker-" + containerID + ".scope"
	return fstest.MapFS{
		"proc/meminfo":                              file("MemTotal: 1 kB"),
		"proc/sys/kernel/hostname":                  file(secretName),
		"proc/sys/kernel/osrelease":                 file("6.17.0"),
		"proc/sys/kernel/random/boot_id":            file(bootID),
		"proc/self":                                 link("41"),
		"proc/41/ns/pid":                            link("pid:[4026531836]"),
		"proc/1/comm":                               file("systemd"),
		"proc/1/environ":                            file("TOKEN=hunter2"),
		"proc/6330/comm":                            file(secretName + "-llm"),
		"proc/6330/cmdline":                         file("llm --api-key hunter2"),
		"proc/6330/environ":                         file("TOKEN=hunter2"),
		"proc/6330/cgroup":                          file("4:memory:/alices_jobs\n0::/" + scope),
		"proc/6330/status":                          file("Name:\t" + secretName + "-llm\nVmRSS:\t5 kB"),
		"sys/class/dmi/id":                          link("../../devices/virtual/dmi/id"),
		"sys/devices/virtual/dmi/id/product_name":   file("NVIDIA_DGX_Spark"),
		"sys/devices/virtual/dmi/id/product_serial": file("SERIAL-1234567"),
		"sys/devices/virtual/dmi/id/product_uuid":   file(bootID),
		"sys/class/nvme/nvme0":                      link("../../devices/pci0004:00/0004:01:00.0/nvme/nvme0"),
		"sys/devices/pci0004:00/0004:01:00.0/nvme/nvme0/model":                      file("Disk"),
		"sys/devices/pci0004:00/0004:01:00.0/nvme/nvme0/serial":                     file("SERIAL-1234567"),
		"sys/devices/pci0004:00/0004:01:00.0/nvme/nvme0/nvme0n1/size":               file("100"),
		"sys/devices/pci0004:00/0004:01:00.0/nvme/nvme0/nvme0n1/uuid":               file(bootID),
		"sys/class/block/nvme0n1":                                                   link("../../devices/pci0004:00/0004:01:00.0/nvme/nvme0/nvme0n1"),
		"sys/class/net/enx3c6d66aabbcc/operstate":                                   file("up"),
		"sys/class/net/enx3c6d66aabbcc/address":                                     file(macAddress),
		"sys/fs/cgroup/cgroup.controllers":                                          file("memory"),
		"sys/fs/cgroup/system.slice/memory.stat":                                    file("anon 1"),
		"sys/fs/cgroup/" + scope + "/memory.current":                                file("4096"),
		"sys/fs/cgroup/" + scope + "/cgroup.procs":                                  file("6330"),
		"sys/fs/cgroup/kubepods.slice/kubepods-" + podUID + ".slice/memory.current": file("8192"),
		"sys/fs/cgroup/" + secretName + ".slice/memory.current":                     file("1"),
		"sys/fs/cgroup/alices_jobs/training/memory.current":                         file("2"),
		"sys/fs/cgroup/top.slice/memory.stat":                                       file("-- proc/forged --\nanon 1"),
	}
}

// sourceOf is a host with these files on disk.
func sourceOf(t *testing.T, host fstest.MapFS) Source {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, host); err != nil {
		t.Fatal(err)
	}
	recording := strings.NewReader(`{"format":"umascope nvml recording","version":1,"driver_version":"580.142"}
{"device":-1,"call":"nvmlInit_v2","return":0}
{"device":-1,"call":"nvmlDeviceGetCount_v2","return":0,"value":{"number":1}}
{"device":0,"call":"nvmlDeviceGetUUID","return":0,"value":{"text":"` + gpuUUID + `"}}
{"device":0,"call":"nvmlDeviceGetComputeRunningProcesses","return":0,"value":{"processes":[{"pid":6330,"used_bytes":5}]}}
`)
	driver, err := nvml.Replay(recording)
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) hostfs.Dir { return hostfs.Dir{Path: filepath.Join(root, name)} }
	return Source{Proc: in("proc"), Sys: in("sys"), Cgroup: in("sys/fs/cgroup"), Driver: driver, PageSize: 4096,
		Description: "two\nlines", RecordedWith: "test"}
}

func writeHost(t *testing.T, source Source) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(t.Context(), &out, source); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestRecordingGivesNothingAway(t *testing.T) {
	source := sourceOf(t, secretHost())
	text := writeHost(t, source)
	for _, secret := range []string{gpuUUID, gpuUUID[4:], bootID, podUID, containerID, containerID[:12], macAddress, "3c6d66aabbcc",
		secretName, "alices", "training", "hunter2", "SERIAL", "environ", "cmdline", "boot_id", "hostname", "proc/forged"} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(secret)) {
			t.Errorf("%s is in the recording", secret)
		}
	}
	left := regexp.MustCompile(`[0-9a-fA-F]{32,}|[0-9a-fA-F]{8}[-_][0-9a-fA-F]{4}[-_][0-9a-fA-F]{4}[-_]`)
	for _, found := range left.FindAllString(text, -1) {
		if !strings.HasPrefix(found, "00000000") {
			t.Errorf("%s is in the recording", found)
		}
	}
}

func TestMaskedNamesStillMatch(t *testing.T) {
	source := sourceOf(t, secretHost())
	a := mustRead(t, writeHost(t, source))
	cgroup, err := a.Proc.ReadFile("6330/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	_, path, _ := strings.Cut(strings.TrimSpace(string(cgroup)), "0::/")
	if got, err := a.Cgroup.ReadFile(path + "/memory.current"); err != nil || string(got) != "4096\n" {
		t.Errorf("cgroup %s of the process: %q, %v", path, got, err)
	}
	driver, err := a.Driver()
	if err != nil {
		t.Fatal(err)
	}
	s, _ := nvml.NewReader(driver, nvml.ReaderOptions{}).Read(t.Context()).Snapshot(t.Context())
	if len(s.Devices) != 1 || s.Devices[0].UUID != "GPU-00000000-0000-0000-0000-000000000001" || s.Devices[0].HeldBytes() != 5 {
		t.Errorf("%+v", s.Devices)
	}
}

func TestRecordingHoldsWhatCollectorsRead(t *testing.T) {
	source := sourceOf(t, secretHost())
	a := mustRead(t, writeHost(t, source))
	if a.Kind != Recorded || a.Description != "two lines" || a.PageSize != 4096 || a.RecordedWith != "test" {
		t.Errorf("%+v", a)
	}
	for _, c := range []struct {
		dir        hostfs.Dir
		name, want string
	}{
		{a.Proc, "meminfo", "MemTotal: 1 kB\n"}, {a.Proc, "6330/comm", "host-llm\n"}, {a.Proc, "sys/kernel/osrelease", "6.17.0\n"},
		{a.Sys, "class/dmi/id/product_name", "NVIDIA_DGX_Spark\n"}, {a.Sys, "class/nvme/nvme0/model", "Disk\n"},
		{a.Sys, "class/nvme/nvme0/nvme0n1/size", "100\n"}, {a.Sys, "class/block/nvme0n1/size", "100\n"},
		{a.Sys, "class/net/enx000000000001/operstate", "up\n"},
		{a.Cgroup, "cgroup.controllers", "memory\n"}, {a.Cgroup, "system.slice/memory.stat", "anon 1\n"},
	} {
		if got, err := c.dir.ReadFile(c.name); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	if link, err := a.Proc.ReadLink("self/ns/pid"); err != nil || link != "pid:[4026531836]" {
		t.Errorf("self/ns/pid -> %q, %v", link, err)
	}
	if _, err := a.Cgroup.Stat("top.slice/memory.stat"); err == nil {
		t.Error("content that forges an entry is kept")
	}
}

func TestRecordingIsBounded(t *testing.T) {
	host := secretHost()
	for i := range 300 {
		host[fmt.Sprintf("sys/fs/cgroup/s%03d.slice/memory.stat", i)] = &fstest.MapFile{Data: []byte(strings.Repeat("anon 1234567890\n", 1500))}
	}
	host["proc/vmstat"] = &fstest.MapFile{Data: bytes.Repeat([]byte("x 1\n"), maxFileBytes)}
	text := writeHost(t, sourceOf(t, host))
	if len(text) > 400_000 {
		t.Errorf("%d bytes", len(text))
	}
	a := mustRead(t, text)
	if !strings.Contains(a.Notes, "files were left out") {
		t.Errorf("notes %q", a.Notes)
	}
	if _, err := a.Proc.Stat("vmstat"); err == nil {
		t.Error("a file without end is kept")
	}
	if _, err := a.Proc.Stat("6330/comm"); err != nil {
		t.Errorf("what matters is left out: %v", err)
	}
}

func TestOfManyLikeFilesSomeAreRecorded(t *testing.T) {
	host := secretHost()
	for i := range 2 * maxMatches {
		host[fmt.Sprintf("sys/class/thermal/thermal_zone%d/type", i)] = &fstest.MapFile{Data: []byte("acpitz\n")}
	}
	a := mustRead(t, writeHost(t, sourceOf(t, host)))
	if zones, err := a.Sys.ReadDir("class/thermal"); err != nil || len(zones) != maxMatches {
		t.Errorf("%d zones, %v", len(zones), err)
	}
}

func TestHostWithoutMeminfoIsRefused(t *testing.T) {
	source := sourceOf(t, secretHost())
	source.Proc.Path = t.TempDir()
	var out bytes.Buffer
	if err := Write(t.Context(), &out, source); err == nil || out.Len() > 0 {
		t.Errorf("%v, %d bytes", err, out.Len())
	}
}

func TestFileThatBlocksDoesNotHoldTheRecorder(t *testing.T) {
	host := secretHost()
	host["proc/vmstat"] = &fstest.MapFile{Data: []byte("x 1\n")}
	entered, until := make(chan struct{}), make(chan struct{})
	defer close(until)
	source := sourceOf(t, host)
	enter := sync.OnceFunc(func() { close(entered) })
	source.Proc.Refuse = func(name string) error { // as the driver of a broken disk does
		if name == "vmstat" {
			enter()
			<-until
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	var out bytes.Buffer
	if err := Write(ctx, &out, source); !errors.Is(err, context.Canceled) || out.Len() > 0 {
		t.Errorf("%v, %d bytes", err, out.Len())
	}
}

// hanging is a driver that hangs in one call until the channel is closed.
type hanging struct {
	nvml.Driver
	call  nvml.Call
	until <-chan struct{}
}

func (h hanging) Init() nvml.Return {
	if h.call == nvml.CallInit {
		<-h.until
	}
	return h.Driver.Init()
}

func (h hanging) Do(device int, call nvml.Call) (nvml.Value, nvml.Return) {
	if call == h.call {
		<-h.until
	}
	return h.Driver.Do(device, call)
}

func TestDriverThatHangsHalfWayIsRecordedUpToThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := sourceOf(t, secretHost())
		until := make(chan struct{})
		defer close(until)
		source.Driver = hanging{source.Driver, nvml.CallPower, until}
		a := mustRead(t, writeHost(t, source))
		if !strings.Contains(a.Notes, string(nvml.CallPower)) || !strings.Contains(string(a.recording), string(nvml.CallUUID)) {
			t.Errorf("notes %q", a.Notes)
		}
	})
}

func TestDriverThatNeverOpensIsNotRecordedAsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := sourceOf(t, secretHost())
		until := make(chan struct{})
		defer close(until)
		source.Driver = hanging{source.Driver, nvml.CallInit, until}
		if err := Write(t.Context(), io.Discard, source); !errors.Is(err, nvml.ErrHung) {
			t.Errorf("error %v", err)
		}
	})
}

func TestSameThingIsMaskedTheSameAndOthersDifferently(t *testing.T) {
	m := newMasker("node7.example.org")
	first, other, again := m.mask(containerID), m.mask(strings.Repeat("ab", 32)), m.mask(containerID)
	if first != again || first == other || len(first) != 64 {
		t.Errorf("%s %s %s", first, other, again)
	}
	if a, b := m.mask(bootID), m.mask(strings.ReplaceAll(bootID, "-", "_")); strings.ReplaceAll(b, "_", "-") != a {
		t.Errorf("%s %s", a, b)
	}
	if got := m.maskNames("node7 node7.example.org node70 node7-x xnode7"); got != "host host node70 host-x xnode7" {
		t.Errorf("%s", got)
	}
	for _, text := range []string{"MemTotal:       127600748 kB", "0000000F:01:00.0", "pci0004:00/0004:01:00.0", "18446744073709551608", "nr_free_pages 0", "00:1f.2"} {
		if got := m.mask(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	if got := m.mask(macAddress); len(got) != len(macAddress) || got == macAddress {
		t.Errorf("%s", got)
	}
	names := []string{m.mask("br-0123456789ab"), m.mask("enx0123456789ab")}
	if !slices.Equal(names, []string{"br-000000000001", "enx000000000002"}) {
		t.Errorf("%v", names)
	}
}
