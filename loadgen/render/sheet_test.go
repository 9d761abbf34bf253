package render

import (
	"bytes"
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/xuri/excelize/v2"
)

const hostile = "=HYPERLINK(\"http://x\")\x1b[31m\x00<script>"

func table() Sheet {
	return Sheet{Name: "Raw data", Header: []string{"name", "n", "value", "good"}, Rows: Rows([][]any{
		{"a", 3, 1.5, true},
		{hostile, -3, -1.5, false},
		{"+1|x", nil, nil, nil},
	})}
}

func open(t *testing.T, sheets ...Sheet) *excelize.File {
	t.Helper()
	var text bytes.Buffer
	if err := XLSX(&text, sheets...); err != nil {
		t.Fatal(err)
	}
	book, err := excelize.OpenReader(&text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = book.Close() })
	return book
}

func TestAWorkbookHasATabForEveryTable(t *testing.T) {
	book := open(t, Sheet{Name: "Summary", Header: []string{"what", "value"}, Rows: Rows([][]any{{"requests", 64}})}, table())
	if got := book.GetSheetList(); !slices.Equal(got, []string{"Summary", "Raw data"}) {
		t.Fatalf("tabs %q", got)
	}
	rows, err := book.GetRows("Raw data")
	if err != nil || len(rows) != 4 || !slices.Equal(rows[0], table().Header) || !slices.Equal(rows[1], []string{"a", "3", "1.5", "TRUE"}) {
		t.Errorf("rows %q (%v)", rows, err)
	}
	for _, name := range book.GetSheetList() {
		if panes, err := book.GetPanes(name); err != nil || !panes.Freeze || panes.YSplit != 1 {
			t.Errorf("%s: the header row is not frozen: %+v, %v", name, panes, err)
		}
		if style, err := book.GetCellStyle(name, "A1"); err != nil || style != 0 {
			t.Errorf("%s: style %d, %v", name, style, err)
		}
	}
}

func TestNothingInAWorkbookIsAFormula(t *testing.T) {
	book := open(t, table())
	for _, cell := range []string{"A3", "A4"} {
		formula, err := book.GetCellFormula("Raw data", cell)
		if err != nil || formula != "" {
			t.Errorf("%s has the formula %q (%v)", cell, formula, err)
		}
		text, err := book.GetCellValue("Raw data", cell)
		if err != nil || !strings.HasPrefix(text, "'") || strings.ContainsAny(text, "\x1b\x00") {
			t.Errorf("%s is %q (%v)", cell, text, err)
		}
	}
	if negative, err := book.GetCellValue("Raw data", "C3"); err != nil || negative != "-1.5" {
		t.Errorf("a negative number became %q (%v)", negative, err)
	}
}

func TestATableThatIsTooLongForATabGoesOnInTheNext(t *testing.T) {
	book := excelize.NewFile()
	defer book.Close()
	var rows [][]any
	for i := range 5 {
		rows = append(rows, []any{i})
	}
	if err := writeTabs(book, Sheet{Name: "Raw data", Header: []string{"i"}, Rows: Rows(rows)}, 3); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][][]string{"Raw data": {{"i"}, {"0"}, {"1"}}, "Raw data 2": {{"i"}, {"2"}, {"3"}}, "Raw data 3": {{"i"}, {"4"}}} {
		got, err := book.GetRows(name)
		if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: %q (%v), want %q", name, got, err, want)
		}
	}
}

func TestCSVIsReadBackAsItWasMeant(t *testing.T) {
	var text bytes.Buffer
	if err := CSV(&text, table()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&text).ReadAll()
	want := [][]string{
		{"name", "n", "value", "good"}, {"a", "3", "1.5", "true"},
		{"'=HYPERLINK(\"http://x\")\ufffd[31m\ufffd<script>", "-3", "-1.5", "false"}, {"'+1|x", "", "", ""},
	}
	if err != nil || !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("rows %q (%v)", rows, err)
	}
}

func TestAnErrorOfTheRowsIsThatOfTheWriter(t *testing.T) {
	broken := errors.New("broken")
	s := Sheet{Name: "x", Rows: func(yield func([]any, error) bool) { yield(nil, broken) }}
	if err := CSV(&bytes.Buffer{}, s); !errors.Is(err, broken) {
		t.Errorf("CSV: %v", err)
	}
	if err := XLSX(&bytes.Buffer{}, s); !errors.Is(err, broken) {
		t.Errorf("XLSX: %v", err)
	}
}

// FuzzLiteral: no text begins a formula, drives a terminal or is longer than a cell.
func FuzzLiteral(f *testing.F) {
	for _, seed := range []string{"", "=1", "-1", "@x", "'", "\t=1", "\r\n", hostile, strings.Repeat("ä", maxCell+1)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Literal(text)
		if got != "" && strings.ContainsRune("=+-@\t\r\n", rune(got[0])) {
			t.Fatalf("%q became %q", text, got)
		}
		if len([]rune(got)) > maxCell || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) && r != unicode.ReplacementChar }) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// BenchmarkXLSX writes 10,000 rows of 30 cells.
func BenchmarkXLSX(b *testing.B) {
	row := make([]any, 30)
	for i := range row {
		row[i] = float64(i) * 1.234567
	}
	rows := make([][]any, 10_000)
	for i := range rows {
		rows[i] = row
	}
	b.ReportAllocs()
	for b.Loop() {
		var out bytes.Buffer
		if err := XLSX(&out, Sheet{Name: "Raw data", Rows: Rows(rows)}); err != nil {
			b.Fatal(err)
		}
	}
}
