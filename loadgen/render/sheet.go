package render

import (
	"iter"
	"strings"
)

// Sheet is one table of values, for CSV and workbooks. Its rows are streamed: a million of them need not be in memory.
// A cell is a string, an int, a float64, a bool or nil, which is empty, or a pointer to one of them, which may be nil; a
// text that a spreadsheet would take for a formula stays text.
type Sheet struct {
	// Name is the tab of the workbook.
	Name string
	// Header is the first row. It stays in view in a workbook.
	Header []string
	// Rows are read once, in order; an error ends them, and the writer returns it.
	Rows iter.Seq2[[]any, error]
}

// Rows returns the rows of a table that is in memory.
func Rows(rows [][]any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// maxCell is the limit of a cell of a workbook, in characters (Excel's own limit).
const maxCell = 32767

// Literal makes text safe in a cell. A text that begins like a formula gets an apostrophe, as a person would type it: a
// workbook marks text as text, but the next program that it is pasted or exported to does not. It replaces characters
// that do not print, and cuts a text that is too long.
func Literal(text string) string {
	text = Printable(text)
	if text != "" && strings.ContainsRune("=+-@'", rune(text[0])) {
		text = "'" + text
	}
	if runes := []rune(text); len(text) > maxCell && len(runes) > maxCell {
		text = string(runes[:maxCell])
	}
	return text
}

// cells makes a row safe. Numbers stay as they are: a negative one is not a formula.
func cells(row []any) []any {
	safe := make([]any, len(row))
	for i, cell := range row {
		switch v := cell.(type) {
		case string:
			cell = Literal(v)
		case *float64:
			cell = pointed(v)
		case *int:
			cell = pointed(v)
		case *bool:
			cell = pointed(v)
		}
		safe[i] = cell
	}
	return safe
}

// pointed returns the value of a pointer; nil, which is an empty cell, for a nil one.
func pointed[T any](value *T) any {
	if value == nil {
		return nil
	}
	return *value
}

func texts(header []string) []any {
	row := make([]any, len(header))
	for i, text := range header {
		row[i] = text
	}
	return row
}
