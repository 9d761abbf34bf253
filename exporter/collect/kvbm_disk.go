package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/kernelfs"
	"github.com/umascope/umascope/exporter/metric"
)

// diskFile is a file that a KV block manager keeps blocks in.
type diskFile struct {
	labels []string // of the first process found that has it open: PID, comm, cgroup, path
	bytes  uint64
	direct *bool // whether any descriptor of it bypasses the page cache; nil where that is not told
}

func (f *diskFile) emit(batch *Batch) {
	batch.Gauge(metric.KVBMDiskFileBytes, float64(f.bytes), f.labels...)
	if f.direct != nil {
		batch.Gauge(metric.KVBMDiskFileDirectIO, number(*f.direct), f.labels...)
	}
}

// isDiskTier knows the file by its name: version 1 makes dynamo-kvbm-disk-cache-XXXXXX and unlinks it as
// soon as it is registered, version 2 makes kvbm_g3_<instance>.bin and removes it when it ends (ai-dynamo/dynamo,
// lib/llm/src/block_manager/storage/disk.rs, and the connector's leader).
func isDiskTier(file kernelfs.OpenFile) bool {
	name := path.Base(file.Target)
	return file.SizeBytes != nil && (strings.HasPrefix(name, "dynamo-kvbm-disk-cache-") ||
		strings.HasPrefix(name, "kvbm_g3_") && strings.HasSuffix(name, ".bin"))
}

// diskFiles looks for the files among the descriptors of engines. One can be open several times: cuFile in
// compatibility mode keeps one descriptor with and one without O_DIRECT, and a process that was forked
// has those of its parent. A process that ended or may not be looked into is passed over: the latter
// is what the collector's need is about.
func (c *kvbmCollector) diskFiles(ctx context.Context, sample *Sample) ([]*diskFile, error) {
	var found []*diskFile
	var errs []error
	byIdentity := map[string]*diskFile{}
	for _, pid := range sample.engineProcesses(ctx) {
		opened, err := kernelfs.OpenFiles(c.host.Proc, pid)
		before := len(found)
		for _, file := range opened {
			if !isDiskTier(file) {
				continue
			}
			known := byIdentity[identity(file)]
			if known == nil {
				known = &diskFile{labels: c.holder(pid, file.Target), bytes: *file.SizeBytes}
				byIdentity[identity(file)] = known
				found = append(found, known)
			}
			known.addDirect(file.Direct)
		}
		if err != nil && !isHidden(err) && !(errors.Is(err, kernelfs.ErrTooLong) && len(found) > before) {
			errs = append(errs, fmt.Errorf("descriptors: %w", err))
		}
	}
	return found, errors.Join(errs...)
}

// isHidden says that a process is gone or not for these eyes.
func isHidden(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// identity tells files apart, whatever they are called in the containers that have them open.
func identity(file kernelfs.OpenFile) string {
	if file.Inode == 0 {
		return file.Target
	}
	return file.Device + " " + strconv.FormatUint(file.Inode, 10)
}

func (c *kvbmCollector) holder(pid uint32, path string) []string {
	comm, _ := kernelfs.Comm(c.host.Proc, pid) // it may have ended since
	cgroup, _ := kernelfs.ProcessCgroup(c.host.Proc, pid)
	return []string{strconv.FormatUint(uint64(pid), 10), comm, cgroup, path}
}

func (f *diskFile) addDirect(direct *bool) {
	if direct != nil {
		f.direct = new(*direct || f.direct != nil && *f.direct)
	}
}
