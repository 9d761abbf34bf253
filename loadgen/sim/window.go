package sim

import "time"

// lookup is what one request looked for below the device, in blocks.
type lookup struct{ host, disk, asked int }

const (
	windowRequests = 1000            // DYN_KVBM_CACHE_STATS_MAX_REQUESTS
	windowRefresh  = 5 * time.Second // DYN_KVBM_CACHE_STATS_LOG_INTERVAL_SECS
)

// window is KVBM's hit rates over the last requests. What it shows is renewed from time to time
// only: a page read right after a request does not know of it yet.
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

// refresh renews what is shown if it is old enough.
func (w *window) refresh(now time.Time) {
	if now.Sub(w.refreshed) >= windowRefresh {
		w.shown, w.refreshed = w.sum, now
	}
}

// rates are the shares of the blocks asked for that each tier had; 0 as long as nothing was.
func (w *window) rates() (host, disk float64) {
	if w.shown.asked == 0 {
		return 0, 0
	}
	return float64(w.shown.host) / float64(w.shown.asked), float64(w.shown.disk) / float64(w.shown.asked)
}
