package collector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// caching is a host whose page cache answers as the map says: bytes, or an error.
func caching(t testing.TB, answers map[string]any) Host {
	host := spark(t)
	host.CacheResident = func(_ context.Context, path string) (uint64, error) {
		switch answer := answers[path].(type) {
		case int:
			return uint64(answer), nil
		case error:
			return 0, fmt.Errorf("%s: %w", path, answer)
		}
		panic("nobody asked about " + path)
	}
	return host
}

func TestPageCacheByPath(t *testing.T) {
	broken := errors.New("input/output error")
	host := caching(t, map[string]any{"/models/qwen": 5 * gib, "/empty": 0, "/gone": fs.ErrNotExist, "/theirs": fs.ErrPermission})
	series, outcome := page(t, memorySpec(), host, Options{CachePaths: []string{"/models/qwen", "/empty", "/gone", "/theirs"}})
	if outcome.State != OK {
		t.Errorf("a path that is missing or another user's fails the collector: %v", outcome.Err)
	}
	wantSeries(t, series, map[string]float64{
		`uma_page_cache_resident_bytes{path="/models/qwen"}`:                   5 * gib,
		`uma_page_cache_resident_bytes{path="/empty"}`:                         0,
		`uma_page_cache_known{path="/models/qwen"}`:                            1,
		`uma_page_cache_known{path="/empty"}`:                                  1,
		`uma_page_cache_known{path="/gone"}`:                                   0,
		`uma_page_cache_known{path="/theirs"}`:                                 0,
		`uma_collector_privilege{collector="memory",needs="page_cache_owner"}`: 0,
		bytesOf("free"): 4812340 * kib,
	})
	wantAbsent(t, series, `uma_page_cache_resident_bytes{path="/gone"}`, `uma_page_cache_resident_bytes{path="/theirs"}`)
	if paths := outcome.Sample.CachedPaths(); len(paths) != 4 || paths[0].Bytes != 5*gib || !errors.Is(paths[2].Err, fs.ErrNotExist) {
		t.Errorf("%+v", paths)
	}

	series, outcome = page(t, memorySpec(), caching(t, map[string]any{"/broken": broken, "/mine": 1}), Options{CachePaths: []string{"/broken", "/mine"}})
	if outcome.State != Failed || !errors.Is(outcome.Err, broken) || !strings.Contains(outcome.Err.Error(), "/broken") {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{`uma_page_cache_known{path="/broken"}`: 0, `uma_page_cache_resident_bytes{path="/mine"}`: 1,
		bytesOf("free"): 4812340 * kib, `uma_collector_privilege{collector="memory",needs="page_cache_owner"}`: 1})
}

func TestWithoutPathsNobodyIsAskedForThePageCache(t *testing.T) {
	series, outcome := page(t, memorySpec(), caching(t, nil), Options{})
	if outcome.State != OK {
		t.Error(outcome.Err)
	}
	wantAbsent(t, series, "uma_page_cache", `uma_collector_privilege{collector="memory",needs="page_cache_owner"}`)

	recording := spark(t) // where there is no page cache to ask about
	series, outcome = page(t, memorySpec(), recording, Options{CachePaths: []string{"/models"}})
	if outcome.State != OK {
		t.Error(outcome.Err)
	}
	wantAbsent(t, series, "uma_page_cache")
}

// TestALargeTreeHoldsUpNoPage looks at a tree of which one look takes ten seconds.
func TestALargeTreeHoldsUpNoPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := spark(t)
		host.CacheResident = func(ctx context.Context, _ string) (uint64, error) {
			select {
			case <-time.After(10 * time.Second):
				return gib, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		runner := NewRunner(host, Options{CachePaths: []string{"/models"}}, []Spec{memorySpec()}, RunnerSettings{})
		const resident = `uma_page_cache_resident_bytes{path="/models"}`
		for scrape := range 20 {
			began := time.Now()
			series := gather(t, mustScrape(t, runner, t.Context()))
			took := time.Since(began)
			if limit := DefaultTimeout / 4; scrape == 0 && took > limit || scrape > 0 && took > lookupGrace {
				t.Errorf("page %d took %v", scrape, took)
			}
			if _, there := series[resident]; there != (scrape > 0) {
				t.Errorf("page %d has it: %v", scrape, there)
			}
			wantSeries(t, series, map[string]float64{bytesOf("free"): 4812340 * kib, `uma_collector_state{collector="memory",state="ok"}`: 1})
			time.Sleep(15*time.Second - took)
		}
	})
}
