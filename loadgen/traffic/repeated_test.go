package traffic

import (
	"slices"
	"testing"
)

func TestARowRepeatsTheBlocksThatAnotherBeginsWith(t *testing.T) {
	rows := []TraceRow{
		{InputTokens: 1400, Blocks: []int64{1, 2, 3}},
		{InputTokens: 1100, Blocks: []int64{1, 2, 4}},
		{InputTokens: 600, Blocks: []int64{1, 9}},
		{InputTokens: 700, Blocks: []int64{2, 3}}, // the same blocks elsewhere are other text
		{InputTokens: 5000},
		{InputTokens: 300, Blocks: []int64{7}},
		{InputTokens: 300, Blocks: []int64{7}},
	}
	if got, want := RepeatedTokens(rows, 512), []int{1024, 1024, 512, 0, 0, 300, 300}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := RepeatedTokens(nil, 512); len(got) != 0 {
		t.Errorf("%v of none", got)
	}
}

// FuzzRepeatedTokens: each row has as much in common with its neighbours in the order of blocks as with any other row.
func FuzzRepeatedTokens(f *testing.F) {
	f.Add([]byte("\x01\x02\x03\x00\x01\x02\x00\x01\x05\x05\x00\x00\x02"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var rows []TraceRow
		for _, blocks := range splitAt(text[:min(len(text), 200)], 0) {
			row := TraceRow{InputTokens: max(len(blocks)*512-100, 1)}
			for _, b := range blocks {
				row.Blocks = append(row.Blocks, int64(b%4))
			}
			rows = append(rows, row)
		}
		got := RepeatedTokens(rows, 512)
		for i, row := range rows {
			want := 0
			for j, other := range rows {
				if i != j {
					want = max(want, min(commonBlocks(row.Blocks, other.Blocks)*512, row.InputTokens))
				}
			}
			if got[i] != want {
				t.Fatalf("row %d of %v repeats %d tokens, want %d", i, rows, got[i], want)
			}
		}
	})
}

// splitAt cuts a text at a byte.
func splitAt(text []byte, at byte) (parts [][]byte) {
	for {
		i := slices.Index(text, at)
		if i < 0 {
			return append(parts, text)
		}
		parts, text = append(parts, text[:i]), text[i+1:]
	}
}
