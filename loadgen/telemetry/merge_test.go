package telemetry

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// part writes a telemetry file from its text.
func part(t *testing.T, shiftNS int64, text string) Part {
	t.Helper()
	path := filepath.Join(t.TempDir(), "telemetry.jsonl.gz")
	if err := os.WriteFile(path, compressed(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Part{path, shiftNS}
}

func head(names ...string) string {
	var sources []string
	for _, name := range names {
		sources = append(sources, fmt.Sprintf(`{"name":%q,"url":"http://%s/metrics"}`, name, name))
	}
	return `{"schema":"umascope.telemetry/1","interval_ns":1000,"series_per_source":300,"sources":[` + strings.Join(sources, ",") + "]}\n"
}

func merge(t *testing.T, phases []Phase, parts ...Part) (*Log, Merged) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "merged.jsonl.gz")
	merged, err := Merge(path, parts, phases)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, path), merged
}

// told returns all data of a log about a source, with its offsets shifted.
func reported(log *Log, name string, shiftNS int64) string {
	source := log.Source(name)
	var b strings.Builder
	fmt.Fprintln(&b, source.Name, source.URL, source.Foreign, source.Dropped)
	for _, at := range source.Samples {
		fmt.Fprint(&b, at+shiftNS, " ")
	}
	for _, gap := range source.Gaps {
		fmt.Fprintf(&b, "\ngap %d %d %s", gap.AtNS+shiftNS, gap.Samples, gap.Reason)
	}
	for _, series := range source.Series {
		fmt.Fprint(&b, "\n", series.Key(), series.Counter)
		for p := range series.Points() {
			fmt.Fprint(&b, " ", p.AtNS+shiftNS, "=", p.Value)
		}
	}
	return b.String()
}

func TestEverySourceIsTakenOnceFromThePartThatCoversItBest(t *testing.T) {
	short := part(t, 0, head("both", "first")+`{"series":{"source":0,"name":"x"}}
{"phase":{"at_ns":0,"name":"measure"}}
{"sample":{"source":0,"at_ns":1,"border":0,"index":[0],"values":[1]}}
{"sample":{"source":1,"at_ns":1,"border":0}}
{"end":true}
`)
	long := part(t, 100, head("second", "both")+`{"series":{"source":1,"name":"x","counter":true}}
{"phase":{"at_ns":-100,"name":"measure"}}
{"sample":{"source":1,"at_ns":-95,"border":0,"index":[0],"values":[7]}}
{"sample":{"source":0,"at_ns":-94,"border":0}}
{"sample":{"source":1,"at_ns":5,"index":[0],"values":[8]}}
{"gap":{"source":0,"at_ns":6,"samples":2,"reason":"refused"}}
{"dropped":{"source":1,"name":"y","series":3}}
{"end":true}
`)
	// It has more samples, and not the one at which the phase began.
	unbounded := part(t, 0, head("both")+`{"phase":{"at_ns":0,"name":"measure"}}
{"sample":{"source":0,"at_ns":1}}
{"sample":{"source":0,"at_ns":2}}
{"sample":{"source":0,"at_ns":3}}
{"end":true}
`)
	log, merged := merge(t, []Phase{{"measure", 0}}, short, long, unbounded)
	if want := "map[both:1 first:0 second:1]"; fmt.Sprint(merged.From) != want || len(log.Sources) != 3 || merged.Elsewhere != nil || merged.Torn != nil {
		t.Errorf("%+v, want from %s", merged, want)
	}
	for name, from := range map[string]Part{"both": long, "first": short, "second": long} {
		if got, want := reported(log, name, 0), reported(read(t, from.Path), name, from.ShiftNS); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	if got := log.Windows(log.Source("both"), "measure"); !slices.Equal(got, []Window{{5, 105}}) {
		t.Errorf("windows %v", got)
	}
	if log.Torn || log.IntervalNS != 1000 {
		t.Errorf("torn %v, interval %d", log.Torn, log.IntervalNS)
	}
}

func TestBordersAreThoseOfThePhaseOfTheSameName(t *testing.T) {
	// This part was interrupted before it measured: its second phase is the third of the whole.
	cut := part(t, 10, head("a")+`{"phase":{"at_ns":0,"name":"ready"}}
{"sample":{"source":0,"at_ns":1,"border":0}}
{"phase":{"at_ns":2,"name":"stop"}}
{"sample":{"source":0,"at_ns":3,"border":1}}
{"sample":{"source":0,"at_ns":4}}
`)
	log, merged := merge(t, []Phase{{"ready", 0}, {"measure", 5}, {"stop", 12}}, cut)
	a := log.Source("a")
	if got := log.MissingBorders(a); !slices.Equal(got, []string{"measure"}) {
		t.Errorf("missing %v", got)
	}
	if got := log.Windows(a, "stop"); !slices.Equal(got, []Window{{13, 14}}) {
		t.Errorf("windows %v", got)
	}
	if !slices.Equal(merged.Torn, []int{0}) || log.Torn {
		t.Errorf("%+v; the whole is torn: %v", merged, log.Torn)
	}
}

func TestASourceAtTwoAddressesIsNamed(t *testing.T) {
	one, other := part(t, 0, head("a")), part(t, 0, strings.Replace(head("a"), "http://a/", "http://b/", 1))
	if _, merged := merge(t, nil, one, other, other); !slices.Equal(merged.Elsewhere, []string{"a"}) || merged.From["a"] != 0 {
		t.Errorf("%+v", merged)
	}
}

func TestTelemetryThatIsMissingOrBrokenIsAnError(t *testing.T) {
	whole := part(t, 0, head("a"))
	for name, parts := range map[string][]Part{
		"no part":     {},
		"no file":     {whole, {Path: filepath.Join(t.TempDir(), "none.gz")}},
		"broken file": {whole, part(t, 0, head("a")+"garbage\n")},
	} {
		if _, err := Merge(filepath.Join(t.TempDir(), "m.gz"), parts, nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := Merge(whole.Path, []Part{whole}, nil); err == nil {
		t.Error("an existing file was written over")
	}
}

// Two samplers that begin at different moments follow one page each; on one clock they are one.
func TestSamplersOfOneLoadReadAsOneOnOneClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		page := pages(func(host string, scrape int) (string, error) {
			return fmt.Sprintf("uma_exporter_mode{mode=\"live\"} 1\numa_memory_pool_bytes %d\n", time.Since(begin).Milliseconds()), nil
		})
		sample := func(wait time.Duration, name string) Part {
			time.Sleep(wait)
			o := options(t, page, Source{Name: name, URL: "http://" + name})
			shift := time.Since(begin).Nanoseconds()
			s := start(t, o)
			s.Mark("ready")
			time.Sleep(10*time.Second - time.Duration(shift))
			s.Mark("measure")
			time.Sleep(5 * time.Second)
			s.Mark("stop")
			time.Sleep(time.Second)
			stop(t, s)
			return Part{o.File, shift}
		}
		parts := make([]Part, 2)
		done := make(chan struct{})
		go func() {
			defer close(done)
			parts[1] = sample(1234*time.Millisecond, "b")
		}()
		parts[0] = sample(0, "a")
		<-done
		log, _ := merge(t, []Phase{{"ready", 0}, {"measure", 10e9}, {"stop", 15e9}}, parts...)
		for _, source := range log.Sources {
			if got := log.Windows(source, "measure"); !slices.Equal(got, []Window{{10e9, 15e9}}) {
				t.Errorf("%s: windows %v", source.Name, got)
			}
			for _, series := range source.Series {
				for p := range series.Points() {
					if series.Name == "uma_memory_pool_bytes" && p.Value != float64(p.AtNS/1e6) {
						t.Fatalf("%s at %d ns shows what was there at %v ms", source.Name, p.AtNS, p.Value)
					}
				}
			}
		}
	})
}

