package sim

import (
	"fmt"
	"time"
)

// tell sends a line to OnLog, in the format of Dynamo's log: time, level, target, text.
func (e *Engine) tell(now time.Time, target, format string, values ...any) {
	if e.config.OnLog != nil {
		e.config.OnLog(now.UTC().Format("2006-01-02T15:04:05.000000Z") + "  INFO " + target + ": " + fmt.Sprintf(format, values...))
	}
}

// Names in lines about the disk tier. They do not exist on disk.
const (
	worker   = "simulated-worker"
	diskFile = "/simulated/dynamo-kvbm-disk-cache-000000"
	diskFD   = 188
)

// tellTiers logs KVBM's lines at its start; as soon as the file is registered it loses its name.
func (e *Engine) tellTiers(now time.Time) {
	if disk := int64(e.tiers.Disk) * e.config.KV.BlockBytes(); disk > 0 {
		const storage = "dynamo_llm::block_manager::storage::disk"
		e.tell(now, storage, "DiskStorage created: fd=%d, file=%s, size=%d bytes", diskFD, diskFile, disk)
		e.tell(now, storage, "Unlinking temp file (fd=%d, file=%s). File will be deleted when fd closes.", diskFD, diskFile)
	}
	if e.tiers.Disk+e.tiers.Host > 0 {
		e.tell(now, "simulated", "KvConnectorLeader initialized with worker_id: %s", worker)
	}
}

// tellRates logs the hit rates of the window when they are renewed and have changed. It is the only place where KVBM
// reports their denominators.
func (e *Engine) tellRates(now time.Time) {
	if e.tiers.Disk+e.tiers.Host == 0 || e.tally.window.shown == e.told {
		return
	}
	e.told = e.tally.window.shown
	host, disk := e.tally.window.rates()
	e.tell(now, "_core::block_manager::cache_stats", "KVBM [%s] Cache Hit Rates - Host: %.1f%% (%d/%d), Disk: %.1f%% (%d/%d)",
		worker, 100*host, e.told.host, e.told.asked, 100*disk, e.told.disk, e.told.asked)
}
