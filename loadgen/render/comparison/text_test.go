package comparison

import (
	"bytes"
	"encoding/csv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

func textOf(t *testing.T, c compare.Comparison) string {
	t.Helper()
	var out bytes.Buffer
	if err := Text(&out, c); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestATerminalShowsTheVerdictsFirstAndThenWhatIsBehindThem(t *testing.T) {
	e := published()
	e.blocked = false
	text := textOf(t, compared(t, e, compare.Options{Within: []string{"model"}}))
	last := -1
	for _, part := range []string{
		"57 runs by arm within model, against native", "deepseek-7b: container against native", "verdict", "* Output tokens per second", "Memory occupied without KV cache", "* decides; sd: ",
		"\norder", "abba", "runs of native", "\nfairness", "2 of 3 known items differ", "what differs besides, deepseek-7b", "sha256:4f1c", "memory ledger, GiB, deepseek-7b", "at ready", "page cache", "+15.00", "pool",
		"KV cache: ", "\nwarnings", "kv_explained",
	} {
		at := strings.Index(text[max(last, 0):], part)
		if at < 0 {
			t.Fatalf("no %q after the part before it:\n%s", part, text)
		}
		last = max(last, 0) + at
	}
}

// One run of an arm has no interval; its change stands in the unit of the margin beside it all the same.
func TestTheChangeIsInTheUnitOfItsMargin(t *testing.T) {
	e := published()
	e.runs = 1
	found := false
	for _, line := range strings.Split(textOf(t, compared(t, e, compare.Options{Within: []string{"model"}})), "\n") {
		if !strings.HasPrefix(line, "* Output tokens per second") {
			continue
		}
		found = true
		cells := regexp.MustCompile("  +").Split(line, -1)
		if change, margin := cells[7], cells[9]; !strings.HasSuffix(change, "%") || margin != "±2 %" {
			t.Errorf("change %q beside margin %q: %s", change, margin, line)
		}
	}
	if !found {
		t.Error("no line of the primary metric")
	}
}

func TestATerminalShowsOfManyMetricsWhatIsFoundAndCountsTheRest(t *testing.T) {
	e := published()
	e.models, e.runs = nil, 4
	for i := range 12 {
		e.models = append(e.models, "model"+strconv.Itoa(i))
	}
	c := compared(t, e, compare.Options{Within: []string{"model"}})
	rows, shown := 0, 0
	for _, s := range c.Strata {
		for _, m := range s.Pairs[0].Metrics {
			rows++
			if m.Primary || found(m) {
				shown++
			}
		}
	}
	text := textOf(t, c)
	if rows <= mostRows || shown == rows || !strings.Contains(text, strconv.Itoa(rows-shown)+" metrics without a finding are not shown") {
		t.Errorf("%d of %d rows:\n%s", shown, rows, text)
	}
	if n := strings.Count(text, "* Output tokens per second"); n != 12 {
		t.Errorf("%d primary metrics of 12 strata", n)
	}
}

func TestWarningsThatAreSummedUpAreNotRepeated(t *testing.T) {
	text := textOf(t, compared(t, published(), compare.Options{Within: []string{"model"}}))
	if n := strings.Count(text, "blocked_order: "); n != 1 {
		t.Errorf("blocked_order is told %d times", n)
	}
	c := compared(t, published(), compare.Options{Within: []string{"model"}})
	c.Warnings = nil
	if n := strings.Count(textOf(t, c), "blocked_order: "); n != 3 {
		t.Errorf("without a sum blocked_order is told %d times", n)
	}
}

func TestASimulatedComparisonIsMarked(t *testing.T) {
	c := compared(t, published(), compare.Options{Within: []string{"model"}})
	c.Simulated = true
	var markdown bytes.Buffer
	if err := Markdown(&markdown, "title", c); err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{"text": textOf(t, c), "Markdown": markdown.String()} {
		if !strings.Contains(text, "SIMULATED") {
			t.Errorf("%s does not say so", form)
		}
	}
}

func TestTextOfOthersActsOnNoTerminalTableOrSpreadsheet(t *testing.T) {
	e := published()
	e.hostile = "\x1b[31m|<b>*x*</b>\r\n=1+1"
	c := compared(t, e, compare.Options{Within: []string{"model"}})
	text := textOf(t, c)
	if strings.ContainsAny(text, "\x1b\r") {
		t.Error("an escape reaches the terminal")
	}
	var markdown, table bytes.Buffer
	if err := Markdown(&markdown, "title"+e.hostile, c); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(markdown.String(), "<b>") || strings.Contains(markdown.String(), " *x*") || strings.ContainsRune(markdown.String(), '\x1b') {
		t.Error("text is markup in Markdown")
	}
	columns := -1
	for _, line := range strings.Split(markdown.String(), "\n") {
		if !strings.HasPrefix(line, "| ") {
			columns = -1
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if columns >= 0 && n != columns {
			t.Errorf("a row has %d borders and its heading %d: %s", n, columns, line)
		}
		columns = n
	}
	if err := CSV(&table, c); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, field := range row {
			if strings.HasPrefix(field, "=") || strings.ContainsRune(field, '\x1b') {
				t.Errorf("%q is no text to a spreadsheet", field)
			}
		}
	}
}

func TestATableForProgramsHasWhatTheComparisonHas(t *testing.T) {
	c := compared(t, published(), compare.Options{Within: []string{"model"}, Columns: compare.Columns()})
	var out bytes.Buffer
	if err := CSV(&out, c); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := func(row []string, name string) string {
		i := slices.Index(rows[0], name)
		if i < 0 {
			t.Fatalf("no column %s", name)
		}
		return row[i]
	}
	line := 1
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			for strings.HasPrefix(at(rows[line], "metric"), "memory_ledger_") {
				line++
			}
			for _, m := range p.Metrics {
				row := rows[line]
				line++
				if at(row, "model") != s.Within["model"] || at(row, "candidate") != p.B || at(row, "metric") != m.Name || at(row, "verdict") != string(m.Verdict) || at(row, "n_b") != strconv.Itoa(m.B.N) {
					t.Errorf("row %q is not %s of %s", row, m.Name, s.Within["model"])
				}
				for name, v := range map[string]*float64{
					"mean_a": m.A.Mean, "population_sd_b": m.B.PopulationSD, "difference": m.Difference, "ratio": m.Ratio, "welch_p": m.WelchP,
					"tost_p": m.TOSTP, "holm_p": m.HolmP, "mde": m.MDE, "shapiro_wilk_p_a": m.ShapiroA, "bonferroni_p": m.BonferroniP,
				} {
					want := ""
					if v != nil {
						want = strconv.FormatFloat(*v, 'g', -1, 64)
					}
					if got := at(row, name); got != want {
						t.Errorf("%s of %s is %q, want %q", name, m.Name, got, want)
					}
				}
			}
		}
	}
}