// FuzzMerge merges two files: an accepted result has, for each source, the data of the file that it was taken from,
// moved by the shift.
func FuzzMerge(f *testing.F) {
	f.Add([]byte(wholeFile), []byte(wholeFile[:len(wholeFile)/2]), int64(0))
	f.Add([]byte(wholeFile), []byte(strings.Replace(wholeFile, `"name":"a"`, `"name":"c"`, 1)), int64(-1e9))
	f.Add([]byte(head("a")), []byte(head("b")), int64(7))
	f.Fuzz(func(t *testing.T, one, other []byte, shift int64) {
		parts := []Part{part(t, 0, string(one)), part(t, shift%(1<<40), string(other))}
		path := filepath.Join(t.TempDir(), "merged.jsonl.gz")
		merged, err := Merge(path, parts, []Phase{{"measure", 0}})
		if err != nil {
			return
		}
		log := read(t, path)
		if len(log.Sources) != len(merged.From) || log.Torn {
			t.Fatalf("%d sources of %v, torn %v", len(log.Sources), merged.From, log.Torn)
		}
		for name, from := range merged.From {
			original := read(t, parts[from].Path)
			if source := original.Source(name); slices.ContainsFunc(source.Samples, wild) || slices.ContainsFunc(source.Gaps, func(g Gap) bool { return wild(g.AtNS) }) {
				return // a moment centuries away cannot be shifted
			}
			if got, want := reported(log, name, 0), reported(original, name, parts[from].ShiftNS); got != want {
				t.Fatalf("%s\nwant %s", got, want)
			}
		}
	})
}

func wild(ns int64) bool { return ns > 1<<60 || ns < -1<<60 }

func TestOnePartUnshiftedStaysAsItWas(t *testing.T) {
	whole := part(t, 0, wholeFile)
	log, _ := merge(t, []Phase{{"measure", 6}}, whole)
	original := read(t, whole.Path)
	for _, name := range []string{"a", "b"} {
		if got, want := reported(log, name, 0), reported(original, name, 0); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if !slices.Equal(log.Phases, original.Phases) {
		t.Errorf("phases %v", log.Phases)
	}
}
