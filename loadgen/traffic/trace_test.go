package traffic

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const mooncake = `{"timestamp": 1000, "input_length": 1025, "output_length": 500, "hash_ids": [0, 1, 2]}
{"timestamp": 4500.5, "input_length": 600, "output_length": 0, "hash_ids": [0, 9], "tenant": "a"}

{"timestamp": 1000, "input_length": 7, "output_length": 3}
`

const azure = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04.0799600,110,27"

// ofMooncake are the units of mooncake's own traces.
var ofMooncake = TraceUnits{Time: "ms", BlockTokens: 512}

func TestAMooncakeTraceIsReadInTheOrderOfItsTimes(t *testing.T) {
	trace, err := ReadTrace(strings.NewReader(mooncake), ofMooncake)
	if err != nil {
		t.Fatal(err)
	}
	want := []TraceRow{
		{0, 1025, 500, []int64{0, 1, 2}},
		{0, 7, 3, nil},
		{3500*time.Millisecond + 500*time.Microsecond, 600, 1, []int64{0, 9}},
	}
	if fmt.Sprint(trace.Rows) != fmt.Sprint(want) || trace.Format != formatMooncake || len(trace.SHA256) != 64 {
		t.Errorf("rows %v of %s, want %v", trace.Rows, trace.Format, want)
	}
	p := ArrivalProcess{Arrival: Recorded, Trace: trace}
	if got := offsets(p, Limit{}, 1); !slices.Equal(got, []time.Duration{0, 0, want[2].Offset}) {
		t.Errorf("offsets %v", got)
	}
	if got := offsets(p, Limit{Duration: time.Second}, 1); len(got) != 2 {
		t.Errorf("%d arrivals within a second", len(got))
	}
}

func TestAnAzureTraceIsReadWithAndWithoutZone(t *testing.T) {
	zoned := strings.ReplaceAll(strings.ReplaceAll(azure, "9600,", "9600+00:00,"), "\r", "")
	for _, text := range []string{azure, zoned, "\xef\xbb\xbf" + azure} {
		trace, err := ReadTrace(strings.NewReader(text), TraceUnits{})
		if err != nil {
			t.Fatal(err)
		}
		want := []TraceRow{{0, 4808, 10, nil}, {100 * time.Millisecond, 110, 27, nil}}
		if fmt.Sprint(trace.Rows) != fmt.Sprint(want) || trace.Format != formatAzure {
			t.Errorf("rows %v of %s, want %v", trace.Rows, trace.Format, want)
		}
	}
}

func TestATraceThatCannotBeReadIsRefusedByLine(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "no request"},
		{azureHeader, "no request"},
		{"a,b,c", "line 1"},
		{mooncake + "{", "line 5"},
		{mooncake + `{"timestamp": 1, "input_length": 5}`, "line 5: timestamp, input_length or output_length is missing"},
		{`{"timestamp": -1, "input_length": 5, "output_length": 5}`, "timestamp -1"},
		{`{"timestamp": 1, "input_length": 0, "output_length": 5}`, "input_length 0"},
		{`{"timestamp": 1, "input_length": 5, "output_length": -5}`, "output_length -5"},
		{`{"timestamp": 1, "input_length": 512, "output_length": 5, "hash_ids": [1, 2]}`, "2 hash_ids of 512 tokens each are more than input_length 512: blocks of 256 fit"},
		{`{"timestamp": 1, "input_length": 1, "output_length": 5, "hash_ids": [1, 2]}`, "line 1: 2 hash_ids are more than input_length 1"},
		{`{"timestamp": 1e19, "input_length": 1, "output_length": 5}`, "line 1: timestamp 1e+19 is not from 0 to 4.612e+12 ms"},
		{`{"timestamp": 1, "input_length": -9000, "output_length": 5, "hash_ids": []}`, "input_length -9000"},
		{azureHeader + "\n2023-11-16 18:17:03,1", "line 2: 2 fields"},
		{azureHeader + "\nyesterday,1,1", "line 2: TIMESTAMP"},
		{azureHeader + "\n2023-11-16 18:17:03,x,1", "ContextTokens"},
		{azureHeader + "\n2023-11-16 18:17:03,1,x", "GeneratedTokens"},
		{azureHeader + "\n2023-11-16 18:17:03,1,1\n2099-11-16 18:17:03,1,1", "longer than a year"},
		{`{"x": "` + strings.Repeat("x", maxTraceLine) + `"}`, "line 1: longer than"},
	} {
		units := ofMooncake
		if strings.HasPrefix(c.text, azureHeader) {
			units = TraceUnits{}
		}
		if _, err := ReadTrace(strings.NewReader(c.text), units); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: %v, want %q", c.text, err, c.says)
		}
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add(mooncake)
	f.Add(azure)
	f.Add(strings.ReplaceAll(azure, "9600,", "9600+02:00,"))
	f.Add(`{"timestamp": 1e300, "input_length": 1, "output_length": 1}`)
	f.Fuzz(func(t *testing.T, text string) {
		units := ofMooncake
		if strings.Contains(text, azureHeader) {
			units = TraceUnits{}
		}
		trace, err := ReadTrace(strings.NewReader(text), units)
		if err != nil {
			return
		}
		if described := trace.String(); strings.ContainsAny(described, "\n%!") && !strings.Contains(described, " % of") || strings.Contains(described, "NaN") {
			t.Fatalf("%q", described)
		}
		if len(trace.Rows) == 0 || len(trace.Rows) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d rows", len(trace.Rows))
		}
		previous := time.Duration(0)
		for _, r := range trace.Rows {
			if r.Offset < previous || r.Offset > maxTraceTime || r.InputTokens < 1 || r.OutputTokens < 1 ||
				r.InputTokens > maxTraceTokens || r.OutputTokens > maxTraceTokens || len(r.Blocks) > (r.InputTokens+511)/512 {
				t.Fatalf("row %+v after %s", r, previous)
			}
			previous = r.Offset
		}
		// What is cut off a file takes rows away, or makes it unreadable; it never adds any.
		if cut, err := ReadTrace(strings.NewReader(text[:len(text)/2]), units); err == nil && len(cut.Rows) > len(trace.Rows) {
			t.Fatalf("half of the file has %d rows, all of it %d", len(cut.Rows), len(trace.Rows))
		}
	})
}

