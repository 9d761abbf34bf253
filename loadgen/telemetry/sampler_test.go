package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/runfile"
)

// pages is an in-memory exporter: the answer to each scrape, by host.
type pages func(host string, scrape int) (string, error)

// client serves pages without a network, so that time stops under synctest.
func (p pages) client() *http.Client {
	scrapes := map[string]int{}
	var mutex sync.Mutex
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		mutex.Lock()
		scrapes[r.URL.Host]++
		scrape := scrapes[r.URL.Host]
		mutex.Unlock()
		body, err := p(r.URL.Host, scrape)
		if err != nil {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
	})}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func options(t *testing.T, p pages, sources ...Source) Options {
	start := time.Now()
	return Options{
		Sources: sources, Engines: supported.Engines(), Interval: time.Second, Client: p.client(),
		File:  filepath.Join(t.TempDir(), "telemetry.jsonl.gz"),
		Clock: func() int64 { return time.Since(start).Nanoseconds() },
	}
}

func start(t *testing.T, o Options) *Sampler {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func stop(t *testing.T, s *Sampler) runfile.SamplingStats {
	t.Helper()
	stats, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

func read(t *testing.T, path string) *Log {
	t.Helper()
	log, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func points(s *Series) []Point { return slices.Collect(s.Points()) }

func only(t *testing.T, source *SourceLog, family metric.Definer) *Series {
	t.Helper()
	found := source.Find(family)
	if len(found) != 1 {
		t.Fatalf("%d series of %s", len(found), family.Def().Name)
	}
	return found[0]
}

const second = int64(time.Second)

func TestEverySampleIsKeptAndOnlyChangesAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(_ string, scrape int) (string, error) {
			return fmt.Sprintf("uma_exporter_mode{mode=\"live\"} 1\numa_memory_pool_bytes 100\numa_memory_dirty_bytes %d\n", scrape), nil
		}, Source{Name: "spark", URL: "http://spark:10420"})
		s := start(t, o)
		time.Sleep(2500 * time.Millisecond)
		stats := stop(t, s)
		if got := stats.Sources[0]; got.SamplesGot != 3 || got.SamplesWanted != 3 {
			t.Errorf("counted %+v", got)
		}
		source := read(t, o.File).Source("spark")
		if got, want := points(only(t, source, metric.MemoryDirtyBytes)), []Point{{0, 1}, {second, 2}, {2 * second, 3}}; !slices.Equal(got, want) {
			t.Errorf("dirty is %v, want %v", got, want)
		}
		pool := only(t, source, metric.MemoryPoolBytes)
		if got, want := points(pool), []Point{{0, 100}, {second, 100}, {2 * second, 100}}; !slices.Equal(got, want) {
			t.Errorf("pool is %v, want %v", got, want)
		}
		if len(pool.changes) != 1 {
			t.Errorf("a constant was written %d times", len(pool.changes))
		}
		if source.Mode() != "live" || source.URL != "http://spark:10420/metrics" {
			t.Errorf("mode %q, url %q", source.Mode(), source.URL)
		}
	})
}

func TestAFailedSampleIsAGapAndIsNotInterpolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(_ string, scrape int) (string, error) {
			if scrape == 2 {
				return "", errors.New("hangs")
			}
			return "uma_memory_pool_bytes 100\n", nil
		}, Source{Name: "spark", URL: "http://spark"})
		s := start(t, o)
		time.Sleep(2500 * time.Millisecond)
		stats := stop(t, s)
		if got := stats.Sources[0]; got.SamplesGot != 2 || got.SamplesWanted != 3 {
			t.Errorf("counted %+v", got)
		}
		source := read(t, o.File).Sources[0]
		pool := only(t, source, metric.MemoryPoolBytes)
		if got, want := points(pool), []Point{{0, 100}, {2 * second, 100}}; !slices.Equal(got, want) {
			t.Errorf("points %v, want %v", got, want)
		}
		if len(source.Gaps) != 1 || source.Gaps[0].AtNS != second || !strings.Contains(source.Gaps[0].Reason, "deadline") {
			t.Errorf("gaps %+v", source.Gaps)
		}
		for ns, want := range map[int64]bool{second / 2: true, second: false, second * 3 / 2: false, 2 * second: true, -1: false} {
			if _, ok := pool.At(ns); ok != want {
				t.Errorf("value at %d ns: %v, want %v", ns, ok, want)
			}
		}
	})
}

func TestASourceThatHangsDoesNotDelayAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(host string, _ int) (string, error) {
			if host == "hung" {
				return "", errors.New("hangs")
			}
			return "uma_memory_pool_bytes 100\n", nil
		}, Source{Name: "a", URL: "http://hung"}, Source{Name: "b", URL: "http://well"})
		s := start(t, o)
		time.Sleep(5500 * time.Millisecond)
		stats := stop(t, s)
		if a, b := stats.Sources[0], stats.Sources[1]; a.SamplesGot != 0 || a.SamplesWanted != 6 || b.SamplesGot != 6 || b.SamplesWanted != 6 {
			t.Errorf("counted %+v", stats.Sources)
		}
	})
}

func TestASeriesThatVanishesIsAbsentNotZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(_ string, scrape int) (string, error) {
			if scrape == 2 {
				return "uma_memory_pool_bytes 1\n", nil
			}
			return "uma_memory_pool_bytes 1\numa_gpu_power_watts{uuid=\"GPU-1\"} 30\n", nil
		}, Source{Name: "spark", URL: "http://spark"})
		s := start(t, o)
		time.Sleep(2500 * time.Millisecond)
		stop(t, s)
		watts := only(t, read(t, o.File).Sources[0], metric.GPUPowerWatts)
		if got, want := points(watts), []Point{{0, 30}, {2 * second, 30}}; !slices.Equal(got, want) {
			t.Errorf("points %v, want %v", got, want)
		}
		if watts.Key() != `uma_gpu_power_watts{uuid="GPU-1"}` {
			t.Errorf("key %s", watts.Key())
		}
	})
}

func TestPhaseBordersAreSampledAndGiveWindowsAndIncreases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		o := options(t, func(string, int) (string, error) {
			swapped := 10 * time.Since(begin).Seconds()
			if time.Since(begin) > 4*time.Second {
				swapped -= 40 // reset at 4 s
			}
			return fmt.Sprintf("uma_vmstat_swapped_in_bytes_total %g\n", swapped), nil
		}, Source{Name: "spark", URL: "http://spark"})
		s := start(t, o)
		s.Mark("warmup")
		time.Sleep(1300 * time.Millisecond)
		s.Mark("measure")
		time.Sleep(2 * time.Second)
		s.Mark("rest")
		time.Sleep(2 * time.Second)
		stop(t, s)
		log := read(t, o.File)
		source := log.Sources[0]
		if missing := log.MissingBorders(source); len(missing) > 0 {
			t.Errorf("missing borders %v", missing)
		}
		window := Window{1300 * int64(time.Millisecond), 3300 * int64(time.Millisecond)}
		if got := log.Windows(source, "measure"); !slices.Equal(got, []Window{window}) {
			t.Fatalf("windows %v, want %v", got, window)
		}
		swap := only(t, source, metric.VmstatSwappedInBytesTotal)
		if grown, reset, ok := swap.Increase(window); grown != 20 || reset || !ok {
			t.Errorf("increase %v, reset %v, ok %v; want 20", grown, reset, ok)
		}
		rest := log.Windows(source, "rest")[0]
		if grown, reset, ok := swap.Increase(rest); !reset || !ok || grown < 0 {
			t.Errorf("over the reset: increase %v, reset %v, ok %v", grown, reset, ok)
		}
		if _, _, ok := swap.Increase(Window{-2, -1}); ok {
			t.Error("an increase before the first sample")
		}
	})
}

func TestABorderWithoutASampleIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(_ string, scrape int) (string, error) {
			if scrape > 1 {
				return "", errors.New("hangs")
			}
			return "uma_memory_pool_bytes 1\n", nil
		}, Source{Name: "spark", URL: "http://spark"})
		s := start(t, o)
		time.Sleep(time.Millisecond)
		s.Mark("measure")
		stats := stop(t, s)
		if got := stats.Sources[0].MissingBorders; !slices.Equal(got, []string{"measure"}) {
			t.Errorf("missing borders %v", got)
		}
		log := read(t, o.File)
		if got := log.MissingBorders(log.Sources[0]); !slices.Equal(got, []string{"measure"}) {
			t.Errorf("missing borders in the file: %v", got)
		}
		if got := log.Windows(log.Sources[0], "measure"); got != nil {
			t.Errorf("a window without a border: %v", got)
		}
	})
}

func TestASampleThatABorderTookThePlaceOfIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(_ string, scrape int) (string, error) {
			if scrape == 2 || scrape == 3 {
				return "", errors.New("hangs")
			}
			return "uma_memory_pool_bytes 1\n", nil
		}, Source{Name: "spark", URL: "http://spark"})
		o.Interval = 4 * time.Second
		s := start(t, o)
		time.Sleep(2 * time.Second)
		s.Mark("a") // hangs for 3.6 s
		s.Mark("b") // and this one until 9.2 s: the sample of 4 s comes then, and that of 8 s never
		time.Sleep(12 * time.Second)
		stats := stop(t, s)
		if got := stats.Sources[0]; got.SamplesWanted != 4 || got.SamplesGot != 3 {
			t.Errorf("counted %+v, want 3 of 4", got)
		}
		source := read(t, o.File).Sources[0]
		if want := []int64{0, 9200 * second / 1000, 12 * second}; !slices.Equal(source.Samples, want) {
			t.Errorf("samples at %v, want %v", source.Samples, want)
		}
		missing := 0
		for _, gap := range source.Gaps {
			missing += gap.Samples
		}
		if last := source.Gaps[len(source.Gaps)-1]; missing != 3 || last.Reason != "not taken in time" {
			t.Errorf("gaps %+v, want two borders and one sample", source.Gaps)
		}
	})
}

func TestMarkDoesNotWaitForASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(string, int) (string, error) { return "", errors.New("hangs") }, Source{Name: "spark", URL: "http://spark"})
		s := start(t, o)
		before := time.Now()
		for range 2 * borderQueue {
			s.Mark("phase")
		}
		if waited := time.Since(before); waited != 0 {
			t.Errorf("marking took %v", waited)
		}
		stats := stop(t, s)
		if got := len(stats.Sources[0].MissingBorders); got != 2*borderQueue {
			t.Errorf("%d borders missing of %d", got, 2*borderQueue)
		}
	})
}

func TestSeriesBeyondTheLimitAreNamedAndFamiliesOfFewStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var page strings.Builder
		for i := range 2 * SeriesLimit {
			fmt.Fprintf(&page, "uma_gpu_process_memory_bytes{uuid=\"a\",pid=\"%d\",comm=\"x\",cgroup=\"/\"} 1\n", i)
		}
		page.WriteString("uma_memory_pool_bytes 1\numa_nvme_read_bytes_total{device=\"nvme0n1\"} 1\n")
		o := options(t, func(string, int) (string, error) { return page.String(), nil }, Source{Name: "a", URL: "http://a"}, Source{Name: "b", URL: "http://b"})
		s := start(t, o)
		time.Sleep(1500 * time.Millisecond)
		stats := stop(t, s)
		log := read(t, o.File)
		for i, source := range log.Sources {
			if len(source.Series) != SeriesLimit {
				t.Errorf("%d series of source %d", len(source.Series), i)
			}
			want := map[string]int{"uma_gpu_process_memory_bytes": SeriesLimit + 2}
			if fmt.Sprint(source.Dropped) != fmt.Sprint(want) {
				t.Errorf("dropped %v, want %v", source.Dropped, want)
			}
			only(t, source, metric.MemoryPoolBytes)
			only(t, source, metric.NVMeReadBytesTotal)
			if stats.Sources[i].SeriesDropped != SeriesLimit+2 {
				t.Errorf("counted %d dropped", stats.Sources[i].SeriesDropped)
			}
		}
	})
}

func TestARunThatIsKilledIsReadableUpToTheLastSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(string, int) (string, error) { return "uma_memory_pool_bytes 1\n", nil }, Source{Name: "spark", URL: "http://spark"})
		s := start(t, o)
		time.Sleep(10*time.Second + 500*time.Millisecond)
		synctest.Wait()
		killed, err := os.ReadFile(o.File) // what a kill at this moment leaves
		if err != nil {
			t.Fatal(err)
		}
		stop(t, s)
		log, err := decode(bytes.NewReader(killed))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(log.Sources[0].Samples); got < 10 || !log.Torn {
			t.Errorf("%d samples of 11, torn %v", got, log.Torn)
		}
		if whole := read(t, o.File); whole.Torn {
			t.Error("a file that was completed is torn")
		}
	})
}

func TestSamplingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		o := options(t, func(string, int) (string, error) { return "uma_memory_pool_bytes 1\n", nil }, Source{Name: "spark", URL: "http://spark"})
		s, err := Start(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		cancel()
		time.Sleep(10 * time.Second)
		if stats := stop(t, s); stats.Sources[0].SamplesGot != 2 {
			t.Errorf("counted %+v", stats.Sources[0])
		}
	})
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	clock := func() int64 { return 0 }
	well := []Source{{Name: "spark", URL: "http://spark"}}
	for name, o := range map[string]Options{
		"no source":         {Interval: time.Second, Clock: clock},
		"no clock":          {Sources: well, Interval: time.Second},
		"too often":         {Sources: well, Interval: time.Millisecond, Clock: clock},
		"too rarely":        {Sources: well, Interval: time.Minute, Clock: clock},
		"the same name":     {Sources: []Source{{Name: "a", URL: "http://a"}, {Name: "a", URL: "http://b"}}, Interval: time.Second, Clock: clock},
		"no name":           {Sources: []Source{{Name: "", URL: "http://a"}}, Interval: time.Second, Clock: clock},
		"not http":          {Sources: []Source{{Name: "a", URL: "ftp://a"}}, Interval: time.Second, Clock: clock},
		"no host":           {Sources: []Source{{Name: "a", URL: "http://"}}, Interval: time.Second, Clock: clock},
		"no such folder":    {Sources: well, Interval: time.Second, Clock: clock, File: "/no/such/folder/telemetry.jsonl.gz"},
		"the file is there": {Sources: well, Interval: time.Second, Clock: clock, File: "sampler_test.go"},
	} {
		if s, err := Start(t.Context(), o); err == nil {
			_, _ = s.Stop()
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAFullDiskIsSaidAtTheEnd(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{file: full, compress: gzip.NewWriter(full)}
	w.flush()
	if _, err := w.close(); err == nil {
		t.Error("no error from a full disk")
	}
}

func TestSecretsOfTheAddressAreNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(_ string, scrape int) (string, error) {
			if scrape > 1 {
				return "", errors.New("hangs")
			}
			return "uma_memory_pool_bytes 1\n", nil
		}, Source{Name: "spark", URL: "http://me:secret@spark/metrics?token=secret"})
		s := start(t, o)
		time.Sleep(1500 * time.Millisecond)
		stop(t, s)
		file, err := os.Open(o.File)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		plain, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(plain)
		if err != nil || len(text) == 0 || strings.Contains(string(text), "secret") {
			t.Errorf("error %v, file:\n%s", err, text)
		}
	})
}

func TestProbeKnowsAnExporterFromAnythingElse(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    bool
	}{
		"an exporter":  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "uma_exporter_mode{mode=\"live\"} 1\n") }, true},
		"another page": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "node_load1 1\n") }, false},
		"not a page":   {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, false},
		"an error":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, false},
		"a redirect":   {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, false},
		"a flood": {func(w http.ResponseWriter, _ *http.Request) {
			line := strings.Repeat("#", 1<<16) + "\n"
			for range maxPageBytes>>16 + 1 {
				fmt.Fprint(w, line)
			}
		}, false},
	} {
		server := httptest.NewServer(test.handler)
		if err := Probe(t.Context(), Source{URL: server.URL}); (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
	}
	if err := Probe(t.Context(), Source{URL: "http://127.0.0.1:1"}); err == nil {
		t.Error("nobody is there, and was found")
	}
}

// TestAPageThatIsSlowAtABorderIsWaitedFor: a sample between borders is one of many, that of a border is the only one.
func TestAPageThatIsSlowAtABorderIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, nil, Source{Name: "spark", URL: "http://spark"})
		o.Interval = 100 * time.Millisecond
		var scrapes atomic.Int32
		o.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if scrapes.Add(1) == 2 {
				select {
				case <-time.After(1500 * time.Millisecond):
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("uma_memory_pool_bytes 1\n"))}, nil
		})}
		s := start(t, o)
		time.Sleep(50 * time.Millisecond)
		s.Mark("measure")
		time.Sleep(4 * time.Second)
		if missing := stop(t, s).Sources[0].MissingBorders; len(missing) > 0 {
			t.Errorf("no sample at the border of %v", missing)
		}
	})
}

func TestTheLatestValuesAreThoseOfTheLastSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(host string, scrape int) (string, error) {
			if scrape == 3 {
				return "", errors.New("gone")
			}
			return fmt.Sprintf("uma_memory_pool_bytes %d\n", scrape), nil
		}, Source{Name: "spark", URL: "http://spark:10420"}, Source{Name: "engine", URL: "http://engine:8000", Foreign: true})
		s := start(t, o)
		latest := func() (all []string) {
			s.Latest(func(source, family string, _ map[string]string, value float64) {
				all = append(all, fmt.Sprint(source, " ", family, " ", value))
			})
			return all
		}
		for _, want := range []string{"[spark uma_memory_pool_bytes 1]", "[spark uma_memory_pool_bytes 2]", "[]", "[spark uma_memory_pool_bytes 4]"} {
			time.Sleep(950 * time.Millisecond)
			synctest.Wait()
			if got := fmt.Sprint(latest()); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			time.Sleep(50 * time.Millisecond)
		}
		stop(t, s)
	})
}
