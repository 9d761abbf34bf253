package sweep

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Shape is a batch of equal requests: so many at once, with so many tokens in and out.
type Shape struct {
	Name                 string
	Batch, Input, Output int
}

// Iterations of a shape. One generates the whole batch: as many requests as the batch has. As many slots send them, not
// in step.
const (
	shapeWarmup     = 10
	shapeIterations = 100
)

// shapePause is how long a machine cools down between two shapes.
const shapePause = 30 * time.Second

// allShapes returns T1 to T6, the shapes of the comparisons of native and container runs on unified-memory machines:
// the first three grow in length, the others in batch size.
func allShapes() []Shape {
	return []Shape{
		{"T1", 1, 128, 32},
		{"T2", 1, 512, 128},
		{"T3", 1, 2048, 512},
		{"T4", 4, 512, 128},
		{"T5", 16, 512, 128},
		{"T6", 32, 512, 128},
	}
}

func findShape(name string) (int, error) {
	at := slices.IndexFunc(allShapes(), func(s Shape) bool { return s.Name == name })
	if at < 0 {
		return 0, fmt.Errorf("%q is none of T1 to T%d", name, len(allShapes()))
	}
	return at, nil
}

// parseShapes reads a shape or a range of them: T4, or T1..T6.
func parseShapes(part string) ([]overItem, error) {
	first, last, isRange := strings.Cut(part, "..")
	if !isRange {
		last = first
	}
	from, err := findShape(first)
	if err != nil {
		return nil, err
	}
	to, err := findShape(last)
	if err != nil {
		return nil, err
	}
	if to < from {
		return nil, fmt.Errorf("%q goes backwards", part)
	}
	var items []overItem
	for _, s := range allShapes()[from : to+1] {
		items = append(items, overItem{text: s.Name})
	}
	return items, nil
}
