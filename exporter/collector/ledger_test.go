package collector

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/umascope/umascope/exporter/ledger"
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
	moves map[string]float64
}

func ledgerFields() []ledgerField {
	up := func(line string) map[string]float64 { return map[string]float64{line: +gib, ledger.Unattributed: -gib} }
	return []ledgerField{
		{"MemFree", func(in *LedgerInput) *LedgerAmount { return &in.MemFree }, up(ledger.Free)},
		{"AnonPages", func(in *LedgerInput) *LedgerAmount { return &in.AnonPages }, up(ledger.Anon)},
		{"Buffers", func(in *LedgerInput) *LedgerAmount { return &in.Buffers }, up(ledger.PageCache)},
		{"Cached", func(in *LedgerInput) *LedgerAmount { return &in.Cached }, up(ledger.PageCache)},
		// Shared memory is part of Cached, so that more of it alone only changes sides.
		{"Shmem", func(in *LedgerInput) *LedgerAmount { return &in.Shmem }, map[string]float64{ledger.Shmem: +gib, ledger.PageCache: -gib}},
		{"SwapCached", func(in *LedgerInput) *LedgerAmount { return &in.SwapCached }, up(ledger.SwapCache)},
		{"SReclaimable", func(in *LedgerInput) *LedgerAmount { return &in.SReclaimable }, up(ledger.SlabReclaimable)},
		{"SUnreclaim", func(in *LedgerInput) *LedgerAmount { return &in.SUnreclaim }, up(ledger.SlabUnreclaimable)},
		{"KernelStack", func(in *LedgerInput) *LedgerAmount { return &in.KernelStack }, up(ledger.KernelStack)},
		{"PageTables", func(in *LedgerInput) *LedgerAmount { return &in.PageTables }, up(ledger.PageTables)},
		{"SecPageTables", func(in *LedgerInput) *LedgerAmount { return &in.SecPageTables }, up(ledger.PageTables)},
		{"Percpu", func(in *LedgerInput) *LedgerAmount { return &in.Percpu }, up(ledger.Percpu)},
		{"Hugetlb", func(in *LedgerInput) *LedgerAmount { return &in.Hugetlb }, up(ledger.Hugetlb)},
		{"GPU processes", func(in *LedgerInput) *LedgerAmount { return &in.GPUProcess }, up(ledger.GPUProcess)},
		{"kernel_other", func(in *LedgerInput) *LedgerAmount { return &in.Managed }, up(ledger.Managed)},
		// Free memory in CMA is part of MemFree, so that more of it alone only changes sides.
		{"CmaFree", func(in *LedgerInput) *LedgerAmount { return &in.CmaFree }, map[string]float64{ledger.FreeCMA: +gib, ledger.Free: -gib}},
		{"ARC", func(in *LedgerInput) *LedgerAmount { return &in.ZFSArc }, up(ledger.ZFSArc)},
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
					t.Errorf("%s moved by %.0f, want %.0f", line.Name, got, f.moves[line.Name])
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
		if line.Name == ledger.Unattributed {
			want += gib
		}
		if line.Bytes != want {
			t.Errorf("%s is %.0f, want %.0f", line.Name, line.Bytes, want)
		}
	}
}

