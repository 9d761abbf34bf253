package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// drawing is a dashboard as it was drawn once.
type drawing struct {
	State, Dashboard, Title string
	Chosen                  map[string]any // values of variables; empty for the defaults
	Problems                []string
	Variables               []variable
	Panels                  []panel
}

type variable struct {
	Name    string
	Hidden  bool
	Value   any // a text or several
	Options []string
	Error   string
}

type panel struct {
	Title, Type, Error string
	Queries            []query
	Empty, Blank       bool
	NoValue            string // what it shows without data
	Words              string // what can be read in it
	Cut                []string
}

type query struct {
	Expr, Error string
	Series      int // with data
}

// readDrawings reads a line of JSON for each drawing.
func readDrawings(r io.Reader) ([]drawing, error) {
	var all []drawing
	for decoder := json.NewDecoder(bufio.NewReader(r)); ; {
		var d drawing
		err := decoder.Decode(&d)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("drawing %d: %w", len(all)+1, err)
		}
		all = append(all, d)
	}
}

// where names the drawing in a fault.
func (d drawing) where() string {
	if len(d.Chosen) == 0 {
		return d.State + ", " + d.Dashboard
	}
	return fmt.Sprintf("%s, %s with %v", d.State, d.Dashboard, d.Chosen)
}

// values returns the chosen values of a variable.
func (v variable) values() []string {
	if several, ok := v.Value.([]any); ok {
		var all []string
		for _, one := range several {
			all = append(all, fmt.Sprint(one))
		}
		return all
	}
	return []string{fmt.Sprint(v.Value)}
}

// saysWhy reports that an empty panel shows its own reason. Grafana's "No data" is none.
func (p panel) saysWhy() bool {
	packed := func(s string) string { return strings.Join(strings.Fields(s), "") }
	return p.NoValue != "" && strings.Contains(packed(p.Words), packed(p.NoValue))
}
