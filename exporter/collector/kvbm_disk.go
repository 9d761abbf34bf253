package collector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// diskFile is a file in which a KV block manager keeps blocks.
type diskFile struct {
	labels []string // of the first process found that has it open: PID, comm, cgroup, path
	bytes  uint64
	direct *bool // whether any descriptor of it bypasses the page cache; nil if unknown
	device string
}

// emit adds the file's series. The device of a recorded file is one of the machine that replays it, so that only a live
// one has drives.
func (f *diskFile) emit(batch *Batch, host Host) {
	if hostfs.IsProcfs(host.Proc.Path) {
		for _, drive := range hostfs.Drives(host.Sys, f.device) {
			batch.Gauge(metric.KVBMDiskFileInfo, 1, append(slices.Clone(f.labels), drive)...)
		}
	}
	batch.Gauge(metric.KVBMDiskFileBytes, float64(f.bytes), f.labels...)
	if f.direct != nil {
		batch.Gauge(metric.KVBMDiskFileDirectIO, number(*f.direct), f.labels...)
	}
}

// isDiskTier recognizes the file by its name: version 1 makes dynamo-kvbm-disk-cache-XXXXXX and unlinks it as soon as
// it is registered, version 2 makes kvbm_g3_<instance>.bin and removes it when it ends (ai-dynamo/dynamo,
// lib/llm/src/block_manager/storage/disk.rs, and the connector's leader).
func isDiskTier(file hostfs.OpenFile) bool {
	name := path.Base(file.Target)
	return file.SizeBytes != nil && (strings.HasPrefix(name, "dynamo-kvbm-disk-cache-") ||
		strings.HasPrefix(name, "kvbm_g3_") && strings.HasSuffix(name, ".bin"))
}

// kvbmProcess is the KVBM evidence of one engine process.
type kvbmProcess struct {
	pid          uint32
	comm, cgroup string
	files        []hostfs.OpenFile // of the disk tier
	filesErr     error             // why files may be missing
	configured   configuredTiers
}

func inspectKVBM(proc hostfs.Dir, pid uint32) kvbmProcess {
	p := kvbmProcess{pid: pid, configured: readConfiguredTiers(proc, pid)}
	opened, err := hostfs.OpenFiles(proc, pid)
	p.files = slices.DeleteFunc(opened, func(file hostfs.OpenFile) bool { return !isDiskTier(file) })
	if err != nil && !isHidden(err) && !(errors.Is(err, hostfs.ErrTooLong) && len(p.files) > 0) {
		p.filesErr = fmt.Errorf("descriptors: %w", err)
	}
	if len(p.files)+len(p.configured.bytes) > 0 {
		p.comm, _ = hostfs.Comm(proc, pid) // it may have ended meanwhile
		p.cgroup, _ = hostfs.ProcessCgroup(proc, pid)
	}
	return p
}

// processes inspects the possible processes of an engine. A process that may not be inspected is skipped: the
// collector's need covers it.
func (c *kvbmCollector) processes(ctx context.Context, sample *Sample) ([]kvbmProcess, error) {
	found, hidden, err := c.looks.into(ctx, sample.engineProcesses(ctx))
	for _, pid := range hidden {
		found = append(found, inspectKVBM(c.host.Proc, pid))
	}
	return found, err
}

// diskFiles lists the files that the processes have open, each once. One can be open several times: cuFile in
// compatibility mode keeps one descriptor with and one without O_DIRECT, and a forked process has those of its parent.
func diskFiles(processes []kvbmProcess) ([]*diskFile, error) {
	var found []*diskFile
	var errs []error
	byIdentity := map[string]*diskFile{}
	for _, p := range processes {
		errs = append(errs, p.filesErr)
		for _, file := range p.files {
			known := byIdentity[identity(file)]
			if known == nil {
				known = &diskFile{labels: []string{pidLabel(p.pid), p.comm, p.cgroup, file.Target}, bytes: *file.SizeBytes, device: file.Device}
				byIdentity[identity(file)] = known
				found = append(found, known)
			}
			known.addDirect(file.Direct)
		}
	}
	return found, errors.Join(errs...)
}

// isHidden reports that a process is gone or that the reader may not see it.
func isHidden(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// identity identifies a file, whatever its name is in the containers that have it open.
func identity(file hostfs.OpenFile) string {
	if file.Inode == 0 {
		return file.Target
	}
	return file.Device + " " + strconv.FormatUint(file.Inode, 10)
}

func (f *diskFile) addDirect(direct *bool) {
	if direct != nil {
		f.direct = new(*direct || f.direct != nil && *f.direct)
	}
}
