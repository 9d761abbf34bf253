package render

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// CSV writes a table by RFC 4180, a heading row first. Numbers have a point and no unit; a bool is true or false; a
// missing value is an empty field.
func CSV(w io.Writer, s Sheet) error {
	out := csv.NewWriter(w)
	if err := out.Write(fields(cells(texts(s.Header)))); err != nil {
		return err
	}
	for row, err := range s.Rows {
		if err == nil {
			err = out.Write(fields(cells(row)))
		}
		if err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func fields(row []any) []string {
	texts := make([]string, len(row))
	for i, cell := range row {
		switch v := cell.(type) {
		case nil:
		case string:
			texts[i] = v
		case float64:
			texts[i] = strconv.FormatFloat(v, 'g', -1, 64)
		default:
			texts[i] = fmt.Sprint(v)
		}
	}
	return texts
}
