package sim

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
)

// everything is all text of a host in order of paths.
func everything(t testing.TB, host collector.Host) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []hostfs.Dir{host.Proc, host.Sys, host.Cgroup} {
		must(t, fs.WalkDir(os.DirFS(dir.Path), ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			text, err := dir.ReadFile(name)
			all.WriteString(name + "\n" + string(text))
			return err
		}))
	}
	return all.String()
}

// play is the same short story every time, told in steps of that length.
func play(t testing.TB, seed uint64, step time.Duration) *Host {
	t.Helper()
	host := newHost(t, Config{Seed: seed, SwapBytes: 8 << 30, Cable: true})
	addFile(t, host, "weights", 30*gib)
	p := start(t, host, "engine", container)
	for _, demand := range []Demand{
		{Read: FileTransfer{"weights", 3 * gib}, AnonBytes: 3 * gib},
		{DeviceBytes: 95 * gib, AnonBytes: 9 * gib, BusyRatio: 0.7, CPUs: 3, DirectWriteBytesPerSecond: 123_456_789},
		{DeviceBytes: 20 * gib, BusyRatio: 0.2, RDMAReceiveBytesPerSecond: 234_567_891},
	} {
		p.Demand(demand)
		for range 20 * time.Second / step {
			host.Advance(step)
		}
	}
	return host
}

func TestSameSeedAndDemandsGiveTheSameBytes(t *testing.T) {
	whole := everything(t, play(t, 4, 20*time.Second).Collect())
	for name, other := range map[string]*Host{"again": play(t, 4, 20*time.Second), "in steps": play(t, 4, 50*time.Millisecond)} {
		if everything(t, other.Collect()) != whole {
			t.Errorf("%s, it comes out otherwise", name)
		}
	}
	if everything(t, play(t, 5, 20*time.Second).Collect()) == whole {
		t.Error("the seed changes nothing")
	}
}

func TestFilesShowTheMomentAtWhichACollectionBegins(t *testing.T) {
	host := play(t, 1, time.Second)
	collected := host.Collect()
	defer collected.Close()
	before := everything(t, collected)
	start(t, host, "another", native).Demand(Demand{AnonBytes: 4 * gib})
	host.DropCaches()
	host.Advance(time.Minute)
	if everything(t, collected) != before {
		t.Error("they went on with the host")
	}
	must(t, collected.Refresh())
	if everything(t, collected) == before {
		t.Error("they did not go on when a collection began")
	}
}

func TestFilesThatCannotBeWrittenFailTheCollection(t *testing.T) {
	host := newHost(t, Config{})
	collected := host.Collect()
	defer collected.Close()
	must(t, os.RemoveAll(host.folder.path))
	must(t, os.WriteFile(host.folder.path, nil, 0o600))
	host.Advance(time.Second)
	if err := collected.Refresh(); err == nil {
		t.Error("no error")
	}
}

