package collector

import (
	"slices"

	"github.com/umascope/umascope/exporter/engine/dynamo"
	"github.com/umascope/umascope/exporter/engine/nixl"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// kvbmPage is a page of a KV block manager or of its transfer layer, NIXL.
type kvbmPage struct{ spec.Page }

// series returns the series of a name with whichever prefix the page has. None is returned if one of them is below zero,
// which no count, size, time or share can be: a sum of the others would be a part.
func (p kvbmPage) series(name string) []spec.Series {
	for _, prefix := range dynamo.KVBMPrefixes() {
		if found := p.Series(prefix + name); len(found) > 0 {
			if slices.ContainsFunc(found, func(one spec.Series) bool { return one.Value < 0 }) {
				return nil
			}
			return found
		}
	}
	return nil
}

// sum adds up all series of a name: KVBM writes one without labels, but a joined page of several managers has several.
func (p kvbmPage) sum(name string) (sum float64, known bool) {
	found := p.series(name)
	for _, one := range found {
		sum += one.Value
	}
	return sum, len(found) > 0
}

func (p kvbmPage) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return len(p.series(name)) > 0 })
}

// version returns the version whose metric names the page has, "" if it has none.
func (p kvbmPage) version() string {
	switch {
	case p.has(dynamo.KVBMOnboardBlocksD2H, dynamo.KVBMInflightOnboards, dynamo.KVBMTransferDuration+"_count", dynamo.KVBMHitBlocks):
		return metric.KVBMVersion2
	case p.countsBlocks(), p.has(dynamo.KVBMMatchedTokens):
		return metric.KVBMVersion1
	case p.has(nixl.TxBytes, nixl.RxBytes, nixl.Registered):
		return metric.KVBMVersionNIXL
	}
	return ""
}

func (p kvbmPage) countsBlocks() bool {
	return slices.ContainsFunc(dynamo.KVBMRoutes(), func(r dynamo.KVBMRoute) bool { return p.has(r.Blocks) })
}

// emit translates the page. A block size of 0 bytes is unknown.
func (p kvbmPage) emit(batch *Batch, source string, blockBytes uint64) {
	batch.Gauge(metric.KVBMInfo, 1, source, p.version())
	p.emitBlocks(batch, source, float64(blockBytes))
	if tokens, known := p.sum(dynamo.KVBMMatchedTokens); known {
		batch.Counter(metric.KVBMMatchedTokensTotal, tokens, source)
	}
	for tier, name := range map[string]string{
		metric.TierHost: dynamo.KVBMHostHitRate, metric.TierDisk: dynamo.KVBMDiskHitRate, metric.TierObject: dynamo.KVBMObjectHitRate,
	} {
		if found := p.series(name); len(found) == 1 { // the mean of several is undefined without their weights
			batch.Gauge(metric.KVBMWindowHitRatio, found[0].Value, source, tier)
		}
	}
	p.emitV2(batch, source)
	p.emitNIXL(batch, source)
}

func (p kvbmPage) emitBlocks(batch *Batch, source string, blockBytes float64) {
	if blockBytes > 0 {
		batch.Gauge(metric.KVBMBlockBytes, blockBytes, source)
	}
	objectBytes := map[string]string{
		metric.OpOffload: dynamo.KVBMOffloadBytesObject, metric.OpOnboard: dynamo.KVBMOnboardBytesObject,
	}
	for _, route := range dynamo.KVBMRoutes() {
		blocks, known := p.sum(route.Blocks)
		if known {
			batch.Counter(metric.KVBMBlocksTotal, blocks, source, route.Op, route.From, route.To)
		}
		if route.From == metric.TierObject || route.To == metric.TierObject {
			if bytes, counted := p.sum(objectBytes[route.Op]); counted {
				batch.Counter(metric.KVBMBytesTotal, bytes, source, route.Op, route.From, route.To)
				continue
			}
		}
		if known && blockBytes > 0 {
			batch.Counter(metric.KVBMBytesTotal, blocks*blockBytes, source, route.Op, route.From, route.To)
		}
	}
}

