package sim

import "time"

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
