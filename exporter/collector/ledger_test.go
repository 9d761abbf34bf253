package collector

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
)

// everyKind is a machine that has every line. The figures are distinct powers of two, so that any
// wrong sum shows.
func everyKind() LedgerInput {
	return LedgerInput{
		MemTotal: 1 << 40,
		MemFree:  KnownAmount(1 << 0), AnonPages: KnownAmount(1 << 1), Buffers: KnownAmount(1 << 2), Cached: KnownAmount(1 << 3),
		Shmem: KnownAmount(1 << 4), SwapCached: KnownAmount(1 << 5), SReclaimable: KnownAmount(1 << 6), SUnreclaim: KnownAmount(1 << 7),
		KernelStack: KnownAmount(1 << 8), PageTables: KnownAmount(1 << 9), SecPageTables: KnownAmount(1 << 10),
		Percpu: KnownAmount(1 << 11), Hugetlb: KnownAmount(1 << 12), GPUProcess: KnownAmount(1 << 13),
		Managed: KnownAmount(1 << 14), ZFSArc: KnownAmount(1 << 15), CmaFree: KnownAmount(1 << 16),
	}
}

// ledgerField is one input with the lines that 1 GiB more of it moves, besides unattributed.
type ledgerField struct {
	name  string
	of    func(*LedgerInput) *LedgerAmount
	moves map[string]int64
}

func ledgerFields() []ledgerField {
	up := func(line string) map[string]int64 { return map[string]int64{line: +gib, metric.LineUnattributed: -gib} }
	return []ledgerField{
		{"MemFree", func(in *LedgerInput) *LedgerAmount { return &in.MemFree }, up(metric.LineFree)},
		{"AnonPages", func(in *LedgerInput) *LedgerAmount { return &in.AnonPages }, up(metric.LineAnon)},
		{"Buffers", func(in *LedgerInput) *LedgerAmount { return &in.Buffers }, up(metric.LinePageCache)},
		{"Cached", func(in *LedgerInput) *LedgerAmount { return &in.Cached }, up(metric.LinePageCache)},
		// Shared memory is part of Cached, so that more of it alone only changes sides.
		{"Shmem", func(in *LedgerInput) *LedgerAmount { return &in.Shmem }, map[string]int64{metric.LineShmem: +gib, metric.LinePageCache: -gib}},
		{"SwapCached", func(in *LedgerInput) *LedgerAmount { return &in.SwapCached }, up(metric.LineSwapCache)},
		{"SReclaimable", func(in *LedgerInput) *LedgerAmount { return &in.SReclaimable }, up(metric.LineSlabReclaimable)},
		{"SUnreclaim", func(in *LedgerInput) *LedgerAmount { return &in.SUnreclaim }, up(metric.LineSlabUnreclaimable)},
		{"KernelStack", func(in *LedgerInput) *LedgerAmount { return &in.KernelStack }, up(metric.LineKernelStack)},
		{"PageTables", func(in *LedgerInput) *LedgerAmount { return &in.PageTables }, up(metric.LinePageTables)},
		{"SecPageTables", func(in *LedgerInput) *LedgerAmount { return &in.SecPageTables }, up(metric.LinePageTables)},
		{"Percpu", func(in *LedgerInput) *LedgerAmount { return &in.Percpu }, up(metric.LinePercpu)},
		{"Hugetlb", func(in *LedgerInput) *LedgerAmount { return &in.Hugetlb }, up(metric.LineHugetlb)},
		{"GPU processes", func(in *LedgerInput) *LedgerAmount { return &in.GPUProcess }, up(metric.LineGPUProcess)},
		{"kernel_other", func(in *LedgerInput) *LedgerAmount { return &in.Managed }, up(metric.LineManaged)},
		// Free memory in CMA is part of MemFree, so that more of it alone only changes sides.
		{"CmaFree", func(in *LedgerInput) *LedgerAmount { return &in.CmaFree }, map[string]int64{metric.LineFreeCMA: +gib, metric.LineFree: -gib}},
		{"ARC", func(in *LedgerInput) *LedgerAmount { return &in.ZFSArc }, up(metric.LineZFSArc)},
	}
}

