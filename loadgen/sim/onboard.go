package sim

import (
	"time"
)

// lane is the path from one tier to the device, used by one request after the other.
type lane struct {
	link Link
	free time.Time // when all transfers so far are complete
}

// bring returns when so many bytes that are requested now will arrive.
func (l *lane) bring(now time.Time, bytes int64) time.Time {
	if bytes == 0 {
		return now
	}
	begin := now
	if l.free.After(begin) {
		begin = l.free
	}
	there := begin.Add(l.link.time(bytes))
	// The latency of one request overlaps with the bytes of the next.
	l.free = there.Add(-l.link.Latency)
	return there
}

// onboarding is the lanes of both tiers.
type onboarding struct {
	host, disk lane
	blockBytes int64
}

// ready returns when all blocks that a request found below the device will be on it.
func (o *onboarding) ready(now time.Time, hits cacheHits) time.Time {
	host := o.host.bring(now, int64(hits.Host)*o.blockBytes)
	disk := o.disk.bring(now, int64(hits.Disk)*o.blockBytes)
	if disk.After(host) {
		return disk
	}
	return host
}
