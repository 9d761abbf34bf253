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

// Limits of a plan file. They are far above any plan that a person writes.
const (
	mostPlan  = 1 << 20 // bytes, of the file and of each source
	mostNodes = 200_000 // counting each use of an alias
)

// Read reads a plan file with the sources of its files, sets the defaults and checks it. An error names file, line and
// key.
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

// Parse is Read for a text. file is the file name for errors. Sources are not read.
func Parse(file string, text []byte) (*Plan, error) {
	p, err := decode(file, text)
	if err != nil {
		return nil, err
	}
	return p, p.finish()
}

// finish completes and checks a decoded plan.
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

// readSources reads the template files of the plan's files.
func (p *Plan) readSources(folder string) error {
	for i, a := range p.Arms {
		for j, f := range a.Files {
			if f.Source == "" || f.Text != "" {
				continue // a file with both is refused later
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

// decode decodes the literal text. It walks the nodes itself, because the library's decoder names lines but not keys,
// accepts a number where text is wanted, and suggests no correction.
func decode(file string, text []byte) (*Plan, error) {
	p := &Plan{from: &source{file: file, lines: map[string]int{}}}
	if len(text) > mostPlan {
		return nil, p.errorAt("", "more than %s", Bytes(mostPlan))
	}
	root, err := document(text)
	if err != nil {
		return nil, syntaxError(p, err)
	}
	d := &decoder{plan: p, parsers: parsers()}
	return p, d.into("", root, reflect.ValueOf(p).Elem(), field{})
}

// document returns the single document of a text.
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

// syntaxError returns a YAML syntax error in one line.
func syntaxError(p *Plan, err error) error {
	e := &Error{File: p.from.file, Err: err}
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		e.Line, e.Err = load.Mark.Line, errors.New("no YAML: "+strings.ReplaceAll(load.Message, "\n", " "))
	}
	return e
}
