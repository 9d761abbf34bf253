package collector

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/engine/dynamo"
	"github.com/umascope/umascope/exporter/metric"
)

// kvbmFacts are the latest values in the current log of an engine.
type kvbmFacts struct {
	// window counts blocks over the last requests; nil before the log has it.
	window *hitWindow
	// blockBytes is the size of a block, 0 before the log has it.
	blockBytes uint64
}

// hitWindow is the number of hits of each tier among the blocks looked up.
type hitWindow struct {
	queried uint64
	hits    map[string]uint64 // by tier
}

// loggedKVBM is what one log contains.
type loggedKVBM struct {
	path  string
	facts kvbmFacts
}

func (l loggedKVBM) emit(batch *Batch) {
	if l.facts.window == nil {
		return
	}
	batch.Gauge(metric.KVBMWindowQueriedBlocks, float64(l.facts.window.queried), l.path)
	for tier, hits := range l.facts.window.hits {
		batch.Gauge(metric.KVBMWindowHitBlocks, float64(hits), l.path, tier)
	}
}

// kvbmLog is a log that is read as it grows.
type kvbmLog struct {
	tail  logTail
	facts kvbmFacts
}

// readLogs reads the new part of the logs. A log that does not exist yet belongs to an engine that has not started. The
// values of a file that was replaced or truncated are dropped: another engine may write it now.
func (c *kvbmCollector) readLogs(paths []string) ([]loggedKVBM, error) {
	var logged []loggedKVBM
	var errs []error
	still := make(map[string]*kvbmLog, len(paths))
	for _, path := range paths {
		one := c.logs[path]
		if one == nil {
			one = &kvbmLog{}
		}
		err := one.read(c.host.Logs, path)
		switch {
		case err == nil:
			still[path] = one
			logged = append(logged, loggedKVBM{path, one.facts})
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fmt.Errorf("log %s: %w", path, err))
		}
	}
	c.logs = still // logs that are no longer configured, or gone, are forgotten
	return logged, errors.Join(errs...)
}

func (l *kvbmLog) read(logs, path string) error {
	if logs == "" {
		return fs.ErrNotExist
	}
	return l.tail.read(filepath.Join(logs, path), func() { l.facts = kvbmFacts{} }, l.facts.take)
}

var (
	hitRatesLine = regexp.MustCompile(`KVBM (?:\[[^\]]*\] )?Cache Hit Rates - (.+)`)
	hitRate      = regexp.MustCompile(`(\w+): [0-9.]+% \(([0-9]+)/([0-9]+)\)`)
	layoutLine   = regexp.MustCompile(`bytes_per_block"?[=:] ?([0-9]+)`)
	terminalCode = regexp.MustCompile("\x1b\\[[0-9;]*m")
)

// take parses one line. It uses two kinds of line, whatever prefix and colours an engine's log adds; the first kind has
// the identifier of a worker where there are several. Both counts are of blocks (ai-dynamo/dynamo,
// lib/bindings/kvbm/src/block_manager/cache_stats.rs; the second is of version 2):
//
//	KVBM [worker-0f0e] Cache Hit Rates - Host: 12.5% (448/3590), Disk: 77.2% (2770/3590)
//	disk_block_count=8192 bytes_per_block=4194304 total_gb=32 "Allocating disk-backed memory for G3 layout"
//
// A log belongs to one engine, so lines of the first kind from several engines replace each other.
func (f *kvbmFacts) take(line string) {
	if !strings.Contains(line, "Cache Hit Rates") && !strings.Contains(line, "G3 layout") {
		return // nearly all of them
	}
	line = terminalCode.ReplaceAllString(line, "")
	if found := hitRatesLine.FindStringSubmatch(line); found != nil {
		if window := parseWindow(found[1]); window != nil {
			f.window = window
		}
	} else if found := layoutLine.FindStringSubmatch(line); found != nil && strings.Contains(line, "G3 layout") {
		if size, err := strconv.ParseUint(found[1], 10, 64); err == nil && size > 0 {
			f.blockBytes = size
		}
	}
}

// parseWindow reads the hits of each tier, nil if they are inconsistent: more hits than queries, or different numbers
// of queries by tier.
func parseWindow(text string) *hitWindow {
	window := &hitWindow{hits: map[string]uint64{}}
	for _, rate := range hitRate.FindAllStringSubmatch(text, -1) {
		hits, hitsErr := strconv.ParseUint(rate[2], 10, 64)
		queried, queriedErr := strconv.ParseUint(rate[3], 10, 64)
		if hitsErr != nil || queriedErr != nil || hits > queried || len(window.hits) > 0 && queried != window.queried {
			return nil
		}
		window.queried = queried
		window.hits[dynamo.KVBMTier(rate[1])] = hits
	}
	if len(window.hits) == 0 {
		return nil
	}
	return window
}