func TestLinksLeadWhereTheKernelsDo(t *testing.T) {
	host := play(t, 1, time.Second).Collect()
	for name, want := range map[string]string{"class/nvme/nvme0/model": "SAMSUNG MZALC4T0HBL1-00B07\n", "dev/block/259:0/dev": "259:0\n",
		"class/hwmon/hwmon1/name": "nvme\n", "class/dmi/id/sys_vendor": "NVIDIA\n", "class/thermal/thermal_zone6/type": "acpitz\n"} {
		if text, err := host.Sys.ReadFile(name); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if link, err := host.Proc.ReadLink("self/ns/pid"); err != nil || link != hostPIDNamespace {
		t.Errorf("self/ns/pid: %q, %v", link, err)
	}
	if _, err := host.Cgroup.Stat("memory.current"); err == nil {
		t.Error("the root cgroup has a memory.current")
	}
}

func TestOpenFilesAreDescribed(t *testing.T) {
	host := newHost(t, Config{})
	target := "/tmp/dynamo-kvbm-disk-cache-a1b2c3 (deleted)"
	p, err := host.Start(Program{Comm: "worker", Cgroup: container, OpenFiles: []OpenFile{{target, 12 * gib, true}}})
	must(t, err)
	proc := host.Collect().Proc
	if link, err := hostfs.ReadProcessLink(proc, p.PID, "fd/3"); err != nil || link != target || p.PID != 6330 {
		t.Errorf("%q, %v", link, err)
	}
	info, err := proc.Stat("6330/fd/3")
	must(t, err)
	if info.Size() != 12*gib || !info.Mode().IsRegular() {
		t.Errorf("%d bytes, %v", info.Size(), info.Mode())
	}
	if text, err := proc.ReadFile("6330/fdinfo/3"); err != nil || !bytes.Contains(text, []byte("flags:\t02200002\n")) {
		t.Errorf("%q, %v", text, err)
	}
}

func TestWhatCannotBeIsRefused(t *testing.T) {
	for name, config := range map[string]Config{
		"driver": {DriverVersion: "newest"}, "ambient": {AmbientCelsius: 1000},
	} {
		if _, err := New(config); err == nil {
			t.Errorf("%s: %+v", name, config)
		}
	}
	host := newHost(t, Config{})
	for _, program := range []Program{{Cgroup: container}, {Comm: "a process with a long name", Cgroup: container}, {Comm: "x", Cgroup: "relative"}, {Comm: "x", Cgroup: "/a/../b"}, {Comm: "x", Cgroup: "/"}} {
		if _, err := host.Start(program); err == nil {
			t.Errorf("%+v", program)
		}
	}
	if err := host.SetLimits("", Limits{}); err == nil {
		t.Error("limits of no group")
	}
	addFile(t, host, "a", 1)
	for name, bytes := range map[string]int64{"a": 1, "": 1, "b": 0} {
		if err := host.AddFile(name, bytes); err == nil {
			t.Errorf("file %q of %d bytes", name, bytes)
		}
	}
	resident := host.Collect().CacheResident
	if _, err := resident(t.Context(), "no such file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if n, err := resident(t.Context(), "a"); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
}

func TestNonsenseIsNoDemand(t *testing.T) {
	host := newHost(t, Config{})
	p := start(t, host, "engine", container)
	before := checkAgreement(t, host)
	zero := 0.0
	p.Demand(Demand{DeviceBytes: -1, AnonBytes: -gib, BusyRatio: zero / zero, CPUs: -zero/zero - 1, DirectReadBytesPerSecond: -5,
		Read: FileTransfer{"unknown", gib}})
	host.Advance(time.Second)
	if w := p.state.want; w.busy != 0 || w.milliCPUs != 0 || w.directRead != 0 {
		t.Errorf("wanted: %+v", w)
	}
	if got := moved(before, checkAgreement(t, host), container, p); len(got) > 0 {
		t.Errorf("moved %v", got)
	}
	p.Demand(Demand{DeviceBytes: 1 << 62, PinnedBytes: 1 << 62, ManagedBytes: 1 << 62, BusyRatio: 7, CPUs: 1e30, DirectWriteBytesPerSecond: 1 << 62})
	host.Advance(time.Second)
	checkAgreement(t, host)
	if status := p.Status(); status.Refusals != 3 || status.DeviceBytes != 0 {
		t.Errorf("%+v", status)
	}
}

// TestHostMayBeUsedByManyAtOnce is for the race detector.
func TestHostMayBeUsedByManyAtOnce(t *testing.T) {
	host := newHost(t, Config{SwapBytes: 4 << 30})
	addFile(t, host, "weights", 10*gib)
	p := start(t, host, "engine", container)
	collected := host.Collect()
	defer collected.Close()
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 50 {
				switch worker {
				case 0:
					host.Advance(300 * time.Millisecond)
				case 1:
					p.Demand(Demand{DeviceBytes: int64(i) * gib, BusyRatio: 0.5, Read: FileTransfer{"weights", gib}})
					p.Status()
				case 2:
					if _, err := collector.NewSample(collected, collector.Options{}).Memory(t.Context()); err != nil {
						t.Error(err)
					}
				case 3:
					if other, err := host.Start(Program{Comm: "short", Cgroup: native}); err == nil {
						other.Stop()
					}
					_, _ = collected.Cgroup.ReadFile(native[1:] + "/memory.stat") // comes and goes
				}
			}
		})
	}
	all.Wait()
	checkAgreement(t, host)
}

func TestRunFollowsTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newHost(t, Config{})
		began := host.Now()
		ctx, cancel := context.WithCancel(t.Context())
		go host.Run(ctx, 60)
		time.Sleep(10*time.Second + time.Millisecond)
		cancel()
		synctest.Wait()
		if passed := host.Now().Sub(began); passed != 10*time.Minute {
			t.Errorf("%v have passed in 10 s, sixty times as fast", passed)
		}
	})
}
