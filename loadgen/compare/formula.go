package compare

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"math"
	"strconv"
	"strings"
)

// longest bounds the length of an expression.
const longest = 1000

// Expression is a parsed expression.
type Expression struct {
	text string
	root ast.Expr
}

// ParseExpression reads an expression. Its error has the reason and the position.
func ParseExpression(text string) (Expression, error) {
	if len(text) > longest {
		return Expression{}, fmt.Errorf("an expression of %d characters: at most %d", len(text), longest)
	}
	if strings.ContainsAny(text, "\n\r") || strings.Contains(text, "//") || strings.Contains(text, "/*") {
		return Expression{}, fmt.Errorf("%q: an expression is one line, without comments", text)
	}
	root, err := parser.ParseExprFrom(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return Expression{}, fmt.Errorf("%q: %w", text, shortParseError(err))
	}
	f := Expression{text, root}
	if err := f.check(root); err != nil {
		return Expression{}, err
	}
	return f, nil
}

// shortParseError returns the first of the parser's errors, without the line, which is always the first.
func shortParseError(err error) error {
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return fmt.Errorf("column %d: %s", list[0].Pos.Column, list[0].Msg)
	}
	return err
}

// check refuses elements that are not arithmetic.
func (f Expression) check(e ast.Expr) error {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.check(e.X)
	case *ast.UnaryExpr:
		if e.Op == token.SUB || e.Op == token.ADD {
			return f.check(e.X)
		}
	case *ast.BinaryExpr:
		switch e.Op {
		case token.ADD, token.SUB, token.MUL, token.QUO:
			return cmp.Or(f.check(e.X), f.check(e.Y))
		}
		return fmt.Errorf("%q: column %d: %s: want + - * / and brackets", f.text, e.OpPos, e.Op)
	case *ast.BasicLit:
		if _, err := number(e); err == nil {
			return nil
		}
	case *ast.Ident:
		return nil
	}
	return fmt.Errorf("%q: column %d: want names of figures, numbers, + - * / and brackets", f.text, e.Pos())
}

func number(l *ast.BasicLit) (float64, error) {
	if l.Kind != token.INT && l.Kind != token.FLOAT {
		return 0, fmt.Errorf("%s is no number", l.Value)
	}
	v, err := strconv.ParseFloat(l.Value, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is no number", l.Value)
	}
	return v, nil
}

// String returns the text of the expression as it was given.
func (f Expression) String() string { return f.text }

// Names returns the names of its figures, in the order of appearance, each once.
func (f Expression) Names() []string {
	var names []string
	seen := map[string]bool{}
	ast.Inspect(f.root, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !seen[id.Name] {
			seen[id.Name] = true
			names = append(names, id.Name)
		}
		return true
	})
	return names
}

// Value evaluates it; nil where a figure is missing, or where the result is not a finite number, such as after a
// division by 0.
func (f Expression) Value(figures map[string]float64) *float64 {
	v, known := value(f.root, figures)
	if !known || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func value(e ast.Expr, figures map[string]float64) (v float64, known bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return value(e.X, figures)
	case *ast.UnaryExpr:
		v, known = value(e.X, figures)
		if e.Op == token.SUB {
			v = -v
		}
		return v, known
	case *ast.BinaryExpr:
		x, knownX := value(e.X, figures)
		y, knownY := value(e.Y, figures)
		return apply(e.Op, x, y), knownX && knownY
	case *ast.BasicLit:
		v, err := number(e)
		return v, err == nil
	case *ast.Ident:
		v, known = figures[e.Name]
	}
	return v, known
}

func apply(op token.Token, x, y float64) float64 {
	switch op {
	case token.ADD:
		return x + y
	case token.SUB:
		return x - y
	case token.MUL:
		return x * y
	default:
		return x / y
	}
}
