package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"text/template"
)

// keep puts the results of a call into the file of all results and writes the page anew.
func keep(path, markdown string, files []string) error {
	var all []result
	if err := readJSON(path, &all); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, file := range files {
		var one result
		if err := readJSON(file, &one); err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(r result) bool { return r.Server == one.Server })
		all = append(all, one)
	}
	order := func(name string) int {
		return slices.IndexFunc(servers(), func(s server) bool { return s.name == name })
	}
	slices.SortFunc(all, func(a, b result) int { return order(a.Server) - order(b.Server) })
	text, err := json.MarshalIndent(all, "", " ")
	markup, failed := pageOf(all)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path, append(text, '\n'), 0o644), os.WriteFile(markdown, []byte(markup), 0o644))
}

//go:embed SERVERS.md.tmpl
var pageText string

var serversPage = template.Must(template.New("SERVERS.md").Parse(pageText))

// pageOf is loadgen/SERVERS.md: what was measured here, and what was tried by hand before.
func pageOf(all []result) (string, error) {
	var b strings.Builder
	err := serversPage.Execute(&b, all)
	return b.String(), err
}