func TestOneGiBMoreOfAFieldMovesItsLineAndUnattributedOnly(t *testing.T) {
	before := everyKind().Lines()
	for _, f := range ledgerFields() {
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
		in   LedgerInput
		want []LedgerLine
	}{
		{"every kind of memory", everyKind(), []LedgerLine{
			{metric.LineGPUProcess, 8192, true}, {metric.LineManaged, 16384, true}, {metric.LineAnon, 2, true}, {metric.LineShmem, 16, true}, {metric.LineHugetlb, 4096, true},
			{metric.LineKernelStack, 256, true}, {metric.LinePageTables, 512 + 1024, true}, {metric.LinePercpu, 2048, true}, {metric.LineSlabUnreclaimable, 128, true},
			// 2^40 - (2^16 - 1), with Shmem's 16 in page_cache and taken out of it again.
			{metric.LineUnattributed, 1<<40 - 65535 + 16, true},
			{metric.LineZFSArc, 32768, true}, {metric.LineSlabReclaimable, 64, true}, {metric.LineSwapCache, 32, true},
			{metric.LinePageCache, 4 + 8 - 16, true}, // Buffers + Cached - Shmem: signed, like every difference
			{metric.LineFreeCMA, 65536, true},
			{metric.LineFree, 1 - 65536, true}, // MemFree - CmaFree: what is read is never negative, see freeCMA
		}},
		{"free memory in CMA is part of MemFree", LedgerInput{MemTotal: 100, MemFree: KnownAmount(60), CmaFree: KnownAmount(20)}, []LedgerLine{
			{metric.LineUnattributed, 40, true}, {metric.LineFreeCMA, 20, true}, {metric.LineFree, 40, true},
		}},
		{"lines that cannot exist are left out", LedgerInput{MemTotal: 100, MemFree: KnownAmount(60), AnonPages: KnownAmount(50)}, []LedgerLine{
			{metric.LineAnon, 50, true}, {metric.LineUnattributed, -10, true}, {metric.LineFree, 60, true},
		}},
		{"bytes of an unknown line stay in unattributed", LedgerInput{MemTotal: 100, MemFree: KnownAmount(60), GPUProcess: UnknownAmount()}, []LedgerLine{
			{metric.LineGPUProcess, 0, false}, {metric.LineUnattributed, 40, true}, {metric.LineFree, 60, true},
		}},
		{"a line is unknown when one part of it is", LedgerInput{MemTotal: 100, Buffers: KnownAmount(5), Cached: KnownAmount(20), Shmem: UnknownAmount()}, []LedgerLine{
			{metric.LineShmem, 0, false}, {metric.LineUnattributed, 100, true}, {metric.LinePageCache, 0, false},
		}},
		{"a part that cannot exist leaves the line known", LedgerInput{MemTotal: 100, PageTables: KnownAmount(7), SecPageTables: ImpossibleAmount()}, []LedgerLine{
			{metric.LinePageTables, 7, true}, {metric.LineUnattributed, 93, true},
		}},
		{"a negative managed line is kept", LedgerInput{MemTotal: 100, Managed: KnownAmount(-3)}, []LedgerLine{
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
		in := LedgerInput{MemTotal: total}
		for i, field := range ledgerFields() {
			*field.of(&in) = []LedgerAmount{ImpossibleAmount(), UnknownAmount(), KnownAmount(a), KnownAmount(b)}[states>>(2*i)&3]
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
		sorted := LinesBySize(lines)
		if !slices.IsSortedFunc(sorted, func(a, b LedgerLine) int {
			if a.Known == b.Known {
				return cmp.Compare(b.Bytes, a.Bytes)
			}
			return map[bool]int{true: -1, false: 1}[a.Known]
		}) || len(sorted) != len(lines) {
			t.Errorf("by size: %v", sorted)
		}
	})
}