// bothLedgers are of a pool of 100 GiB, of which a line is too small to be shown for itself.
func bothLedgers() compare.Pair {
	a := map[string]float64{"free": 40 * gib, "page_cache": 30 * gib, "anon": 20 * gib, "percpu": gib / 2, "shmem": 9.5 * gib, "unattributed": 0}
	b := map[string]float64{"free": 55 * gib, "page_cache": 10 * gib, "anon": 25 * gib, "percpu": gib / 2, "shmem": 9.5*gib - 1<<20, "unattributed": 1 << 20}
	difference := map[string]float64{}
	for line := range a {
		difference[line] = b[line] - a[line]
	}
	return compare.Pair{A: "native", B: "container", Ledgers: compare.LedgerPair{A: summary.Ledgers{Ready: a}, B: summary.Ledgers{Ready: b}}, LedgerDifference: summary.Ledgers{Ready: difference}}
}

func TestTheLedgersOfBothArmsAreInTheOrderOfTheVocabularyAndAddUpToThePool(t *testing.T) {
	p := bothLedgers()
	first := [][]string{{"anonymous", "20.00", "25.00", "+5.00"}, {"page cache", "30.00", "10.00", "-20.00"}, {"free", "40.00", "55.00", "+15.00"}}
	pool := []string{"pool", "100.00", "100.00", "0.00"}
	for all, want := range map[bool][][]string{
		false: {first[0], {"shared", "9.50", "9.50", "0.00"}, first[1], first[2], {"2 other lines", "0.50", "0.50", "0.00"}, pool},
		true:  {first[0], {"shared", "9.50", "9.50", "0.00"}, {"per-CPU", "0.50", "0.50", "0.00"}, {"unattributed", "0.00", "0.00", "0.00"}, first[1], first[2], pool},
	} {
		tables := ledgerTables(p, ledgersOf(p)[0], all)
		if len(tables) != 1 {
			t.Fatalf("%d tables of one moment", len(tables))
		}
		var cells [][]string
		for _, row := range tables[0].(render.Table).Rows {
			cells = append(cells, row.Cells)
		}
		if !slices.EqualFunc(cells, want, slices.Equal) {
			t.Errorf("all lines %v: %v, want %v", all, cells, want)
		}
	}
	if tables := ledgerTables(compare.Pair{}, ledgersOf(compare.Pair{})[0], true); len(tables) > 0 {
		t.Errorf("of nothing: %v", tables)
	}
	// A comparison that was saved before has the differences alone, and lines may be missing without the remainder.
	p.Ledgers = compare.LedgerPair{}
	delete(p.LedgerDifference.Ready, "unattributed")
	if rows := ledgerTables(p, ledgersOf(p)[0], true)[0].(render.Table).Rows; !slices.Equal(rows[0].Cells, []string{"anonymous", "–", "–", "+5.00"}) || rows[len(rows)-1].Cells[0] != "free" {
		t.Errorf("%v", rows)
	}
}

