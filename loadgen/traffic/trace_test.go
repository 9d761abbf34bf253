package traffic

import (
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

func TestAMooncakeTraceIsReadInTheOrderOfItsTimes(t *testing.T) {
	trace, err := ReadTrace(strings.NewReader(mooncake))
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
		trace, err := ReadTrace(strings.NewReader(text))
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
		{`{"timestamp": 1, "input_length": 512, "output_length": 5, "hash_ids": [1, 2]}`, "2 hash_ids"},
		{`{"timestamp": 1, "input_length": -9000, "output_length": 5, "hash_ids": []}`, "input_length -9000"},
		{azureHeader + "\n2023-11-16 18:17:03,1", "line 2: 2 fields"},
		{azureHeader + "\nyesterday,1,1", "line 2: TIMESTAMP"},
		{azureHeader + "\n2023-11-16 18:17:03,x,1", "ContextTokens"},
		{azureHeader + "\n2023-11-16 18:17:03,1,x", "GeneratedTokens"},
		{azureHeader + "\n2023-11-16 18:17:03,1,1\n2099-11-16 18:17:03,1,1", "longer than a year"},
		{`{"x": "` + strings.Repeat("x", maxTraceLine) + `"}`, "line 1: longer than"},
	} {
		if _, err := ReadTrace(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
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
		trace, err := ReadTrace(strings.NewReader(text))
		if err != nil {
			return
		}
		if len(trace.Rows) == 0 || len(trace.Rows) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d rows", len(trace.Rows))
		}
		previous := time.Duration(0)
		for _, r := range trace.Rows {
			if r.Offset < previous || r.Offset > maxTraceTime || r.InputTokens < 1 || r.OutputTokens < 1 ||
				r.InputTokens > maxTraceTokens || r.OutputTokens > maxTraceTokens || len(r.Blocks) > (r.InputTokens+BlockTokens-1)/BlockTokens {
				t.Fatalf("row %+v after %s", r, previous)
			}
			previous = r.Offset
		}
		// What is cut off a file takes rows away, or makes it unreadable; it never adds any.
		if cut, err := ReadTrace(strings.NewReader(text[:len(text)/2])); err == nil && len(cut.Rows) > len(trace.Rows) {
			t.Fatalf("half of the file has %d rows, all of it %d", len(cut.Rows), len(trace.Rows))
		}
	})
}
