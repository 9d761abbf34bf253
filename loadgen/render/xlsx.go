package render

import (
	"errors"
	"fmt"
	"io"

	"github.com/xuri/excelize/v2"
)

// maxRows is the number of rows of a tab (Excel's own limit); a longer table continues in a tab with a number at the
// end of its name.
const maxRows = 1 << 20

// XLSX writes a workbook with a tab for every table: a header row that stays in view, and typed cells without styles.
func XLSX(w io.Writer, sheets ...Sheet) (err error) {
	book := excelize.NewFile()
	defer func() { err = errors.Join(err, book.Close()) }()
	for _, s := range sheets {
		if err := writeTabs(book, s, maxRows); err != nil {
			return fmt.Errorf("sheet %s: %w", s.Name, err)
		}
	}
	// Every new workbook has this tab.
	if err := book.DeleteSheet("Sheet1"); err != nil {
		return err
	}
	return book.Write(w)
}

// tab is a tab that is being written.
type tab struct {
	stream *excelize.StreamWriter
	row    int
}

func newTab(book *excelize.File, name string, header []string) (*tab, error) {
	if _, err := book.NewSheet(name); err != nil {
		return nil, err
	}
	stream, err := book.NewStreamWriter(name)
	if err != nil {
		return nil, err
	}
	t := &tab{stream: stream}
	frozen := excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"}
	return t, errors.Join(stream.SetPanes(&frozen), t.add(texts(header)))
}

func (t *tab) add(row []any) error {
	t.row++
	cell, err := excelize.CoordinatesToCellName(1, t.row)
	if err != nil {
		return err
	}
	return t.stream.SetRow(cell, cells(row))
}

// writeTabs writes a table to as many tabs as it needs.
func writeTabs(book *excelize.File, s Sheet, most int) error {
	t, err := newTab(book, s.Name, s.Header)
	if err != nil {
		return err
	}
	for row, err := range s.Rows {
		if err != nil {
			return err
		}
		if t.row == most {
			if t, err = nextTab(book, s, t); err != nil {
				return err
			}
		}
		if err := t.add(row); err != nil {
			return err
		}
	}
	return t.stream.Flush()
}

func nextTab(book *excelize.File, s Sheet, full *tab) (*tab, error) {
	if err := full.stream.Flush(); err != nil {
		return nil, err
	}
	for number := 2; ; number++ {
		name := fmt.Sprintf("%s %d", s.Name, number)
		if index, err := book.GetSheetIndex(name); err != nil {
			return nil, err
		} else if index < 0 {
			return newTab(book, name, s.Header)
		}
	}
}
