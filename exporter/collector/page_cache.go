package collector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/umascope/umascope/exporter/metric"
)

const pageCacheNeed = "page_cache_owner"

// needPageCache is access to the page cache figures of files of other owners.
func needPageCache() Need {
	return Need{
		Name:  pageCacheNeed,
		Cost:  "how much of a path is in the page cache is unknown: the kernel shows that of a file to its owner, to users who may write it, and with CAP_FOWNER",
		Fix:   "run the exporter as the owner of the files, or give it CAP_FOWNER and, where it may not even open them, CAP_DAC_READ_SEARCH (systemd: AmbientCapabilities=; docker run --cap-add=; in compose cap_add)",
		Asked: func(_ Host, options Options) bool { return len(options.CachePaths) > 0 },
	}
}

// CachedPath is how much of a path is in the page cache.
type CachedPath struct {
	Path  string
	Bytes uint64
	// Err is why the figure is missing, nil when it is there.
	Err error
}

// CachedPaths are the paths of Options, as the memory collector last read them; those whose first lookup has not ended
// are left out.
func (s *Sample) CachedPaths() []CachedPath {
	if paths := s.cachedPaths.Load(); paths != nil {
		return *paths
	}
	return nil
}

// pageCache reads the paths of Options, each in its own lookup: one may be on a server that does not answer.
type pageCache struct {
	paths   []string
	lookups []*lookup[uint64]
}

func newPageCache(host Host, options Options) *pageCache {
	cache := &pageCache{}
	if host.CacheResident == nil {
		return cache
	}
	for _, path := range options.CachePaths {
		cache.paths = append(cache.paths, path)
		cache.lookups = append(cache.lookups, &lookup[uint64]{now: host.Now, read: func(ctx context.Context) (uint64, error) {
			return host.CacheResident(ctx, path)
		}})
	}
	return cache
}

// refresh starts the lookups that are due. The rest of the memory is read meanwhile.
func (c *pageCache) refresh() {
	for _, lookup := range c.lookups {
		lookup.refresh()
	}
}

// emit adds the figures read so far. A missing path, or one of another owner, does not fail the collector.
func (c *pageCache) emit(ctx context.Context, sample *Sample, batch *Batch) error {
	ctx, cancel := patience(ctx)
	defer cancel()
	var found []CachedPath
	var errs []error
	for i, path := range c.paths {
		bytes, ready, err := c.lookups[i].value(ctx)
		if !ready && err == nil {
			continue
		}
		found = append(found, CachedPath{path, bytes, err})
		batch.Gauge(metric.PageCacheKnown, number(err == nil), path)
		switch {
		case err == nil:
			batch.Gauge(metric.PageCacheResidentBytes, float64(bytes), path)
		case errors.Is(err, fs.ErrPermission):
			batch.Lacks(pageCacheNeed)
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fmt.Errorf("page cache of %s: %w", path, err))
		}
	}
	sample.cachedPaths.Store(&found)
	return errors.Join(errs...)
}
