package collector

import (
	"context"
	"errors"
	"fmt"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/metric"
)

// kvbmSpec is the collector of KV block managers.
func kvbmSpec() Spec {
	return Spec{
		Name:    metric.CollectorKVBM,
		Help:    "KV blocks moved between device, host and disk by Dynamo KVBM, and its disk-tier files.",
		Metrics: kvbmMetrics(),
		Needs:   []Need{inspectNeed("the tiers of other users' engines are not found: the file of the disk tier has no name, only the descriptors that they hold, and sizes are in their environment")},
		Open: func(host Host, options Options) Collect {
			c := &kvbmCollector{
				host: host, client: engine.Client{HTTP: host.HTTP}, sources: newSources(options.Sources),
				sizes: options.Sources.BytesPerBlock, logs: map[string]*kvbmLog{},
				looks: newProcessLooks(host, func(pid uint32) kvbmProcess { return inspectKVBM(host.Proc, pid) }),
			}
			return c.collect
		},
	}
}

// kvbmCollector keeps the offsets of logs and the evidence of processes between collections. Counts of a restarted
// source are passed on as they are: the reader of a counter detects the restart.
type kvbmCollector struct {
	host    Host
	client  engine.Client
	sources *sources
	sizes   map[string]uint64 // bytes per block, by source; "" is the default for all other sources
	logs    map[string]*kvbmLog
	looks   *processLooks[kvbmProcess]
}

var errNotKVBM = errors.New("answers, but has no metric of KVBM or NIXL")

// collect reads pages, logs and descriptors, each of which can be the only source: an engine with a disk tier but
// without metrics, or the page of an engine on another machine.
func (c *kvbmCollector) collect(ctx context.Context, sample *Sample, batch *Batch) error {
	named, listErr := c.sources.now()
	found := sample.discover(ctx, named)
	targets := found.targets
	answers := readSources(ctx, targets.KVBM, c.readPage)
	logged, logErr := c.readLogs(targets.KVBMLogs)
	processes, lookErr := c.processes(ctx, sample)
	files, filesErr := diskFiles(processes)
	configured := emitConfigured(ctx, sample, batch, processes)

	sizes := c.blockSizes(answers, logged)
	for _, a := range answers {
		batch.Gauge(metric.KVBMUp, number(a.Err == nil), a.Source)
		if a.Err == nil {
			a.Value.emit(batch, a.Source, sizes[a.Source])
		}
	}
	for _, one := range logged {
		one.emit(batch)
	}
	for _, file := range files {
		file.emit(batch, c.host)
	}
	pageErr := sourcesOutcome("pages of KVBM", "--kvbm.url", found, answers)
	return kvbmOutcome(pageErr, configured || len(logged)+len(files) > 0, errors.Join(listErr, logErr, lookErr, filesErr))
}

// kvbmOutcome is absent only if no source was found and no error occurred.
func kvbmOutcome(pageErr error, foundElse bool, failed error) error {
	switch absent := errors.Is(pageErr, ErrAbsent); {
	case !absent:
		return errors.Join(pageErr, failed)
	case failed != nil, foundElse:
		return failed
	}
	return fmt.Errorf("%w, and no process that uses a GPU has a disk tier open", pageErr)
}

func (c *kvbmCollector) readPage(ctx context.Context, e *engine.Endpoint) (kvbmPage, error) {
	fetched, err := c.client.Page(ctx, e)
	page := kvbmPage{fetched}
	if err == nil && page.version() == "" {
		err = errNotKVBM
	}
	return page, err
}

// blockSizes returns the size of a block by source, in bytes, where one is available. The size in a log applies only
// without another size, and only if there is one page and one size, so that they must belong together.
func (c *kvbmCollector) blockSizes(answers []answer[kvbmPage], logged []loggedKVBM) map[string]uint64 {
	sizes := map[string]uint64{}
	var counting []string
	for _, a := range answers {
		if a.Err != nil || !a.Value.countsBlocks() {
			continue
		}
		counting = append(counting, a.Source)
		if size, given := c.sizes[a.Source]; given {
			sizes[a.Source] = size
		} else if size, given := c.sizes[""]; given {
			sizes[a.Source] = size
		}
	}
	if size := onlyBlockSize(logged); len(counting) == 1 && len(sizes) == 0 && size > 0 {
		sizes[counting[0]] = size
	}
	return sizes
}

// onlyBlockSize is the size that all logs agree on, 0 if there is none or they differ.
func onlyBlockSize(logged []loggedKVBM) uint64 {
	var only uint64
	for _, one := range logged {
		switch size := one.facts.blockBytes; {
		case size == 0 || size == only:
		case only == 0:
			only = size
		default:
			return 0
		}
	}
	return only
}

func kvbmMetrics() []metric.Definer {
	return []metric.Definer{
		metric.KVBMUp, metric.KVBMInfo, metric.KVBMBlocksTotal, metric.KVBMBytesTotal, metric.KVBMBlockBytes,
		metric.KVBMMatchedTokensTotal, metric.KVBMWindowHitRatio, metric.KVBMWindowHitBlocks,
		metric.KVBMWindowQueriedBlocks, metric.KVBMHitBlocksTotal, metric.KVBMOnboardsInFlight,
		metric.KVBMTransfersInFlight, metric.KVBMTransfersTotal, metric.KVBMTransferSecondsTotal,
		metric.KVBMTransferFailuresTotal, metric.KVBMObjectFailuresTotal,
		metric.KVBMDiskFileBytes, metric.KVBMDiskFileInfo, metric.KVBMDiskFileDirectIO, metric.KVBMConfiguredCacheBytes, metric.KVBMDiskFilterEnabled,
		metric.KVBMNIXLBytesTotal, metric.KVBMNIXLRequestsTotal, metric.KVBMNIXLTransferSecondsTotal,
		metric.KVBMNIXLRegisteredBytesTotal, metric.KVBMNIXLDeregisteredBytesTotal, metric.KVBMNIXLErrorsTotal, metric.KVBMNIXLDroppedEventsTotal,
	}
}