// The inputs of public reports: a trace in seconds, read as milliseconds, put 2.5 s of requests into 2.5 ms.
const inSeconds = `{"timestamp": 0.0, "input_length": 64, "output_length": 8}
{"timestamp": 2.5, "input_length": 521, "output_length": 8}
`

func TestUnitsOfATraceAreAskedForAndNeverGuessed(t *testing.T) {
	named := strings.Replace(inSeconds, `8}`, `8, "hash_ids": [`+strings.TrimSuffix(strings.Repeat("1,", 4), ",")+`]}`, 1)
	for _, c := range []struct {
		text  string
		units TraceUnits
		kind  error
		says  string
	}{
		{inSeconds, TraceUnits{}, ErrTimeUnit, "2 requests span 2.5 s if that is s, 0.0025 s if it is ms; give one of ns, us, ms, s"},
		{inSeconds, TraceUnits{Time: "s"}, nil, "2 requests in 2.5s, 0.8 a second (timestamps in s), the longest prompt has 521 tokens"},
		{inSeconds, TraceUnits{Time: "ms"}, nil, "2 requests in 2.5ms, 800 a second (timestamps in ms)"},
		{inSeconds, TraceUnits{Time: "us"}, nil, "2 requests in 2.5µs"},
		{inSeconds, TraceUnits{Time: "s", BlockTokens: 16}, ErrBlockTokens, "the trace names no blocks"},
		{strings.ReplaceAll(inSeconds, `": 0.0`, `": 1.7e9`), TraceUnits{}, ErrTimeUnit, "span 1.7e+09 s if that is s"},
		{strings.NewReplacer(`": 0.0`, `": 1700000000`, `": 2.5`, `": 1700000002.5`).Replace(inSeconds), TraceUnits{Time: "s"}, nil, "in 2.5s"},
		{named, TraceUnits{Time: "s"}, ErrBlockTokens, "4 hash_ids name 64 tokens, so blocks of 16 fit"},
		{named, TraceUnits{Time: "s", BlockTokens: 512}, ErrBlockTokens, "4 hash_ids of 512 tokens each are more than input_length 64: blocks of 16 fit"},
		{named, TraceUnits{Time: "s", BlockTokens: 16}, nil, "blocks of 16 tokens name 10.9 % of the prompts"},
		{named, TraceUnits{Time: "s", BlockTokens: 1}, nil, "blocks of 1 tokens name 0.684 % of the prompts"},
		{azure, TraceUnits{Time: "s"}, ErrTimeUnit, "dates, which need no unit"},
		{azure, TraceUnits{BlockTokens: 16}, ErrBlockTokens, "names no blocks"},
		{azure, TraceUnits{}, nil, "2 requests in 100ms, 20 a second, the longest prompt has 4808 tokens"},
		{azureHeader + "\n2023-11-16 18:17:03,1,1", TraceUnits{}, nil, "1 requests at one moment"},
	} {
		trace, err := ReadTrace(strings.NewReader(c.text), c.units)
		if c.kind != nil {
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v: %v, want %q", c.units, err, c.says)
			}
			continue
		}
		if err != nil || !strings.Contains(trace.String(), c.says) {
			t.Errorf("%+v: %v, %v, want %q", c.units, trace, err, c.says)
		}
	}
}
