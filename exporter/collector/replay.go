package collector

import (
	"fmt"
	"os"
	"time"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
	"github.com/umascope/umascope/exporter/snapshot"
)

// ArchivedHost is the host of a snapshot, labelled as recorded or constructed, with its files in a temporary folder. It
// contains nothing of the machine that the program runs on except the clock: no value in a snapshot depends on the time,
// and ages and deadlines of the reader are those of now. The caller closes it.
func ArchivedHost(a *snapshot.Archive, options nvml.ReaderOptions) (Host, error) {
	driver, err := a.Driver()
	if err != nil {
		return Host{}, err
	}
	mode := Replay
	if a.Kind == snapshot.Constructed {
		mode = Constructed
	}
	folder, err := os.MkdirTemp("", "umascope-replay-")
	if err != nil {
		return Host{}, err
	}
	remove := func() { _ = os.RemoveAll(folder) }
	files, err := a.Unpack(folder)
	if err != nil {
		remove()
		return Host{}, err
	}
	if meminfo, err := hostfs.ReadMeminfo(files.Proc); err == nil {
		options.PoolBytes = meminfo["MemTotal"]
	}
	return Host{
		Proc: files.Proc, Sys: files.Sys, Cgroup: files.Cgroup, PageSize: a.PageSize, Remove: remove,
		HTTP: a.HTTP, Logs: files.Logs, SMARTLog: a.SMARTLog, CacheResident: a.CacheResident,
		GPU: nvml.NewReader(driver, options), Mode: mode, Now: time.Now,
	}, nil
}

// AddArchived adds to the settings of collectors what the snapshot has in addition to the files that are always read:
// engines, logs, health logs of drives and paths in the page cache. A size of KV blocks that is already set stays.
func AddArchived(a *snapshot.Archive, options *Options) error {
	sources := &options.Sources
	for _, kind := range []struct {
		urls []string
		list *[]*engine.Endpoint
	}{{a.KVBMURLs, &sources.KVBM}, {a.EngineURLs, &sources.Engines}} {
		for _, raw := range kind.urls {
			parsed, err := engine.ParseEndpoint(raw)
			if err != nil {
				return fmt.Errorf("header: %.60q %w", raw, err)
			}
			*kind.list = append(*kind.list, parsed)
		}
	}
	sources.KVBMLogs = append(sources.KVBMLogs, a.KVBMLogs...)
	if a.KVBMBlockBytes > 0 && sources.BytesPerBlock == nil {
		sources.BytesPerBlock = map[string]uint64{"": a.KVBMBlockBytes}
	}
	options.NVMeSMART = options.NVMeSMART || a.HasSMART()
	options.CachePaths = append(options.CachePaths, a.CachedPaths()...)
	return sources.Targets.Check()
}
