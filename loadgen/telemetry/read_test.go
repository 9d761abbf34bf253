package telemetry

import (
	"bytes"
	"compress/gzip"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
)

const wholeFile = `{"schema":"umascope.telemetry/1","interval_ns":1000000000,"series_per_source":300,"sources":[{"name":"a","url":"http://a/metrics"},{"name":"b"}]}
{"series":{"source":0,"name":"uma_memory_pool_bytes"}}
{"sample":{"source":0,"at_ns":5,"index":[0],"values":[100]}}
{"phase":{"at_ns":6,"name":"measure"}}
{"sample":{"source":0,"at_ns":7,"border":0}}
{"gap":{"source":1,"at_ns":7,"samples":1,"reason":"refused"}}
{"dropped":{"source":1,"name":"uma_gpu_process_memory_bytes","series":3}}
{"sample":{"source":0,"at_ns":9,"gone":[0]}}
{"end":true}
`

func compressed(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

func TestAFileIsReadAsWritten(t *testing.T) {
	log, err := decode(bytes.NewReader(compressed(wholeFile)))
	if err != nil {
		t.Fatal(err)
	}
	a, b := log.Source("a"), log.Source("b")
	if got := points(a.Series[0]); !slices.Equal(got, []Point{{5, 100}, {7, 100}}) {
		t.Errorf("points %v", got)
	}
	if log.Torn || len(b.Gaps) != 1 || b.Dropped["uma_gpu_process_memory_bytes"] != 3 || log.Source("c") != nil {
		t.Errorf("torn %v, gaps %v, dropped %v", log.Torn, b.Gaps, b.Dropped)
	}
	if got := log.Windows(a, "measure"); !slices.Equal(got, []Window{{7, 9}}) {
		t.Errorf("windows %v", got)
	}
	if !log.Bounded(a, "measure") || log.Bounded(b, "measure") || log.Bounded(a, "never") {
		t.Error("a phase is bounded where all its borders have a sample of the source, and nowhere else")
	}
}

func TestWhatNoSamplerWritesIsRefusedByLine(t *testing.T) {
	head := strings.SplitAfter(wholeFile, "\n")[0]
	for name, text := range map[string]string{
		"another schema":          `{"schema":"other/1"}` + "\n",
		"a source twice":          `{"schema":"umascope.telemetry/1","sources":[{"name":"a"},{"name":"a"}]}` + "\n",
		"no JSON":                 head + "hello\n",
		"an unknown line":         head + `{"what":1}` + "\n",
		"an unknown source":       head + `{"series":{"source":7,"name":"x"}}` + "\n",
		"an unknown series":       head + `{"sample":{"source":0,"at_ns":1,"index":[3],"values":[1]}}` + "\n",
		"the next series":         head + `{"series":{"source":0,"name":"x"}}` + "\n" + `{"sample":{"source":0,"at_ns":1,"index":[1],"values":[1]}}` + "\n",
		"an unknown series, gone": head + `{"sample":{"source":0,"at_ns":1,"gone":[-1]}}` + "\n",
		"a value too few":         head + `{"sample":{"source":0,"at_ns":1,"index":[0],"values":[]}}` + "\n",
		"time runs back":          head + `{"sample":{"source":0,"at_ns":2}}` + "\n" + `{"sample":{"source":0,"at_ns":1}}` + "\n",
		"a border without phase":  head + `{"sample":{"source":0,"at_ns":2,"border":0}}` + "\n",
		"an empty gap":            head + `{"gap":{"source":0,"at_ns":1,"samples":0}}` + "\n",
		"phases run back":         head + `{"phase":{"at_ns":2,"name":"a"}}` + "\n" + `{"phase":{"at_ns":1,"name":"b"}}` + "\n",
		"negative drops":          head + `{"dropped":{"source":0,"name":"a","series":-1}}` + "\n",
		"text after the end":      head + `{"end":true}` + "\n" + `{"end":true}` + "\n",
		"too many series":         head + strings.Repeat(`{"series":{"source":0,"name":"x"}}`+"\n", SeriesLimit+1),
		"no header":               "",
		"a line without end":      head + strings.Repeat("x", maxLineBytes+1),
	} {
		if _, err := decode(bytes.NewReader(compressed(text))); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := decode(strings.NewReader("plain text")); err == nil {
		t.Error("a file that is not compressed was accepted")
	}
}

func TestModeIsTheExportersWord(t *testing.T) {
	for want, page := range map[string]string{
		"live":        "uma_exporter_mode{mode=\"live\"} 1\numa_exporter_mode{mode=\"replay\"} 0\n",
		"constructed": "uma_exporter_mode{mode=\"live\"} 0\numa_exporter_mode{mode=\"constructed\"} 1\n",
		"mixed":       "uma_exporter_mode{mode=\"live\"} 1\numa_exporter_mode{mode=\"replay\"} 1\n",
		"unknown":     "uma_memory_pool_bytes 1\n",
	} {
		observations, err := parse([]byte(page), kept())
		if err != nil {
			t.Fatal(err)
		}
		source := &SourceLog{}
		for _, o := range observations {
			source.add(&Series{Name: o.name, Labels: o.labels, changes: []change{{value: o.value}}})
		}
		if got := source.Mode(); got != want {
			t.Errorf("mode %q, want %q", got, want)
		}
	}
}

// FuzzDecode feeds files: an accepted file has ascending samples and finite points at samples, and cutting it never
// turns it into an error of another kind than its own.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(wholeFile))
	f.Add([]byte(wholeFile[:len(wholeFile)/2]))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, text []byte) {
		log, err := decodeLines(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, source := range log.Sources {
			if !slices.IsSorted(source.Samples) {
				t.Errorf("samples %v", source.Samples)
			}
			for _, series := range source.Series {
				checkPoints(t, source, series)
			}
		}
		if cut := bytes.LastIndexByte(text, '\n'); cut > 0 {
			if half, err := decodeLines(bytes.NewReader(text[:cut])); err == nil && !half.Torn && log.Torn {
				t.Error("a shorter file is more complete than a longer one")
			}
		}
	})
}

