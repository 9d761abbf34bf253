package plan

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/cmd/terminal"
)

// decoder decodes nodes into the types of a plan and records the position of each key.
type decoder struct {
	plan    *Plan
	parsers map[reflect.Type]func(string, reflect.Value) error
	nodes   int
}

// fault returns an error at a node.
func (d *decoder) fault(path string, node *yaml.Node, format string, args ...any) error {
	return &Error{File: d.plan.from.file, Line: node.Line, Key: path, Err: fmt.Errorf(format, args...)}
}

// into decodes a node. A key without a value counts as absent.
func (d *decoder) into(path string, node *yaml.Node, v reflect.Value, f field) error {
	if d.nodes++; d.nodes > mostNodes {
		return d.fault(path, node, "more than %d values, counted as often as aliases repeat them", mostNodes)
	}
	if path != "" {
		d.plan.from.lines[path] = node.Line
	}
	node = target(node)
	if isNull(node) {
		delete(d.plan.from.lines, path)
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.into(path, node, v.Elem(), f)
	case reflect.Struct:
		return d.structure(path, node, v)
	case reflect.Slice:
		return d.list(path, node, v, f)
	case reflect.Map:
		return d.pairs(path, node, v, f)
	default:
		return d.scalar(path, node, v, f)
	}
}

// keys calls each for the keys of a mapping. It refuses duplicate keys.
func (d *decoder) keys(path string, node *yaml.Node, each func(key, value *yaml.Node, path string) error) error {
	if node.Kind != yaml.MappingNode {
		return d.fault(path, node, "want keys with values, found %s", what(node))
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return d.fault(path, key, "a key has to be a word, found %s", what(key))
		}
		inside := strings.TrimPrefix(path+"."+key.Value, ".")
		if line, twice := seen[key.Value]; twice {
			return d.fault(inside, key, "is in line %d too", line)
		}
		seen[key.Value] = key.Line
		if err := each(key, value, inside); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) structure(path string, node *yaml.Node, v reflect.Value) error {
	fields := fieldsOf(v.Type())
	err := d.keys(path, node, func(key, value *yaml.Node, inside string) error {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key.Value })
		if i < 0 {
			return d.fault(inside, key, "unknown key%s", orNearest(key.Value, namesOf(fields, func(f field) string { return f.key })))
		}
		return d.into(inside, value, v.Field(fields[i].index), fields[i])
	})
	if err != nil {
		return err
	}
	for _, f := range fields {
		if has(f.is, isRequired) && v.Field(f.index).IsZero() {
			return d.fault(path, node, "%s is missing", f.key)
		}
	}
	return nil
}

func (d *decoder) list(path string, node *yaml.Node, v reflect.Value, f field) error {
	if node.Kind != yaml.SequenceNode {
		return d.fault(path, node, "want a list, found %s", what(node))
	}
	list := reflect.MakeSlice(v.Type(), len(node.Content), len(node.Content))
	for i, one := range node.Content {
		if isNull(one) {
			return d.fault(item(path, i), one, "has no value")
		}
		if err := d.into(item(path, i), one, list.Index(i), f); err != nil {
			return err
		}
	}
	if list.Len() > 0 {
		v.Set(list)
	}
	return nil
}

func (d *decoder) pairs(path string, node *yaml.Node, v reflect.Value, f field) error {
	pairs := map[string]string{}
	err := d.keys(path, node, func(key, value *yaml.Node, inside string) error {
		var text string
		var err error
		if target(value).Kind == yaml.SequenceNode && (has(f.is, isFlags) || has(f.is, isValues)) {
			var list []string
			err = d.into(inside, value, reflect.ValueOf(&list).Elem(), f)
			text = strings.Join(list, "\n")
		} else {
			err = d.into(inside, value, reflect.ValueOf(&text).Elem(), f)
		}
		pairs[key.Value] = text
		return err
	})
	v.Set(reflect.ValueOf(pairs))
	return err
}

// mostDuration is the longest duration in a plan. A longer one is a mistake.
const mostDuration = 7 * 24 * time.Hour

// scalar decodes a single value from its literal text: 1.10 stays text where text is wanted.
func (d *decoder) scalar(path string, node *yaml.Node, v reflect.Value, f field) error {
	if node.Kind != yaml.ScalarNode {
		return d.fault(path, node, "want a single value, found %s", what(node))
	}
	if v.Kind() == reflect.String {
		v.SetString(node.Value)
		if err := f.accepts(node.Value); err != nil {
			return d.fault(path, node, "%w", err)
		}
		return nil
	}
	if err := d.parsers[v.Type()](node.Value, v); err != nil {
		return d.fault(path, node, "%w", err)
	}
	return nil
}

// accepts returns what is wrong with a text.
func (f field) accepts(text string) error {
	if len(f.one) > 0 && !slices.Contains(f.one, text) {
		return fmt.Errorf("%q is none of %s", text, strings.Join(f.one, ", "))
	}
	if has(f.is, isName) && !terminal.PlainName(text) {
		return fmt.Errorf("%q: want letters, digits, . _ and -, not beginning with a dot, at most 128", text)
	}
	return nil
}

// parsers returns how the types of a plan, other than text, are parsed.
func parsers() map[reflect.Type]func(string, reflect.Value) error {
	all := map[reflect.Type]func(string, reflect.Value) error{}
	addParser(all, terminal.DurationWithin(0, mostDuration))
	addParser(all, ParseHertz)
	addParser(all, ParseBytes)
	addParser(all, ParseRatio)
	addParser(all, terminal.AtLeast(0))
	addParser(all, terminal.Unsigned)
	addParser(all, func(text string) (bool, error) {
		if text != "true" && text != "false" {
			return false, fmt.Errorf("%q is neither true nor false", text)
		}
		return text == "true", nil
	})
	addParser(all, func(text string) (float64, error) {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return 0, fmt.Errorf("%q is no number", text)
		}
		return n, nil
	})
	return all
}

// addParser adds the parser of a type.
func addParser[T any](all map[reflect.Type]func(string, reflect.Value) error, parser func(string) (T, error)) {
	all[reflect.TypeFor[T]()] = func(text string, v reflect.Value) error {
		parsed, err := parser(text)
		v.Set(reflect.ValueOf(parsed))
		return err
	}
}

// target returns the node that an alias refers to.
func target(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

func isNull(node *yaml.Node) bool {
	node = target(node)
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// what returns the kind of a node, with a suggestion for a likely mistake.
func what(node *yaml.Node) string {
	switch {
	case target(node).Kind == yaml.SequenceNode:
		return "a list"
	case node.Kind == yaml.MappingNode && node.Style&yaml.FlowStyle != 0:
		return `{…}, which are keys: a template needs quotes, as in "{{.name}}"`
	case target(node).Kind == yaml.MappingNode:
		return "keys with values"
	default:
		return fmt.Sprintf("%q", node.Value)
	}
}
