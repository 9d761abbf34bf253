package arena

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Profile is a named list of cells, in the order in which they are measured.
type Profile struct {
	Name  string
	Cells []Cell
	// Caching sends the context of each request before it.
	Caching bool
	// Exact asks for answers of exactly the length.
	Exact bool
	// Latency is the probe of the latency without a load; empty leaves it open.
	Latency string
	// Notes are parts of a file that are not carried out.
	Notes []string
}

// Names of the profiles that are built in.
const (
	SparkArenaV2 = "spark-arena-v2"
	Quick        = "quick"
)

// sparkArenaV2 are the cells of benchmarking/spark-arena-v2.yaml in spark-arena/recipe-registry at 30757800 (2026-06-13),
// in the order of that file, which keeps heavy cells apart.
//
//go:embed spark-arena-v2.csv
var sparkArenaV2 []byte

// Open returns the profile of a name, or that of a file.
func Open(name string) (Profile, error) {
	switch name {
	case SparkArenaV2:
		cells, err := readCells(sparkArenaV2)
		return Profile{Name: name, Cells: cells, Caching: true}, err
	case Quick:
		return Profile{Name: name, Cells: Sizes{Depth: []int{0, 4096}, Concurrency: []int{1, 5}}.Grid(), Caching: true}, nil
	}
	text, err := readFile(name)
	if err != nil {
		return Profile{}, fmt.Errorf("%w (want %s, %s or a file)", err, SparkArenaV2, Quick)
	}
	p, err := parse(text)
	if err != nil {
		return Profile{}, fmt.Errorf("%s: %w", name, err)
	}
	p.Name = name
	return p, nil
}

// mostBytes is far above any profile.
const mostBytes = 1 << 20

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if err == nil && len(text) > mostBytes {
		err = fmt.Errorf("%s is longer than 1 MiB", path)
	}
	return text, err
}

// readCells reads the columns of sizes.
func readCells(text []byte) ([]Cell, error) {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	var all []Cell
	for _, row := range rows[1:] {
		var c Cell
		for name, into := range map[string]*int{"depth_tokens": &c.Depth, "concurrency": &c.Concurrency, "pp_tokens": &c.PP, "tg_tokens": &c.TG, "runs": &c.Runs} {
			if *into, err = strconv.Atoi(row[slices.Index(rows[0], name)]); err != nil {
				return nil, err
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// file is a benchmark profile of sparkrun, at the top level or below benchmark. Of schedule, a list of cells in order,
// each entry overrides args.
//
//	framework: llama-benchy
//	args: {pp: [2048], tg: [128], depth: [0, 4096], concurrency: [1, 5], runs: 3, prefix_caching: true}
//	schedule:
//	  - {depth: 0, concurrency: 1}
type file struct {
	Framework string           `yaml:"framework"`
	Schedule  []map[string]any `yaml:"schedule"`
	Args      map[string]any   `yaml:"args"`
	Benchmark *file            `yaml:"benchmark"`
	// sparkrun takes keys that it does not have for args.
	Other map[string]any `yaml:",inline"`
}

// framework is the program whose profiles have these sizes.
const framework = "llama-benchy"

// parse reads a profile of sparkrun.
func parse(text []byte) (Profile, error) {
	var f file
	if err := yaml.Unmarshal(text, &f); err != nil {
		return Profile{}, errors.New(strings.Join(strings.Fields(err.Error()), " "))
	}
	if f.Benchmark != nil {
		f = *f.Benchmark
	}
	switch f.Framework {
	case framework:
	case "":
		return Profile{}, errors.New("it has no framework: not a benchmark profile of sparkrun")
	default:
		return Profile{}, fmt.Errorf("its framework is %q, not %s", f.Framework, framework)
	}
	args := map[string]any{}
	for key, value := range f.Other {
		if !slices.Contains([]string{"category", "timeout", "metadata"}, key) {
			args[key] = value
		}
	}
	for key, value := range f.Args {
		args[key] = value
	}
	return f.profile(args)
}

// profile makes the cells.
func (f file) profile(args map[string]any) (Profile, error) {
	p := Profile{}
	if err := p.options(args); err != nil {
		return Profile{}, err
	}
	schedule := f.Schedule
	if len(schedule) == 0 {
		schedule = []map[string]any{{}}
	}
	for i, entry := range schedule {
		sizes, err := sizesOf(args, entry)
		if err != nil {
			return Profile{}, fmt.Errorf("schedule, entry %d: %w", i+1, err)
		}
		if err := sizes.Check(); err != nil {
			return Profile{}, err
		}
		p.Cells = append(p.Cells, sizes.Grid()...)
	}
	return p, Check(p.Cells)
}

// options reads the args that are no sizes, and notes those that are not carried out.
func (p *Profile) options(args map[string]any) error {
	var left []string
	for key, value := range args {
		on, isBool := value.(bool)
		switch key {
		case "pp", "tg", "depth", "concurrency", "runs", "tokenizer", "book_url", "adapt_prompt", "skip_coherence", "format":
			continue // sizes, or what needs no setting here
		case "prefix_caching", "enable_prefix_caching":
			p.Caching = p.Caching || on
		case "exact_tg":
			p.Exact = on
		case "latency_mode":
			p.Latency, isBool = fmt.Sprint(value), true
		default:
			left = append(left, key)
			isBool = true
		}
		if !isBool {
			return fmt.Errorf("args: %s is neither true nor false", key)
		}
	}
	slices.Sort(left)
	for _, key := range left {
		p.Notes = append(p.Notes, "args: "+key+" of the profile is not carried out")
	}
	return nil
}

// sizesOf reads the sizes of a schedule's entry, which override the args.
func sizesOf(args, entry map[string]any) (Sizes, error) {
	var s Sizes
	var runs []int
	known := map[string]*[]int{"pp": &s.PP, "tg": &s.TG, "depth": &s.Depth, "concurrency": &s.Concurrency, "runs": &runs}
	for key, into := range known {
		value, has := entry[key]
		if !has {
			value, has = args[key]
		}
		if !has {
			continue
		}
		var err error
		if *into, err = numbers(value); err != nil {
			return Sizes{}, fmt.Errorf("%s: %w", key, err)
		}
	}
	for key := range entry {
		if known[key] == nil {
			return Sizes{}, fmt.Errorf("%s differs by cell, which is not carried out", key)
		}
	}
	if len(runs) > 1 {
		return Sizes{}, errors.New("runs: want one number")
	}
	if len(runs) == 1 {
		if s.Runs = runs[0]; s.Runs < 1 {
			return Sizes{}, fmt.Errorf("runs: %d is not 1 or more", s.Runs)
		}
	}
	return s, nil
}

// numbers reads a number, a list of them, or a text of numbers.
func numbers(value any) ([]int, error) {
	list, is := value.([]any)
	if !is {
		list = []any{value}
		if text, is := value.(string); is {
			list = nil
			for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
				list = append(list, word)
			}
		}
	}
	var all []int
	for _, one := range list {
		n, err := strconv.Atoi(fmt.Sprint(one))
		if err != nil {
			return nil, fmt.Errorf("%.40q is not a whole number", fmt.Sprint(one))
		}
		all = append(all, n)
	}
	if len(all) == 0 {
		return nil, errors.New("it has no number")
	}
	return all, nil
}