func TestLinesHaveTheValuesWorkedOutByHand(t *testing.T) {
	tests := []struct {
		name string
		in   LedgerInput
		want []ledger.Line
	}{
		{"every kind of memory", everyKind(), []ledger.Line{
			{Name: ledger.GPUProcess, Bytes: 8192}, {Name: ledger.Managed, Bytes: 16384}, {Name: ledger.Anon, Bytes: 2}, {Name: ledger.Shmem, Bytes: 16}, {Name: ledger.Hugetlb, Bytes: 4096},
			{Name: ledger.KernelStack, Bytes: 256}, {Name: ledger.PageTables, Bytes: 512 + 1024}, {Name: ledger.Percpu, Bytes: 2048}, {Name: ledger.SlabUnreclaimable, Bytes: 128},
			// 2^40 - (2^16 - 1), with Shmem's 16 in page_cache and taken out of it again.
			{Name: ledger.Unattributed, Bytes: 1<<40 - 65535 + 16},
			{Name: ledger.ZFSArc, Bytes: 32768}, {Name: ledger.SlabReclaimable, Bytes: 64}, {Name: ledger.SwapCache, Bytes: 32},
			{Name: ledger.PageCache, Bytes: 4 + 8 - 16}, // Buffers + Cached - Shmem: signed, like every difference
			{Name: ledger.FreeCMA, Bytes: 65536},
			{Name: ledger.Free, Bytes: 1 - 65536}, // MemFree - CmaFree: what is read is never negative, see freeCMA
		}},
		{"free memory in CMA is part of MemFree", LedgerInput{MemTotal: 100, MemFree: KnownAmount(60), CmaFree: KnownAmount(20)}, []ledger.Line{
			{Name: ledger.Unattributed, Bytes: 40}, {Name: ledger.FreeCMA, Bytes: 20}, {Name: ledger.Free, Bytes: 40},
		}},
		{"lines that cannot exist are left out", LedgerInput{MemTotal: 100, MemFree: KnownAmount(60), AnonPages: KnownAmount(50)}, []ledger.Line{
			{Name: ledger.Anon, Bytes: 50}, {Name: ledger.Unattributed, Bytes: -10}, {Name: ledger.Free, Bytes: 60},
		}},
		{"bytes of an unknown line stay in unattributed", LedgerInput{MemTotal: 100, MemFree: KnownAmount(60), GPUProcess: UnknownAmount()}, []ledger.Line{
			{Name: ledger.GPUProcess, Unknown: true}, {Name: ledger.Unattributed, Bytes: 40}, {Name: ledger.Free, Bytes: 60},
		}},
		{"a line is unknown when one part of it is", LedgerInput{MemTotal: 100, Buffers: KnownAmount(5), Cached: KnownAmount(20), Shmem: UnknownAmount()}, []ledger.Line{
			{Name: ledger.Shmem, Unknown: true}, {Name: ledger.Unattributed, Bytes: 100}, {Name: ledger.PageCache, Unknown: true},
		}},
		{"a part that cannot exist leaves the line known", LedgerInput{MemTotal: 100, PageTables: KnownAmount(7), SecPageTables: ImpossibleAmount()}, []ledger.Line{
			{Name: ledger.PageTables, Bytes: 7}, {Name: ledger.Unattributed, Bytes: 93},
		}},
		{"a negative managed line is kept", LedgerInput{MemTotal: 100, Managed: KnownAmount(-3)}, []ledger.Line{
			{Name: ledger.Managed, Bytes: -3}, {Name: ledger.Unattributed, Bytes: 103},
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

// FuzzLinesAddUpToThePool asserts that for any figures up to 256 TiB, below which all sums are exact, the known lines add
// up to the pool, and an unknown line has no bytes.
func FuzzLinesAddUpToThePool(f *testing.F) {
	f.Add(int64(128*gib), int64(gib), int64(-5), uint64(0))
	f.Add(int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt64), uint64(0x1234567))
	f.Fuzz(func(t *testing.T, total, a, b int64, states uint64) {
		total, a, b = total%(1<<48), a%(1<<48), b%(1<<48)
		in := LedgerInput{MemTotal: total}
		for i, field := range ledgerFields() {
			*field.of(&in) = []LedgerAmount{ImpossibleAmount(), UnknownAmount(), KnownAmount(a), KnownAmount(b)}[states>>(2*i)&3]
		}
		sum := 0.0
		lines := in.Lines()
		for _, line := range lines {
			if line.Unknown && line.Bytes != 0 {
				t.Errorf("%s is unknown and has %.0f bytes", line.Name, line.Bytes)
			}
			sum += line.Bytes
		}
		if sum != float64(total) {
			t.Errorf("lines add up to %.0f, the pool is %d", sum, total)
		}
		sorted := ledger.BySize(lines)
		if !slices.IsSortedFunc(sorted, func(a, b ledger.Line) int {
			if a.Unknown == b.Unknown {
				return cmp.Compare(b.Bytes, a.Bytes)
			}
			return map[bool]int{true: 1, false: -1}[a.Unknown]
		}) || len(sorted) != len(lines) {
			t.Errorf("by size: %v", sorted)
		}
	})
}
