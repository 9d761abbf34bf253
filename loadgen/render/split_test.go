package render

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAWideTableIsSplitIntoPartsThatFit(t *testing.T) {
	table := Table{Header: []string{"run", "requests", "output tokens/s", "TTFT p50", "KV cache"}}
	table.Add("eins", "12 ok", "24.5", "181 ms", "41.9 GiB (simulated)")
	table.Add("日本", "4 ok", "18.5", "65 ms", "15.2 GiB (simulated)")
	for width, parts := range map[int]int{80: 1, 60: 2, 40: 2, 20: 4, 1: 4} {
		var text strings.Builder
		if err := Text(&text, Document{Blocks: table.Split(width)}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(text.String(), "run  "); n != parts {
			t.Errorf("%d columns: %d parts, want %d:\n%s", width, n, parts, text.String())
		}
		for line := range strings.Lines(text.String()) {
			if wide := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); wide > max(width, len("eins  41.9 GiB (simulated)")) {
				t.Errorf("%d columns: %d in %q", width, wide, line)
			}
		}
		for _, cell := range []string{"12 ok", "24.5", "181 ms", "15.2 GiB (simulated)"} {
			if strings.Count(text.String(), cell) != 1 {
				t.Errorf("%d columns: %q is not there once", width, cell)
			}
		}
	}
	bare := Table{Rows: table.Rows}
	if blocks := bare.Split(20); len(blocks) != 3 || blocks[2].(Table).Header != nil {
		t.Errorf("without a heading: %v", blocks)
	}
	if blocks := (Table{}).Split(80); len(blocks) != 1 || !blocks[0].Empty() {
		t.Errorf("of an empty table: %v", blocks)
	}
	one := Table{Header: []string{"run"}}
	one.Add("a")
	if blocks := one.Split(80); len(blocks) != 1 {
		t.Errorf("of a single column: %v", blocks)
	}
}