func checkPoints(t *testing.T, source *SourceLog, series *Series) {
	for p := range series.Points() {
		if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) || !slices.Contains(source.Samples, p.AtNS) {
			t.Errorf("point %v is not one of a sample", p)
		}
	}
}

// FuzzParse parses pages: an accepted page has finite values of vocabulary families, each once, in an order that does
// not depend on the order of the page.
func FuzzParse(f *testing.F) {
	f.Add([]byte("# TYPE uma_memory_pool_bytes gauge\numa_memory_pool_bytes 1\n"))
	f.Add([]byte("uma_memory_ledger_bytes{line=\"anon\"} NaN\numa_memory_ledger_bytes{line=\"free\"} 3e9\n"))
	f.Add([]byte("uma_gpu_power_watts{uuid=\"a\\\"b\\n\"} 1\numa_gpu_power_watts{uuid=\"a\\\"b\\n\"} 2\n"))
	f.Add([]byte("# TYPE uma_memory_pool_bytes histogram\numa_memory_pool_bytes_bucket{le=\"+Inf\"} 1\n"))
	f.Fuzz(func(t *testing.T, page []byte) {
		families := kept()
		observations, err := parse(page, families)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, o := range observations {
			if seen[o.key] || math.IsNaN(o.value) || math.IsInf(o.value, 0) {
				t.Errorf("%s = %v (seen: %v)", o.key, o.value, seen[o.key])
			}
			seen[o.key] = true
			if !slices.ContainsFunc(families, func(d metric.Def) bool { return d.Name == o.name }) {
				t.Errorf("%s is not in the vocabulary", o.name)
			}
		}
	})
}