// The chart folds lines, and loses none: its bars add up to the difference of the pools.
func TestTheBarsOfALedgerDifferenceAddUpToThatOfThePools(t *testing.T) {
	for _, more := range []float64{0, 2 * gib} { // the pool of the other arm
		p := bothLedgers()
		p.LedgerDifference.Ready["percpu"] += more
		l := ledgersOf(p)[0].folded(nil)
		drawn := 0.0
		for _, name := range l.names() {
			drawn += l.difference.Ready[name]
		}
		if drawn != more || len(l.names()) > 5 {
			t.Errorf("%v are %v, want %v", l.names(), drawn, more)
		}
		f := ledgerFigure(compare.Comparison{Arms: []string{"native", "container"}}, compare.Stratum{}, p, ledgersOf(p)[0])
		bars := 0
		for _, shape := range f.Desk.Shapes {
			if shape.Kind == "rect" {
				bars++
			}
		}
		if bars != len(l.names()) {
			t.Errorf("%d bars of %v", bars, l.names())
		}
	}
}

func TestATableForProgramsHasTheLedgersOfBothArms(t *testing.T) {
	c := compared(t, published(), compare.Options{Within: []string{"model"}})
	var out bytes.Buffer
	if err := CSV(&out, c); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := func(row []string, name string) float64 {
		v, err := strconv.ParseFloat(row[slices.Index(rows[0], name)], 64)
		if err != nil {
			t.Errorf("%s of %q: %v", name, row, err)
		}
		return v
	}
	var lines, pools [3]float64
	for _, row := range rows[1:] {
		name, ready := strings.CutPrefix(row[slices.Index(rows[0], "metric")], "memory_ledger_ready_")
		if !ready {
			continue
		}
		sums := &lines
		if name == "pool_bytes" {
			sums = &pools
		}
		for i, column := range []string{"mean_a", "mean_b", "difference"} {
			sums[i] += at(row, column)
		}
	}
	if lines != pools || pools[0] == 0 || pools[1] == 0 {
		t.Errorf("the lines are %v of the pools %v", lines, pools)
	}
}

func TestTheLedgerOfEveryMachineIsShown(t *testing.T) {
	c := compared(t, experiment{arms: []string{"native", "container"}, models: []string{"m"}, runs: 5}, compare.Options{})
	c.Strata[0].Pairs[0].LedgerDifferenceOn = map[string]summary.Ledgers{"spark-2": {Ready: map[string]float64{"page_cache": 9 * gib}}}
	var md strings.Builder
	if err := Markdown(&md, "x", c); err != nil {
		t.Fatal(err)
	}
	for name, shown := range map[string]string{"text": textOf(t, c), "Markdown": md.String(), "page": rendered(t, "x", c)} {
		if !strings.Contains(strings.ToLower(shown), "ledger of spark-2") && !strings.Contains(shown, "Where the memory differs on spark-2") {
			t.Errorf("%s does not show the second machine", name)
		}
	}
}
