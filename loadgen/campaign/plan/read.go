package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Bounds of what is read. No plan that a person writes comes near them.
const (
	mostPlan  = 1 << 20 // bytes, of the file and of each source
	mostNodes = 200_000 // counted as often as aliases repeat them
)

// Read reads a plan file with the sources of its files, fills in the defaults and checks it. An error
// names file, line and key.
func Read(path string) (*Plan, error) {
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; uma-load campaign plans lists ready ones", err)
	}
	if err != nil {
		return nil, err
	}
	p, err := decode(path, text)
	if err != nil {
		return nil, err
	}
	if err := p.readSources(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return p, p.finish()
}

// Parse is Read of a text. What file it came from is for errors; sources are not read.
func Parse(file string, text []byte) (*Plan, error) {
	p, err := decode(file, text)
	if err != nil {
		return nil, err
	}
	return p, p.finish()
}

// finish completes and checks what was decoded.
func (p *Plan) finish() error {
	p.setDefaults()
	return p.check()
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostPlan+1))
	if err == nil && len(text) > mostPlan {
		err = fmt.Errorf("%s: more than %s", path, Bytes(mostPlan))
	}
	return text, err
}

// readSources reads the files that have the texts of files.
func (p *Plan) readSources(folder string) error {
	for i, a := range p.Arms {
		for j, f := range a.Files {
			if f.Source == "" || f.Text != "" {
				continue // both is refused later
			}
			path := f.Source
			if !filepath.IsAbs(path) {
				path = filepath.Join(folder, path)
			}
			text, err := readFile(path)
			if err != nil {
				return p.errorAt(item(item("arms", i)+".files", j)+".source", "%w", err)
			}
			p.Arms[i].Files[j].Text = string(text)
		}
	}
	return nil
}

// decode reads the text as it stands. The library's own decoder names lines but no keys, takes a number
// for a text and does not say what was meant: this one goes through its nodes.
func decode(file string, text []byte) (*Plan, error) {
	p := &Plan{from: &source{file: file, lines: map[string]int{}}}
	if len(text) > mostPlan {
		return nil, p.errorAt("", "more than %s", Bytes(mostPlan))
	}
	root, err := document(text)
	if err != nil {
		return nil, syntaxError(p, err)
	}
	d := &decoder{plan: p}
	return p, d.into("", root, reflect.ValueOf(p).Elem(), field{})
}

// document is the one document of a text.
func document(text []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var root, more yaml.Node
	if err := loader.Load(&root); errors.Is(err, io.EOF) || err == nil && len(root.Content) == 0 {
		return nil, errors.New("the file is empty")
	} else if err != nil {
		return nil, err
	}
	if err := loader.Load(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document: a plan has no line ---")
	}
	return root.Content[0], nil
}

// syntaxError says what is no YAML, in one line.
func syntaxError(p *Plan, err error) error {
	e := &Error{File: p.from.file, Err: err}
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		e.Line, e.Err = load.Mark.Line, errors.New("no YAML: "+strings.ReplaceAll(load.Message, "\n", " "))
	}
	return e
}