// emitV2 translates the additions of version 2.
func (p kvbmPage) emitV2(batch *Batch, source string) {
	if hashes, known := p.sum(dynamo.KVBMInflightOnboards); known {
		batch.Gauge(metric.KVBMOnboardsInFlight, hashes, source)
	}
	for op, name := range map[string]string{
		metric.OpRead: dynamo.KVBMObjectReadFailures, metric.OpWrite: dynamo.KVBMObjectWriteFailures,
	} {
		if failures, known := p.sum(name); known {
			batch.Counter(metric.KVBMObjectFailuresTotal, failures, source, op)
		}
	}
	counters := []struct {
		name    string
		counter metric.Counter
		labels  func(map[string]string) []string
	}{
		{dynamo.KVBMHitBlocks, metric.KVBMHitBlocksTotal, func(l map[string]string) []string { return []string{dynamo.KVBMTier(l[dynamo.LabelKVBMTier])} }},
		{dynamo.KVBMTransferDuration + "_count", metric.KVBMTransfersTotal, func(l map[string]string) []string { return routeLabels(l, dynamo.LabelKVBMOutcome) }},
		{dynamo.KVBMTransferDuration + "_sum", metric.KVBMTransferSecondsTotal, func(l map[string]string) []string { return routeLabels(l, dynamo.LabelKVBMOutcome) }},
		{dynamo.KVBMTransferFailures, metric.KVBMTransferFailuresTotal, func(l map[string]string) []string { return routeLabels(l, dynamo.LabelKVBMReason) }},
	}
	for _, row := range counters {
		p.tally(row.name, row.labels).each(func(sum float64, labels []string) {
			batch.Counter(row.counter, sum, append([]string{source}, labels...)...)
		})
	}
	byOperation := func(l map[string]string) []string { return []string{l[dynamo.LabelKVBMOperation]} }
	p.tally(dynamo.KVBMTransferInflight, byOperation).each(func(sum float64, labels []string) {
		batch.Gauge(metric.KVBMTransfersInFlight, sum, append([]string{source}, labels...)...)
	})
}

// routeLabels are operation, tiers and one further label of a series of transfers.
func routeLabels(labels map[string]string, last string) []string {
	if route, known := dynamo.KVBMRouteOf(labels); known {
		return []string{route.Op, route.From, route.To, labels[last]}
	}
	return []string{labels[dynamo.LabelKVBMOperation], metric.TierOther, metric.TierOther, labels[last]}
}

// emitNIXL translates the telemetry of the transfer layer, by agent.
func (p kvbmPage) emitNIXL(batch *Batch, source string) {
	const microsecond = 1e-6
	agent := func(l map[string]string) []string { return []string{l[nixl.LabelAgent]} }
	with := func(last string) func(map[string]string) []string {
		return func(l map[string]string) []string { return []string{l[nixl.LabelAgent], last} }
	}
	for _, row := range []struct {
		name    string
		counter metric.Counter
		unit    float64
		labels  func(map[string]string) []string
	}{
		{nixl.TxBytes, metric.KVBMNIXLBytesTotal, 1, with(metric.DirectionTx)},
		{nixl.RxBytes, metric.KVBMNIXLBytesTotal, 1, with(metric.DirectionRx)},
		{nixl.TxRequests, metric.KVBMNIXLRequestsTotal, 1, with(metric.DirectionTx)},
		{nixl.RxRequests, metric.KVBMNIXLRequestsTotal, 1, with(metric.DirectionRx)},
		{nixl.TransferTime, metric.KVBMNIXLTransferSecondsTotal, microsecond, agent},
		{nixl.Registered, metric.KVBMNIXLRegisteredBytesTotal, 1, agent},
		{nixl.Deregistered, metric.KVBMNIXLDeregisteredBytesTotal, 1, agent},
		{nixl.Errors, metric.KVBMNIXLErrorsTotal, 1, func(l map[string]string) []string { return []string{l[nixl.LabelAgent], l[nixl.LabelStatus]} }},
		{nixl.DroppedEvents, metric.KVBMNIXLDroppedEventsTotal, 1, agent},
	} {
		p.tally(row.name, row.labels).each(func(sum float64, labels []string) {
			batch.Counter(row.counter, sum*row.unit, append([]string{source}, labels...)...)
		})
	}
}
