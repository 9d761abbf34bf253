package ledger

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
)

const gib = 1 << 30

// everyKind is a machine that has every line. The figures are distinct powers of two, so that any
// wrong sum shows.
func everyKind() Input {
	return Input{
		MemTotal: 1 << 40,
		MemFree:  Known(1 << 0), AnonPages: Known(1 << 1), Buffers: Known(1 << 2), Cached: Known(1 << 3),
		Shmem: Known(1 << 4), SwapCached: Known(1 << 5), SReclaimable: Known(1 << 6), SUnreclaim: Known(1 << 7),
		KernelStack: Known(1 << 8), PageTables: Known(1 << 9), SecPageTables: Known(1 << 10),
		Percpu: Known(1 << 11), Hugetlb: Known(1 << 12), GPUProcess: Known(1 << 13),
		Managed: Known(1 << 14), ZFSArc: Known(1 << 15),
	}
}

// field is one input with the lines that 1 GiB more of it moves, besides unattributed.
type field struct {
	name  string
	of    func(*Input) *Amount
	moves map[string]int64
}

func fields() []field {
	up := func(line string) map[string]int64 { return map[string]int64{line: +gib, metric.LineUnattributed: -gib} }
	return []field{
		{"MemFree", func(in *Input) *Amount { return &in.MemFree }, up(metric.LineFree)},
		{"AnonPages", func(in *Input) *Amount { return &in.AnonPages }, up(metric.LineAnon)},
		{"Buffers", func(in *Input) *Amount { return &in.Buffers }, up(metric.LinePageCache)},
		{"Cached", func(in *Input) *Amount { return &in.Cached }, up(metric.LinePageCache)},
		// Shared memory is part of Cached, so that more of it alone only changes sides.
		{"Shmem", func(in *Input) *Amount { return &in.Shmem }, map[string]int64{metric.LineShmem: +gib, metric.LinePageCache: -gib}},
		{"SwapCached", func(in *Input) *Amount { return &in.SwapCached }, up(metric.LineSwapCache)},
		{"SReclaimable", func(in *Input) *Amount { return &in.SReclaimable }, up(metric.LineSlabReclaimable)},
		{"SUnreclaim", func(in *Input) *Amount { return &in.SUnreclaim }, up(metric.LineSlabUnreclaimable)},
		{"KernelStack", func(in *Input) *Amount { return &in.KernelStack }, up(metric.LineKernelStack)},
		{"PageTables", func(in *Input) *Amount { return &in.PageTables }, up(metric.LinePageTables)},
		{"SecPageTables", func(in *Input) *Amount { return &in.SecPageTables }, up(metric.LinePageTables)},
		{"Percpu", func(in *Input) *Amount { return &in.Percpu }, up(metric.LinePercpu)},
		{"Hugetlb", func(in *Input) *Amount { return &in.Hugetlb }, up(metric.LineHugetlb)},
		{"GPU processes", func(in *Input) *Amount { return &in.GPUProcess }, up(metric.LineGPUProcess)},
		{"kernel_other", func(in *Input) *Amount { return &in.Managed }, up(metric.LineManaged)},
		{"ARC", func(in *Input) *Amount { return &in.ZFSArc }, up(metric.LineZFSArc)},
	}
}

func TestOneGiBMoreOfAFieldMovesItsLineAndUnattributedOnly(t *testing.T) {
	before := everyKind().Lines()
	for _, f := range fields() {
		t.Run(f.name, func(t *testing.T) {
			in := everyKind()
			f.of(&in).bytes += gib
			for i, line := range in.Lines() {
				if got := line.Bytes - before[i].Bytes; got != f.moves[line.Name] {
					t.Errorf("%s moved by %d, want %d", line.Name, got, f.moves[line.Name])
				}
			}
		})
	}
}

func TestMoreMemoryThatNobodyNamesIsUnattributed(t *testing.T) {
	in := everyKind()
	before := in.Lines()
	in.MemTotal += gib
	for i, line := range in.Lines() {
		want := before[i].Bytes
		if line.Name == metric.LineUnattributed {
			want += gib
		}
		if line.Bytes != want {
			t.Errorf("%s is %d, want %d", line.Name, line.Bytes, want)
		}
	}
}

