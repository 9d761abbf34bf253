package telemetry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

func TestThePageOfAnEngineThatIsAwayIsNeitherAskedNorMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var there atomic.Bool
		var asked atomic.Int64
		o := options(t, func(host string, _ int) (string, error) {
			if host == "spark" {
				return "uma_memory_pool_bytes 1\n", nil
			}
			asked.Add(1)
			if !there.Load() {
				return "", errors.New("refused")
			}
			return "vllm:num_requests_running 3\n", nil
		}, Source{Name: "spark", URL: "http://spark"}, Source{Name: "engine", URL: "http://engine", Foreign: true})
		o.Away = true
		s := start(t, o)
		s.Mark("load")
		time.Sleep(2500 * time.Millisecond)
		if n := asked.Load(); n != 0 {
			t.Errorf("asked %d times while it was away", n)
		}
		there.Store(true)
		s.Rest(false)
		s.Mark("ready")
		time.Sleep(2 * time.Second)
		s.Rest(true)
		there.Store(false)
		time.Sleep(2 * time.Second)
		stats := stop(t, s)
		for _, source := range stats.Sources {
			if source.SamplesWanted != source.SamplesGot || len(source.MissingBorders) > 0 {
				t.Errorf("%+v", source)
			}
		}
		if got := stats.Sources[0].SamplesGot; got != 7 {
			t.Errorf("the exporter was sampled %d times", got)
		}
		log := read(t, o.File)
		engine := log.Source("engine")
		if missing := log.MissingBorders(engine); len(missing) > 0 || !log.Bounded(engine, "ready") {
			t.Errorf("missing %v, windows %v", missing, log.Windows(engine, "ready"))
		}
	})
}

func TestAnEngineThatIsMissedBeforeItWentIsSaidToBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(_ string, scrape int) (string, error) {
			if scrape > 1 {
				return "", errors.New("refused")
			}
			return "vllm:num_requests_running 3\n", nil
		}, Source{Name: "engine", URL: "http://engine", Foreign: true})
		s := start(t, o)
		time.Sleep(time.Millisecond)
		s.Mark("measure")
		time.Sleep(borderPatience + 500*time.Millisecond) // the border has been given up, the sample after it is waited for
		s.Rest(true)
		stats := stop(t, s).Sources[0]
		log := read(t, o.File)
		if stats.SamplesWanted != 2 || stats.SamplesGot != 1 || !slices.Equal(stats.MissingBorders, []string{"measure"}) || !slices.Equal(log.MissingBorders(log.Sources[0]), []string{"measure"}) {
			t.Errorf("%+v, in the file %v", stats, log.MissingBorders(log.Sources[0]))
		}
	})
}

func TestABorderIsTakenBeforeTheEngineGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		o := options(t, func(_ string, scrape int) (string, error) {
			if scrape == 1 {
				time.Sleep(500 * time.Millisecond) // the borders wait for that
			}
			if gone.Load() {
				return "", errors.New("refused")
			}
			return "vllm:num_requests_running 3\n", nil
		}, Source{Name: "engine", URL: "http://engine", Foreign: true})
		s := start(t, o)
		time.Sleep(1100 * time.Millisecond)
		s.Mark("measure")
		s.Mark("stop")
		s.Rest(true)
		gone.Store(true)
		stats := stop(t, s).Sources[0]
		log := read(t, o.File)
		if len(stats.MissingBorders) > 0 || !log.Bounded(log.Sources[0], "measure") {
			t.Errorf("%+v, bounded %v", stats, log.Bounded(log.Sources[0], "measure"))
		}
	})
}

func TestAnEngineThatHangsKeepsNobodyFromGoingOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(string, int) (string, error) {
			time.Sleep(time.Hour)
			return "", nil
		}, Source{Name: "engine", URL: "http://engine", Foreign: true})
		s := start(t, o)
		for range 5 {
			s.Mark("measure")
		}
		began := time.Now()
		s.Rest(true)
		if took := time.Since(began); took > o.Interval {
			t.Errorf("it took %s", took)
		}
		stop(t, s)
	})
}

// TestTheEngineThatComesFindsRoomForItsOwn: cgroups and processes of an idle machine fill the room twice over, and do
// not matter to the run. An engine's own series prove, or refute, where its KV blocks came from.
func TestTheEngineThatComesFindsRoomForItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var there atomic.Bool
		page := func(cgroup, pid string) string {
			text := fmt.Sprintf("uma_process_io_bytes_total{cgroup=%[1]q,comm=\"x\",pid=%[2]q,op=\"read\"} 1\n", cgroup, pid)
			for _, family := range []string{"uma_cgroup_memory_current_bytes", "uma_cgroup_memory_peak_bytes", "uma_cgroup_swap_bytes", "uma_cgroup_kernel_other_bytes"} {
				text += fmt.Sprintf("%s{cgroup=%q} 1\n", family, cgroup)
			}
			return text
		}
		o := options(t, func(string, int) (string, error) {
			if there.Load() {
				return page("/engine", "9000") + "uma_memory_pool_bytes 1\numa_memory_ledger_bytes{line=\"gpu_process\"} 5\n", nil
			}
			var text strings.Builder
			text.WriteString("uma_memory_pool_bytes 1\n")
			for i := range SeriesLimit / 2 {
				text.WriteString(page(fmt.Sprintf("/idle%d", i), fmt.Sprint(i+1)))
			}
			return text.String(), nil
		}, Source{Name: "spark", URL: "http://spark"})
		o.Away = true
		s := start(t, o)
		s.Mark("load")
		time.Sleep(2500 * time.Millisecond)
		there.Store(true)
		s.Rest(false)
		s.Mark("ready")
		time.Sleep(2 * time.Second)
		stats := stop(t, s)
		spark := read(t, o.File).Source("spark")
		for _, family := range []metric.Definer{metric.ProcessIOBytesTotal, metric.CgroupMemoryCurrentBytes, metric.MemoryLedgerBytes, metric.MemoryPoolBytes} {
			if found := spark.Find(family); len(found) != 1 {
				t.Errorf("%d series of %s", len(found), family.Def().Name)
			}
		}
		if stats.Sources[0].SeriesDropped != 0 || len(spark.Dropped) != 0 {
			t.Errorf("dropped were %d, %v", stats.Sources[0].SeriesDropped, spark.Dropped)
		}
	})
}
