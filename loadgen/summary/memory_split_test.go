package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// addUp holds that lines add up to the pool to the byte.
func addUp(t *testing.T, moment string, lines []ledger.Line, pool float64) {
	t.Helper()
	sum := 0.0
	for _, line := range lines {
		sum += line.Bytes
	}
	if sum != pool {
		t.Errorf("%s: the lines are %.0f of a pool of %.0f: %v", moment, sum, pool, lines)
	}
}

func TestTheLinesOfEveryMomentAddUpToThePool(t *testing.T) {
	s := summarize(t, machine(t, testrun.Page{Extra: kvPages}), testrun.Steady(40)...)
	splits := s.Memory.Splits(s.KV)
	var moments []string
	for _, split := range splits {
		moments = append(moments, split.Moment)
		sum := 0.0
		for _, line := range split.Lines {
			sum += line.Bytes
		}
		if d := sum - *s.Memory.Pool; d < -1 || d > 1 { // what the page has is no whole number of bytes
			t.Errorf("%s: the lines are %v of a pool of %v", split.Moment, sum, *s.Memory.Pool)
		}
		if !slices.IsSortedFunc(split.Lines, func(a, b ledger.Line) int { return int(b.Bytes - a.Bytes) }) {
			t.Errorf("%s: not by size: %v", split.Moment, split.Lines)
		}
	}
	if want := []string{"engine ready", "least available", "least free", "most GPU-held"}; !slices.Equal(moments, want) {
		t.Errorf("moments %q, want %q", moments, want)
	}
}

// The figures of all moments that a summary has, of a pool of 100 bytes.
func TestLinesAreByWordsAndBySize(t *testing.T) {
	m := &Memory{
		Pool: new(100.), OccupiedWithoutKV: new(30.), FreeAtKVSizing: new(70.), UnavailablePeak: new(80.), OccupiedPeak: new(95.), GPUHeldPeak: new(60.),
		LedgerAt: &Ledgers{Ready: map[string]float64{ledger.GPUProcess: 50, ledger.Free: 20}},
	}
	text := func(splits []MemorySplit) string {
		var b strings.Builder
		for _, s := range splits {
			fmt.Fprintf(&b, "%s:", s.Moment)
			for _, line := range s.Lines {
				fmt.Fprintf(&b, " %s %v", line.Name, line.Bytes)
			}
			if s.Partial {
				b.WriteString(" and the rest")
			}
			b.WriteString("\n")
		}
		return b.String()
	}
	for name, test := range map[string]struct {
		memory *Memory
		kv     *KV
		want   string
	}{
		"all is known": {m, &KV{CapacityBytes: new(50.)}, `KV cache sized: free 70 occupied 30
engine ready: KV cache 50 occupied without KV cache 30 free 20
least available: unavailable 80 available 20
least free: occupied 95 free 5
most GPU-held: GPU-held 60 not GPU-held 40
`},
		"no size of the KV cache": {m, nil, `KV cache sized: free 70 occupied 30
engine ready: occupied 80 free 20
least available: unavailable 80 available 20
least free: occupied 95 free 5
most GPU-held: GPU-held 60 not GPU-held 40
`},
		"GPU memory is not in the pool": {&Memory{Pool: new(100.), UnavailablePeak: new(10.), GPUHeldPeak: new(600.)}, &KV{CapacityBytes: new(500.)}, "least available: available 90 unavailable 10\n"},
		"the pool is not known": {&Memory{
			OccupiedWithoutKV: new(30.), FreeAtKVSizing: new(70.), UnavailablePeak: new(80.), CUDAFreeMin: new(5.), GPUHeldPeak: new(60.),
			LedgerAt: &Ledgers{Ready: map[string]float64{ledger.GPUProcess: 50}},
		}, &KV{CapacityBytes: new(50.)}, `KV cache sized: free 70 and the rest
engine ready: KV cache 50 occupied without KV cache 30 and the rest
least available: unavailable 80 and the rest
least free: free 5 and the rest
most GPU-held: GPU-held 60 and the rest
`},
		"a cache alone": {&Memory{}, &KV{CapacityBytes: new(50.)}, ""},
		"no memory":     {nil, nil, ""},
	} {
		if got := text(test.memory.Splits(test.kv)); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.want)
		}
	}
}

func TestTheLedgerAddsUpWithoutLinesThatWereNotRecorded(t *testing.T) {
	m := &Memory{Pool: new(100.)}
	for name, test := range map[string]struct {
		at   map[string]float64
		want []ledger.Line
	}{
		"all lines": {map[string]float64{ledger.Free: 60, ledger.GPUProcess: 45, ledger.Unattributed: -5},
			[]ledger.Line{{Name: ledger.GPUProcess, Bytes: 45}, {Name: ledger.Unattributed, Bytes: -5}, {Name: ledger.Free, Bytes: 60}}},
		"lost lines": {map[string]float64{ledger.Free: 60, ledger.Anon: 15},
			[]ledger.Line{{Name: ledger.Anon, Bytes: 15}, {Name: ledger.Free, Bytes: 60}, {Name: LineNotRecorded, Bytes: 25}}},
		"a line of another version": {map[string]float64{"tpu": 40, ledger.Free: 60},
			[]ledger.Line{{Name: ledger.Free, Bytes: 60}, {Name: "tpu", Bytes: 40}}},
	} {
		got := m.LedgerLines(test.at)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
		addUp(t, name, got, 100)
	}
	if got := m.LedgerLines(nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

// FuzzLinesOfSplitsAddUpToThePool holds, for any figures, that the lines of every moment are the pool to the byte and stand
// by size; a figure beyond the pool makes the rest negative.
func FuzzLinesOfSplitsAddUpToThePool(f *testing.F) {
	f.Add(int64(128<<30), int64(70<<30), int64(44<<30), int64(115<<30), int64(-1))
	f.Add(int64(1), int64(1<<40), int64(0), int64(7), int64(3))
	f.Fuzz(func(t *testing.T, pool, without, kv, unavailable, held int64) {
		bytes := func(n int64) *float64 { return new(float64(n % (1 << 48))) } // sums of these are exact
		m := &Memory{
			Pool: bytes(pool), OccupiedWithoutKV: bytes(without), UnavailablePeak: bytes(unavailable), OccupiedPeak: bytes(unavailable), FreeAtKVSizing: bytes(kv),
			GPUHeldPeak: bytes(held), LedgerAt: &Ledgers{Ready: map[string]float64{ledger.GPUProcess: 0}},
		}
		splits := m.Splits(&KV{CapacityBytes: bytes(kv)})
		if len(splits) != 5 {
			t.Errorf("%d moments", len(splits))
		}
		for _, split := range splits {
			addUp(t, split.Moment, split.Lines, *m.Pool)
			if !slices.IsSortedFunc(split.Lines, func(a, b ledger.Line) int { return cmp.Compare(b.Bytes, a.Bytes) }) {
				t.Errorf("%s: not by size: %v", split.Moment, split.Lines)
			}
		}
	})
}
