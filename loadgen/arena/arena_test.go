package arena

import (
	"bytes"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func open(t *testing.T, name string) Profile {
	t.Helper()
	p, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSparkArenasCellsAreInItsOrder(t *testing.T) {
	p := open(t, SparkArenaV2)
	if len(p.Cells) != 28 || !p.Caching || p.Exact || Check(p.Cells) != nil {
		t.Fatalf("%d cells: %+v", len(p.Cells), p)
	}
	if first, last := p.Cells[0].String(), p.Cells[27].String(); first != "pp2048 tg128 @ d8192 (c5)" || last != "pp2048 tg128 @ d100000 (c10)" {
		t.Errorf("from %s to %s", first, last)
	}
	var requests, output, least, most int
	for _, c := range p.Cells {
		few, many := c.Prefill(true)
		requests, output, least, most = requests+c.Requests(true), output+c.Output(true), least+few, most+many
	}
	if requests != 702 || output != 89_856 || least/100_000 != 130 || most/100_000 != 252 {
		t.Errorf("%d requests, %d output tokens, %d to %d prompt tokens", requests, output, least, most)
	}
}

// TestSizesAreThoseOfTheTable compares the sizes of each cell with the columns of the file, which were worked out apart.
func TestSizesAreThoseOfTheTable(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(sparkArenaV2)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
	for i, c := range open(t, SparkArenaV2).Cells {
		least, most := c.Prefill(true)
		for name, got := range map[string]int{
			"requests_measured": c.Requests(true), "kv_tokens_at_end_of_answer": c.KVTokens(),
			"prefill_tokens_if_cache_hits": least, "prefill_tokens_if_cache_misses": most,
		} {
			if want := column(rows[i+1], name); want != strconv.Itoa(got) {
				t.Errorf("%s: %s is %d, want %s", c, name, got, want)
			}
		}
	}
}

func TestWithoutCachingACellHasOneRequestOfItsWholeLength(t *testing.T) {
	c := Cell{Depth: 4096, Concurrency: 5, PP: 512, TG: 64, Runs: 2}
	least, most := c.Prefill(false)
	if c.Requests(false) != 10 || least != 46_080 || most != least {
		t.Errorf("%d requests, %d to %d prompt tokens", c.Requests(false), least, most)
	}
}

func TestTheTimeOfACellFollowsFromRates(t *testing.T) {
	c := Cell{Depth: 3000, Concurrency: 2, PP: 3000, TG: 100, Runs: 2}
	least, most := Rates{PP: 3000, TG: 50}.Duration(c, true)
	// 4 batches of 2 s; 24,000 tokens at least, 12,000 more if nothing is found.
	if least != 16*time.Second || most != 20*time.Second {
		t.Errorf("%s to %s", least, most)
	}
}

func TestAGridIsInTheOrderOfLlamaBenchy(t *testing.T) {
	var names []string
	for _, c := range (Sizes{Depth: []int{0, 8}, Concurrency: []int{2, 1}, PP: []int{5}, TG: []int{3, 4}, Runs: 1}).Grid() {
		names = append(names, c.Slug())
	}
	want := "d0-c2-pp5-tg3 d0-c1-pp5-tg3 d0-c2-pp5-tg4 d0-c1-pp5-tg4 d8-c2-pp5-tg3 d8-c1-pp5-tg3 d8-c2-pp5-tg4 d8-c1-pp5-tg4"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if quick := open(t, Quick).Cells; len(quick) != 4 || quick[3].String() != "pp2048 tg128 @ d4096 (c5)" || quick[3].Runs != 3 {
		t.Errorf("quick: %v", quick)
	}
}

func TestSizesSelectAndReplaceThoseOfAProfile(t *testing.T) {
	cells := open(t, SparkArenaV2).Cells
	some, err := Sizes{Depth: []int{0, 4096}, Concurrency: []int{1}, TG: []int{32, 64}, Runs: 1}.Select(cells)
	if err != nil || len(some) != 4 || some[0] != (Cell{0, 1, 2048, 32, 1}) || some[3] != (Cell{4096, 1, 2048, 64, 1}) {
		t.Errorf("%v, %v", some, err)
	}
	for want, s := range map[string]Sizes{"--depth: no cell of the profile has 7": {Depth: []int{7}}, "--concurrency: no cell of the profile has 3": {Concurrency: []int{1, 3}}} {
		if _, err := s.Select(cells); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if all, err := (Sizes{}).Select(cells); err != nil || !slices.Equal(all, cells) {
		t.Errorf("without sizes: %d cells, %v", len(all), err)
	}
}

func TestAnOrderByASeedHasTheSameCells(t *testing.T) {
	cells := open(t, SparkArenaV2).Cells
	first, again, other := Shuffle(cells, 1), Shuffle(cells, 1), Shuffle(cells, 2)
	if !slices.Equal(first, again) || slices.Equal(first, other) || slices.Equal(first, cells) {
		t.Error("the order is not that of the seed")
	}
	for _, c := range cells {
		if !slices.Contains(first, c) {
			t.Errorf("%s is lost", c)
		}
	}
}

func profileFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "profile.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAProfileOfSparkrunIsRead(t *testing.T) {
	const text = `
framework: llama-benchy
category: performance
timeout: 3600
metadata: {description: three cells}
args:
  pp: [2048]
  tg: [128]
  depth: [0, 4096]
  concurrency: [1, 2]
  runs: 2
  prefix_caching: true
  extra_body: "temperature=0"
schedule:
  - { depth: 0, concurrency: 1 }
  - { depth: 4096, concurrency: 2, tg: 64 }
`
	below := "benchmark:\n" + strings.ReplaceAll(text, "\n", "\n  ")
	for name, text := range map[string]string{"at the top": text, "below benchmark": strings.TrimRight(below, " ")} {
		p, err := Open(profileFile(t, text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := []Cell{{0, 1, 2048, 128, 2}, {4096, 2, 2048, 64, 2}}; !slices.Equal(p.Cells, want) || !p.Caching || p.Exact {
			t.Errorf("%s: %+v", name, p)
		}
		if !slices.Equal(p.Notes, []string{"args: extra_body of the profile is not carried out"}) {
			t.Errorf("%s: %q", name, p.Notes)
		}
	}
	p, err := Open(profileFile(t, "framework: llama-benchy\ndepth: 0 16\nconcurrency: 1,3\npp: 8\nexact_tg: true\nlatency_mode: generation\n"))
	if err != nil || len(p.Cells) != 4 || p.Cells[3] != (Cell{16, 3, 8, 128, 3}) || p.Caching || !p.Exact || p.Latency != "generation" {
		t.Errorf("keys at the top are args: %+v, %v", p, err)
	}
}

func TestABadProfileIsRefusedInOneLine(t *testing.T) {
	for want, text := range map[string]string{
		"no framework":     "args: {pp: 1}",
		"not llama-benchy": "framework: vllm-bench",
		"not a whole":      "framework: llama-benchy\npp: many",
		"no number":        "framework: llama-benchy\npp: []",
		"entry 2: runs":    "framework: llama-benchy\nschedule: [{depth: 0}, {depth: 1, runs: 0}]",
		"one number":       "framework: llama-benchy\nruns: [1, 2]",
		"no_cache differs": "framework: llama-benchy\nschedule: [{depth: 0, no_cache: true}]",
		"neither true":     "framework: llama-benchy\nexact_tg: perhaps",
		"concurrency 0":    "framework: llama-benchy\nconcurrency: 0",
		"is there twice":   "framework: llama-benchy\nschedule: [{depth: 0}, {depth: 0}]",
		"more than 1000":   "framework: llama-benchy\nruns: 1\ndepth: [" + strings.TrimSuffix(strings.Repeat("1,", 1001), ",") + "]",
		"profile.yaml:":    "a: [",
	} {
		if _, err := Open(profileFile(t, text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Open("spark-arena-v3"); err == nil || !strings.Contains(err.Error(), "want spark-arena-v2, quick or a file") {
		t.Errorf("%v", err)
	}
}

func TestListsAreNumbers(t *testing.T) {
	if got, err := ParseList("0, 4096,8"); err != nil || !slices.Equal(got, []int{0, 4096, 8}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "1,", "-1", "1,1", "x", "1.5"} {
		if got, err := ParseList(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("framework: llama-benchy\nargs: {pp: [1, 2], depth: 0}\nschedule: [{depth: 3}]")
	f.Add("benchmark: {framework: llama-benchy, pp: '1 2'}")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parse([]byte(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("an error of several lines: %q", err)
			}
			return
		}
		if err := Check(p.Cells); err != nil || len(p.Cells) == 0 {
			t.Fatalf("%d cells are accepted: %v", len(p.Cells), err)
		}
	})
}

// TestTheRemainingTimeIsThatOfTheMeasuredCellsByTheirRates: a server that reads 1,000 tokens a second and writes 10, and
// takes twice the time in all.
func TestTheRemainingTimeIsThatOfTheMeasuredCellsByTheirRates(t *testing.T) {
	rates := Rates{PP: 1000, TG: 10}
	double := func(c Cell) time.Duration {
		least, _ := rates.Duration(c, true)
		return 2 * least
	}
	small, large := Cell{Concurrency: 1, PP: 1000, TG: 10, Runs: 3}, Cell{Depth: 50_000, Concurrency: 5, PP: 1000, TG: 100, Runs: 3}
	left := []Cell{large, {Depth: 4000, Concurrency: 2, PP: 500, TG: 20, Runs: 2}}
	want := double(left[0]) + double(left[1])
	for name, done := range map[string][]Took{
		"one": {{small, rates, double(small)}}, "two": {{small, rates, double(small)}, {large, rates, double(large)}},
	} {
		if got, known := Remaining(done, left, true); !known || math.Abs(float64(got-want)) > 1e3 {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got, known := Remaining(nil, left, true); known {
		t.Errorf("%s without a measured cell", got)
	}
	if got, known := Remaining([]Took{{small, rates, time.Second}}, nil, true); !known || got != 0 {
		t.Errorf("%s for no cell", got)
	}
}
