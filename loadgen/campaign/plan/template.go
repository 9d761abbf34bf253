package plan

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// mostText is the most that a template may render to, in bytes.
const mostText = 1 << 20

// errTooLong is the error for a template that renders to more.
var errTooLong = fmt.Errorf("becomes more than %s", Bytes(mostText))

// text fills in a template.
func (r *renderer) text(path, text string) string {
	filled, err := expand(text, r.values)
	if err != nil && r.failed == nil {
		if of, isText := strings.CutSuffix(path, ".text"); isText && !r.plan.given(path) {
			path = of + ".source" // the text comes from there
		}
		r.failed = r.plan.errorAt(path, "%w", err)
	}
	return filled
}

// expand fills in a template. Only {{ begins an action; all other text is copied.
func expand(text string, values map[string]string) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	t, err := template.New("text").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", plainly(err)
	}
	if t.Tree == nil { // only definitions
		return "", errors.New("a template has values and {{if}}, no definitions")
	}
	if err := allowed(t.Root, values); err != nil {
		return "", err
	}
	var into limited
	if err := t.Execute(&into, values); err != nil {
		if errors.Is(err, errTooLong) {
			err = errTooLong
		}
		return "", plainly(err)
	}
	return into.String(), nil
}

// alone reports whether a text is a single template action.
func alone(text string) bool {
	return regexp.MustCompile(`^\{\{[^{}]*\}\}$`).MatchString(text)
}

// plainly removes from an error what the template library adds: name, line and position in a text.
func plainly(err error) error {
	text := regexp.MustCompile(`^template: text(:\d+)*: (executing "text" at )?`).ReplaceAllString(err.Error(), "")
	return errors.New("template: " + text)
}

// allowed refuses in templates: values that do not exist, even in branches that are not taken, and loops and
// definitions, which are not needed here, so that filling in a text takes bounded time.
func allowed(node parse.Node, values map[string]string) error {
	var inside []parse.Node
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil { // no else
			return nil
		}
		inside = n.Nodes
	case *parse.ActionNode:
		inside = []parse.Node{n.Pipe}
	case *parse.IfNode:
		inside = []parse.Node{n.Pipe, n.List, n.ElseList}
	case *parse.PipeNode:
		if len(n.Decl) > 0 {
			return errors.New("a template has values and {{if}}, no variables")
		}
		for _, command := range n.Cmds {
			inside = append(inside, command)
		}
	case *parse.CommandNode:
		inside = n.Args
	case *parse.FieldNode:
		return known(n.Ident, values)
	case *parse.TextNode, *parse.StringNode, *parse.NumberNode, *parse.BoolNode, *parse.IdentifierNode, *parse.CommentNode:
	default:
		return fmt.Errorf("a template has values and {{if}}, not %s", node)
	}
	for _, one := range inside {
		if err := allowed(one, values); err != nil {
			return err
		}
	}
	return nil
}

// known returns an error if a value does not exist.
func known(ident []string, values map[string]string) error {
	name := strings.Join(ident, ".")
	if _, there := values[name]; !there {
		return fmt.Errorf("there is no value .%s%s", name, orNearest(name, slices.Collect(maps.Keys(values))))
	}
	return nil
}

// limited is a buffer with a limit.
type limited struct{ bytes.Buffer }

func (l *limited) Write(text []byte) (int, error) {
	if l.Len()+len(text) > mostText {
		return 0, errTooLong
	}
	return l.Buffer.Write(text)
}
