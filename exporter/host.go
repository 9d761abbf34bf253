package exporter

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
	"github.com/umascope/umascope/exporter/snapshot"
)

// mounts are the mount points of a host's kernel file systems.
type mounts struct{ proc, sys, cgroup string }

// usualMounts are those of a machine that reads itself.
func usualMounts() mounts { return mounts{"/proc", "/sys", "/sys/fs/cgroup"} }

// live is the host at these mounts, still without its GPUs.
func (m mounts) live() collector.Host {
	return collector.Host{
		Proc: hostfs.Dir{Path: m.proc}, Sys: hostfs.Dir{Path: m.sys}, Cgroup: hostfs.Dir{Path: m.cgroup},
		HTTP: engine.Transport(nil), Loopback: engine.LoopbackTransport(), Logs: "/", SMARTLog: hostfs.ReadSMARTLog, CacheResident: hostfs.CacheResident, KernelLog: hostfs.OpenKernelLog,
		Mode: collector.Live, Now: time.Now, PageSize: os.Getpagesize(),
	}
}

// LiveHost is this machine as it is, for programs that bring exporters of their own. The caller
// closes its GPU reader.
func LiveHost() (collector.Host, error) {
	host := usualMounts().live()
	meminfo, err := hostfs.ReadMeminfo(host.Proc)
	if err != nil {
		return collector.Host{}, err
	}
	host.GPU = nvml.NewReader(nvml.Live(), nvml.ReaderOptions{PoolBytes: meminfo["MemTotal"]})
	return host, nil
}

// openedHost is a host with the resources to close after it.
type openedHost struct {
	collector.Host
	recording *recording // nil when driver calls are not recorded
}

// openHost opens the host of the command line. With mustRead a procfs without a readable meminfo is an error: every
// figure would be missing, so the path must be wrong.
func (l *commandLine) openHost(mustRead bool) (*openedHost, error) {
	if l.replay != "" {
		return l.openRecorded()
	}
	host := l.mounts.live()
	meminfo, err := hostfs.ReadMeminfo(host.Proc)
	if err != nil && mustRead {
		return nil, badInput("--path.procfs %s: not a procfs: %w", l.mounts.proc, err)
	}
	recordedFiles, recordedGPU := err == nil && !hostfs.IsProcfs(l.mounts.proc), l.nvmlReplay != ""
	host.ForeignGPU = recordedFiles != recordedGPU
	if recordedFiles || recordedGPU {
		host.Mode, host.Loopback = collector.Replay, nil
	}
	if recordedFiles { // these are of the machine that this program runs on
		host.PageSize, host.HTTP, host.Logs, host.SMARTLog, host.CacheResident, host.KernelLog = 0, nil, "", nil, nil, nil
	}
	opened := &openedHost{Host: host}
	driver, err := l.driver(opened)
	if err != nil {
		return nil, err
	}
	opened.GPU = nvml.NewReader(driver, l.readerOptions(meminfo["MemTotal"]))
	return opened, nil
}

// openRecorded opens the host of --replay, and adds the sources that it names to those of the command line.
func (l *commandLine) openRecorded() (*openedHost, error) {
	for _, other := range []struct {
		flag  string
		given bool
	}{
		{"--path.procfs", l.explicitPaths[0]}, {"--path.sysfs", l.explicitPaths[1]}, {"--path.cgroupfs", l.explicitPaths[2]},
		{"--nvml.replay", l.nvmlReplay != ""}, {"--nvml.record", l.nvmlRecord != ""},
	} {
		if other.given {
			return nil, badInput("--replay %s: is a whole machine, so %s cannot be given too", l.replay, other.flag)
		}
	}
	file, err := hostfs.OpenRegular(l.replay)
	if err != nil {
		return nil, badInput("--replay %s: %w", l.replay, reason(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, snapshot.MaxBytes+1))
	if err != nil {
		return nil, badInput("--replay %s: %w", l.replay, reason(err))
	}
	recorded, err := snapshot.Read(data)
	if err == nil {
		err = collector.AddArchived(recorded, &l.options)
	}
	if err != nil {
		return nil, badInput("--replay %s: %w", l.replay, err)
	}
	host, err := collector.ArchivedHost(recorded, l.readerOptions(0))
	if err != nil {
		return nil, badInput("--replay %s: %w", l.replay, err)
	}
	if _, err := hostfs.ReadMeminfo(host.Proc); err != nil {
		host.Close()
		return nil, badInput("--replay %s: has no meminfo: %w", l.replay, err)
	}
	return &openedHost{Host: host}, nil
}

func (l *commandLine) readerOptions(poolBytes uint64) nvml.ReaderOptions {
	return nvml.ReaderOptions{Architecture: l.options.Architecture, PoolBytes: poolBytes, PCIeThroughput: l.options.PCIeThroughput}
}

// driver is the live library or a recording of one, recorded if that is asked for.
func (l *commandLine) driver(opened *openedHost) (nvml.Driver, error) {
	driver := nvml.Live()
	if l.nvmlReplay != "" {
		file, err := hostfs.OpenRegular(l.nvmlReplay)
		if err != nil {
			return nil, badInput("--nvml.replay %s: %w", l.nvmlReplay, reason(err))
		}
		defer file.Close()
		if driver, err = nvml.Replay(file); err != nil {
			return nil, badInput("--nvml.replay %s: %w", l.nvmlReplay, err)
		}
	}
	if l.nvmlRecord == "" {
		return driver, nil
	}
	if sameFile(l.nvmlReplay, l.nvmlRecord) {
		return nil, badInput("--nvml.record %s: is the file that is replayed", l.nvmlRecord)
	}
	started, err := startRecording(driver, l.nvmlRecord)
	if err != nil {
		return nil, err
	}
	opened.recording = started
	return started.driver, nil
}

// sameFile reports whether both paths lead to the same existing file.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// close releases the driver and completes the recording.
func (o *openedHost) close() error {
	o.Host.Close()
	if o.recording == nil {
		return nil
	}
	return o.recording.close()
}

// recording writes driver calls to a file while they are made, unbuffered: a recording matters most for a driver that
// ends the program.
type recording struct {
	driver *nvml.Recorder
	file   *os.File
}

func startRecording(driver nvml.Driver, path string) (*recording, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, badInput("--nvml.record %s: %w", path, reason(err))
	}
	return &recording{nvml.Record(driver, file), file}, nil
}

func (r *recording) close() error {
	if err := errors.Join(r.driver.Err(), r.file.Close()); err != nil {
		return fmt.Errorf("--nvml.record: %w", err)
	}
	return nil
}
