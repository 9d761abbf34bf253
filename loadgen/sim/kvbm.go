package sim

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/exporter/engine/dynamo"
	"github.com/umascope/umascope/exporter/metric"
)

// KVBMPage selects the names on KVBM's page.
type KVBMPage string

// The pages. In version 2, blocks from the disk pass through the host: the read of the disk is d2h, and h2d counts them
// too. DynamoPrefixed is version 1 with the names of the dashboard that comes with Dynamo.
const (
	KVBMv1         KVBMPage = "v1"
	KVBMv2         KVBMPage = "v2"
	DynamoPrefixed KVBMPage = "v1_dynamo"
)

// kvbmRoutes serves only the page. Without a tier KVBM does not listen: the answer is then 404.
func (e *Engine) kvbmRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(simulatedHeader, simulatedBy)
		if open, _ := e.serves(); !open || e.config.KV.HostBytes+e.config.KV.DiskBytes == 0 {
			http.NotFound(w, r)
			return
		}
		e.kvbmPage().handler().ServeHTTP(w, r)
	})
	return mux
}

// moved returns how many blocks took a route, by KVBM's definition of it.
func (r *reading) moved(version KVBMPage, route dynamo.KVBMRoute) int64 {
	disk, host := r.moves.DiskToDevice, r.moves.HostToDevice
	switch route.Op + " " + route.From + " " + route.To {
	case "offload device host":
		return r.moves.DeviceToHost
	case "offload host disk":
		return r.moves.HostToDisk
	case "offload device disk":
		return r.moves.DeviceToDisk
	case "onboard disk host":
		return disk
	case "onboard host device":
		if version == KVBMv2 {
			return host + disk
		}
		return host
	case "onboard disk device":
		if version == KVBMv2 {
			return 0
		}
		return disk
	}
	return 0 // there is no object store
}

// kvbmPage returns KVBM's metrics: no labels, and counters without _total, as in KVBM.
func (e *Engine) kvbmPage() page {
	version := e.config.KV.Page
	var counters []shown
	for _, route := range dynamo.KVBMRoutes() {
		if route.Blocks == dynamo.KVBMOnboardBlocksD2H && version != KVBMv2 {
			continue
		}
		counters = append(counters, shown{route.Blocks, "The number of " + route.Op + " blocks from " + route.From + " to " + route.To + ".",
			func(r *reading) float64 { return float64(r.moved(version, route)) }})
	}
	none := func(*reading) float64 { return 0 }
	counters = append(counters,
		shown{dynamo.KVBMMatchedTokens, "The number of matched tokens.", func(r *reading) float64 { return float64(r.hostTokens + r.diskTokens) }},
		shown{dynamo.KVBMOffloadBytesObject, "Bytes transferred to object storage.", none},
		shown{dynamo.KVBMOnboardBytesObject, "Bytes transferred from object storage.", none},
	)
	gauges := []shown{
		{dynamo.KVBMHostHitRate, "Host cache hit rate (0.0-1.0) from the sliding window.", func(r *reading) float64 { host, _ := r.window.rates(); return host }},
		{dynamo.KVBMDiskHitRate, "Disk cache hit rate (0.0-1.0) from the sliding window.", func(r *reading) float64 { _, disk := r.window.rates(); return disk }},
		{dynamo.KVBMObjectHitRate, "Object storage cache hit rate (0.0-1.0) from the sliding window.", none},
	}
	var hits []series
	var spreads []spread
	if version == KVBMv2 {
		counters = append(counters,
			shown{dynamo.KVBMObjectReadFailures, "Failed object storage reads.", none},
			shown{dynamo.KVBMObjectWriteFailures, "Failed object storage writes.", none})
		gauges = append(gauges, shown{dynamo.KVBMInflightOnboards, "Sequence hashes with an onboard in flight.", func(r *reading) float64 { return float64(r.onboarding) }})
		hits, spreads = kvbmHits(), kvbmTransfers()
	}
	all := append(seriesOf(prometheus.CounterValue, nil, counters...), seriesOf(prometheus.GaugeValue, nil, gauges...)...)
	all = append(all, hits...)
	if version == DynamoPrefixed {
		for i := range all {
			all[i].name = dynamo.KVBMPrefixes()[1] + all[i].name
		}
	}
	return e.newPage(all, spreads)
}

// kvbmTransfers returns the times of onboards. A request counts once, for the slowest tier that it needed, which
// decides its wait.
func kvbmTransfers() []spread {
	transfer := func(route string, read func(*reading) *histogram) spread {
		return spread{dynamo.KVBMTransferDuration, "End-to-end transfer duration by operation, route, and outcome.",
			prometheus.Labels{"operation": metric.OpOnboard, "route": route, "outcome": "success"}, read}
	}
	return []spread{
		transfer("d2h", func(r *reading) *histogram { return &r.fromDisk }),
		transfer("h2d", func(r *reading) *histogram { return &r.fromHost }),
	}
}

// kvbmHits returns the hits by tier.
func kvbmHits() []series {
	hit := func(tier string, read func(*reading) float64) series {
		return series{dynamo.KVBMHitBlocks, "Blocks served from each tier.", prometheus.CounterValue, prometheus.Labels{string(metric.LabelTier): tier}, read}
	}
	return []series{
		hit(metric.TierHost, func(r *reading) float64 { return float64(r.moves.HostToDevice) }),
		hit(metric.TierDisk, func(r *reading) float64 { return float64(r.moves.DiskToDevice) }),
	}
}

// lookup is one request's lookup below the device, in blocks.
type lookup struct{ host, disk, asked int }

const (
	windowRequests = 1000            // DYN_KVBM_CACHE_STATS_MAX_REQUESTS
	windowRefresh  = 5 * time.Second // DYN_KVBM_CACHE_STATS_LOG_INTERVAL_SECS
)

// window is KVBM's hit rates over the last requests. The shown values are renewed only from time to time: a page read
// right after a request does not include it yet.
type window struct {
	last      []lookup // a ring once it is full
	next      int
	sum       lookup
	shown     lookup
	refreshed time.Time
}

func (w *window) add(found lookup, now time.Time) {
	if len(w.last) < windowRequests {
		w.last = append(w.last, found)
	} else {
		oldest := w.last[w.next]
		w.sum = lookup{w.sum.host - oldest.host, w.sum.disk - oldest.disk, w.sum.asked - oldest.asked}
		w.last[w.next] = found
		w.next = (w.next + 1) % windowRequests
	}
	w.sum = lookup{w.sum.host + found.host, w.sum.disk + found.disk, w.sum.asked + found.asked}
	w.refresh(now)
}

// refresh renews the shown values if they are old enough.
func (w *window) refresh(now time.Time) {
	if now.Sub(w.refreshed) >= windowRefresh {
		w.shown, w.refreshed = w.sum, now
	}
}

// rates returns the shares of the requested blocks that each tier had; 0 without requests.
func (w *window) rates() (host, disk float64) {
	if w.shown.asked == 0 {
		return 0, 0
	}
	return float64(w.shown.host) / float64(w.shown.asked), float64(w.shown.disk) / float64(w.shown.asked)
}