func TestLinesHaveTheValuesWorkedOutByHand(t *testing.T) {
	tests := []struct {
		name string
		in   Input
		want []Line
	}{
		{"every kind of memory", everyKind(), []Line{
			{metric.LineGPUProcess, 8192, true}, {metric.LineManaged, 16384, true}, {metric.LineAnon, 2, true}, {metric.LineShmem, 16, true}, {metric.LineHugetlb, 4096, true},
			{metric.LineKernelStack, 256, true}, {metric.LinePageTables, 512 + 1024, true}, {metric.LinePercpu, 2048, true}, {metric.LineSlabUnreclaimable, 128, true},
			// 2^40 - (2^16 - 1), with Shmem's 16 in page_cache and taken out of it again.
			{metric.LineUnattributed, 1<<40 - 65535 + 16, true},
			{metric.LineZFSArc, 32768, true}, {metric.LineSlabReclaimable, 64, true}, {metric.LineSwapCache, 32, true},
			{metric.LinePageCache, 4 + 8 - 16, true}, // Buffers + Cached - Shmem: signed, like every difference
			{metric.LineFree, 1, true},
		}},
		{"lines that cannot exist are left out", Input{MemTotal: 100, MemFree: Known(60), AnonPages: Known(50)}, []Line{
			{metric.LineAnon, 50, true}, {metric.LineUnattributed, -10, true}, {metric.LineFree, 60, true},
		}},
		{"bytes of an unknown line stay in unattributed", Input{MemTotal: 100, MemFree: Known(60), GPUProcess: Unknown()}, []Line{
			{metric.LineGPUProcess, 0, false}, {metric.LineUnattributed, 40, true}, {metric.LineFree, 60, true},
		}},
		{"a line is unknown when one part of it is", Input{MemTotal: 100, Buffers: Known(5), Cached: Known(20), Shmem: Unknown()}, []Line{
			{metric.LineShmem, 0, false}, {metric.LineUnattributed, 100, true}, {metric.LinePageCache, 0, false},
		}},
		{"a part that cannot exist leaves the line known", Input{MemTotal: 100, PageTables: Known(7), SecPageTables: Impossible()}, []Line{
			{metric.LinePageTables, 7, true}, {metric.LineUnattributed, 93, true},
		}},
		{"a negative managed line is kept", Input{MemTotal: 100, Managed: Known(-3)}, []Line{
			{metric.LineManaged, -3, true}, {metric.LineUnattributed, 103, true},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.in.Lines(); !slices.Equal(got, test.want) {
				t.Errorf("got  %v\nwant %v", got, test.want)
			}
		})
	}
}

// FuzzLinesAddUpToThePool asserts what holds for any figures at all, also such as wrap: the known
// lines add up to the pool, and an unknown line has no bytes.
func FuzzLinesAddUpToThePool(f *testing.F) {
	f.Add(int64(128*gib), int64(gib), int64(-5), uint64(0))
	f.Add(int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt64), uint64(0x1234567))
	f.Fuzz(func(t *testing.T, total, a, b int64, states uint64) {
		in := Input{MemTotal: total}
		for i, field := range fields() {
			*field.of(&in) = []Amount{Impossible(), Unknown(), Known(a), Known(b)}[states>>(2*i)&3]
		}
		var sum int64
		lines := in.Lines()
		for _, line := range lines {
			if !line.Known && line.Bytes != 0 {
				t.Errorf("%s is unknown and has %d bytes", line.Name, line.Bytes)
			}
			sum += line.Bytes
		}
		if sum != total {
			t.Errorf("lines add up to %d, the pool is %d", sum, total)
		}
		sorted := BySize(lines)
		if !slices.IsSortedFunc(sorted, func(a, b Line) int {
			if a.Known == b.Known {
				return cmp.Compare(b.Bytes, a.Bytes)
			}
			return map[bool]int{true: -1, false: 1}[a.Known]
		}) || len(sorted) != len(lines) {
			t.Errorf("by size: %v", sorted)
		}
	})
}
