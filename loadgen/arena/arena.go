// Package arena defines the cells by which owners of a machine compare it: prompt processing and token generation at a
// depth of context and a number of requests at once. A profile lists cells in the order in which they are measured;
// Result is the file of those that were.
package arena

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Cell is one cell: batches of requests that are sent at one moment.
type Cell struct {
	// Depth is the context before the prompt, in tokens.
	Depth       int `json:"depth_tokens"`
	Concurrency int `json:"concurrency"`
	// PP and TG are the lengths of prompt and answer, in tokens.
	PP int `json:"pp_tokens"`
	TG int `json:"tg_tokens"`
	// Runs is how many batches are measured.
	Runs int `json:"runs"`
}

// String returns the name of the cell as llama-benchy has it in its tables: pp2048 tg128 @ d4096 (c5).
func (c Cell) String() string {
	name := fmt.Sprintf("pp%d tg%d", c.PP, c.TG)
	if c.Depth > 0 {
		name += fmt.Sprintf(" @ d%d", c.Depth)
	}
	return name + fmt.Sprintf(" (c%d)", c.Concurrency)
}

// Slug returns the name of the cell as a part of a file name.
func (c Cell) Slug() string {
	return fmt.Sprintf("d%d-c%d-pp%d-tg%d", c.Depth, c.Concurrency, c.PP, c.TG)
}

// Limits of a profile.
const (
	mostCells  = 1000
	mostTokens = 500_000
	mostAtOnce = 4096
	mostRuns   = 1000
)

// check refuses sizes that no server takes.
func (c Cell) check() error {
	for _, of := range []struct {
		name               string
		value, least, most int
	}{
		{"depth", c.Depth, 0, mostTokens}, {"concurrency", c.Concurrency, 1, mostAtOnce}, {"pp", c.PP, 1, mostTokens}, {"tg", c.TG, 1, mostTokens}, {"runs", c.Runs, 1, mostRuns},
	} {
		if of.value < of.least || of.value > of.most {
			return fmt.Errorf("%s %d is not from %d to %d", of.name, of.value, of.least, of.most)
		}
	}
	return nil
}

// Sizes are lists of sizes; a list without values leaves a size as it is.
type Sizes struct {
	Depth, Concurrency, PP, TG []int
	Runs                       int // 0 leaves it as it is
}

// Given reports whether a list has values.
func (s Sizes) Given() bool {
	return len(s.Depth)+len(s.Concurrency)+len(s.PP)+len(s.TG) > 0
}

// Check refuses lists with too many combinations.
func (s Sizes) Check() error {
	n := 1
	for _, list := range [][]int{s.Depth, s.Concurrency, s.PP, s.TG} {
		if n *= max(len(list), 1); n > mostCells {
			return fmt.Errorf("the sizes make more than %d cells", mostCells)
		}
	}
	return nil
}

// Grid returns the cells of all combinations, in the order of llama-benchy: by depth, then prompt, answer and requests
// at once. Lists without values have the default.
func (s Sizes) Grid() []Cell {
	or := func(list []int, fallback int) []int {
		if len(list) == 0 {
			return []int{fallback}
		}
		return list
	}
	runs := s.Runs
	if runs == 0 {
		runs = defaultRuns
	}
	var all []Cell
	for _, depth := range or(s.Depth, 0) {
		for _, pp := range or(s.PP, defaultPP) {
			for _, tg := range or(s.TG, defaultTG) {
				for _, concurrency := range or(s.Concurrency, 1) {
					all = append(all, Cell{depth, concurrency, pp, tg, runs})
				}
			}
		}
	}
	return all
}

// The sizes of cells that leave them open: those of Spark Arena.
const (
	defaultPP   = 2048
	defaultTG   = 128
	defaultRuns = 3
)

// Select returns the cells of a profile with these sizes: those that have one of the depths and of the numbers of
// requests at once, with each of the lengths of prompts and answers instead of their own. The error names the flag of a
// size that no cell has.
func (s Sizes) Select(cells []Cell) ([]Cell, error) {
	for _, by := range []struct {
		flag string
		list []int
		of   func(Cell) int
	}{
		{"--depth", s.Depth, func(c Cell) int { return c.Depth }}, {"--concurrency", s.Concurrency, func(c Cell) int { return c.Concurrency }},
	} {
		for _, value := range by.list {
			if !slices.ContainsFunc(cells, func(c Cell) bool { return by.of(c) == value }) {
				return nil, fmt.Errorf("%s: no cell of the profile has %d", by.flag, value)
			}
		}
		if len(by.list) > 0 {
			cells = slices.DeleteFunc(slices.Clone(cells), func(c Cell) bool { return !slices.Contains(by.list, by.of(c)) })
		}
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("--depth, --concurrency: no cell of the profile has both")
	}
	var all []Cell
	for _, c := range cells {
		with := Sizes{Depth: []int{c.Depth}, Concurrency: []int{c.Concurrency}, PP: s.PP, TG: s.TG, Runs: s.Runs}
		if len(with.PP) == 0 {
			with.PP = []int{c.PP}
		}
		if len(with.TG) == 0 {
			with.TG = []int{c.TG}
		}
		if with.Runs == 0 {
			with.Runs = c.Runs
		}
		for _, made := range with.Grid() {
			if !slices.Contains(all, made) {
				all = append(all, made)
			}
		}
	}
	return all, nil
}

// Check refuses a list of cells that cannot be measured.
func Check(cells []Cell) error {
	if len(cells) > mostCells {
		return fmt.Errorf("%d cells are more than %d", len(cells), mostCells)
	}
	for i, c := range cells {
		if err := c.check(); err != nil {
			return err
		}
		if slices.Contains(cells[:i], c) {
			return fmt.Errorf("the cell %s is there twice", c)
		}
	}
	return nil
}

// Shuffle returns the cells in an order that the seed determines.
func Shuffle(cells []Cell, seed uint64) []Cell {
	all := slices.Clone(cells)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// ParseList reads sizes such as 0,4096.
func ParseList(text string) ([]int, error) {
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is not a list of numbers, such as 0,4096", text)
		}
		if slices.Contains(all, n) {
			return nil, fmt.Errorf("%d is there twice", n)
		}
		all = append(all, n)
	}
	return all, nil
}

// Sort returns the cells in the order of llama-benchy: by depth, then prompt, answer and requests at once.
func Sort(cells []Cell) []Cell {
	return slices.SortedStableFunc(slices.Values(cells), func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.PP, b.PP), cmp.Compare(a.TG, b.TG), cmp.Compare(a.Concurrency, b.Concurrency))
	})
}
