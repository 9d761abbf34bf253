package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/arena"
	"github.com/umascope/umascope/loadgen/cell"
	"github.com/umascope/umascope/loadgen/summary"
)

// Bounds of errors: of our measured figures to the truth, and of our column "as llama-benchy" to llama-benchy's own
// figures.
const (
	mostError   = .02
	mostPPApart = .03
	mostTGApart = .01
)

// The clients, by the names that their sessions end with.
const (
	oursName   = "ours"
	theirsName = "theirs"
)

// place is a row of the table: a cell, or the contexts that are sent before it.
type place struct {
	arena.Cell
	context bool
}

func (p place) String() string {
	if p.context {
		return "context of " + p.Cell.String()
	}
	return p.Cell.String()
}

// session is what a client reported of a server, and what the server stamped meanwhile.
type session struct {
	truth map[place][][]request
	// reported are the figures of the client, customary the values by llama-benchy's definitions: its own, or our column.
	reported  map[place]figures
	customary map[place]values
	cost      cost
}

// places returns the rows of cells in the order in which their requests are sent, the contexts of a batch before it.
func places(c arena.Cell) []place {
	if c.Depth > 0 {
		return []place{{c, true}, {c, false}}
	}
	return []place{{c, false}}
}

// cut cuts the requests of a session into batches. Each batch begins when the one before has ended, so that the order
// in which requests were received is enough.
func cut(all []request, cells []arena.Cell) (map[place][][]request, error) {
	rows, want := map[place][][]request{}, 0
	for _, c := range cells {
		for range c.Runs {
			for _, p := range places(c) {
				if want += c.Concurrency; want <= len(all) {
					rows[p] = append(rows[p], all[want-c.Concurrency:want])
				}
			}
		}
	}
	if len(all) != want {
		return nil, fmt.Errorf("the server stamped %d requests of the cells, want %d", len(all), want)
	}
	return rows, nil
}

// readSession reads the folder of a session: truth.jsonl, cost.json, and the report of its client.
func readSession(folder string, cells []arena.Cell) (session, error) {
	all, err := readTruth(filepath.Join(folder, "truth.jsonl"), cells[0].TG)
	if err != nil {
		return session{}, err
	}
	var s session
	if s.truth, err = cut(all, cells); err != nil {
		return s, fmt.Errorf("%s: %w", folder, err)
	}
	if err := readJSON(filepath.Join(folder, "cost.json"), &s.cost); err != nil {
		return s, err
	}
	if strings.HasSuffix(folder, oursName) {
		err = s.readOurs(folder)
	} else {
		err = s.readTheirs(filepath.Join(folder, "theirs.json"))
	}
	return s, err
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// placeOf returns the row of a position.
func (s session) placeOf(depth, concurrency, pp, tg int, context bool) (place, error) {
	for p := range s.truth {
		if p.Depth == depth && p.Concurrency == concurrency && p.PP == pp && p.TG == tg && p.context == context {
			return p, nil
		}
	}
	return place{}, fmt.Errorf("no cell has depth %d, concurrency %d, pp %d, tg %d", depth, concurrency, pp, tg)
}

func (s *session) readOurs(folder string) error {
	s.reported, s.customary = map[place]figures{}, map[place]values{}
	runs, err := filepath.Glob(filepath.Join(folder, "arena", "*", "*", "summary.json"))
	if err != nil {
		return err
	}
	for _, file := range runs {
		run, err := summary.Open(filepath.Dir(file))
		if err != nil {
			return err
		}
		rows, err := cell.Read(run)
		if err != nil {
			return err
		}
		for _, row := range rows {
			p, err := s.placeOf(row.Depth, row.Concurrency, row.Prompt, row.Response, row.Context)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			measured, column := row.Measured(), row.LlamaBenchy()
			f := figures{estimate(measured.Prefill), estimate(measured.Decode), math.NaN()}
			if measured.TTFT != nil {
				f.TTFT = 1e3 * measured.TTFT.Mean
			}
			s.reported[p], s.customary[p] = f, values{valuesOf(column.Prefill), valuesOf(column.Decode)}
		}
	}
	return nil
}

func estimate(e *cell.Estimate) float64 {
	if e == nil {
		return math.NaN()
	}
	return e.Mean
}

func valuesOf(m *cell.Metric) []float64 {
	if m == nil {
		return nil
	}
	return m.Values
}

// benchy is a figure of llama-benchy's JSON, which has null for one without a value.
type benchy struct {
	Mean   float64
	Values []float64
}

func (b benchy) value() float64 {
	if len(b.Values) == 0 {
		return math.NaN()
	}
	return b.Mean
}

func (s *session) readTheirs(file string) error {
	var report struct {
		Benchmarks []struct {
			Concurrency int    `json:"concurrency"`
			Depth       int    `json:"context_size"`
			Prompt      int    `json:"prompt_size"`
			Response    int    `json:"response_size"`
			Context     bool   `json:"is_context_prefill_phase"`
			PP          benchy `json:"pp_throughput"`
			TG          benchy `json:"tg_throughput"`
			TTFT        benchy `json:"e2e_ttft"`
		} `json:"benchmarks"`
	}
	if err := readJSON(file, &report); err != nil {
		return err
	}
	s.reported, s.customary = map[place]figures{}, map[place]values{}
	for _, b := range report.Benchmarks {
		p, err := s.placeOf(b.Depth, b.Concurrency, b.Prompt, b.Response, b.Context)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		s.reported[p], s.customary[p] = figures{b.PP.value(), b.TG.value(), b.TTFT.value()}, values{b.PP.Values, b.TG.Values}
	}
	return nil
}

// judged are the sessions of a server, by client.
type judged struct {
	name         string
	ours, theirs []session
}

// average returns the mean of a figure of sessions.
func average(sessions []session, of func(session) figures) figures {
	var pp, tg, ttft []float64
	for _, s := range sessions {
		f := of(s)
		pp, tg, ttft = append(pp, f.PP), append(tg, f.TG), append(ttft, f.TTFT)
	}
	return figures{mean(pp), mean(tg), mean(ttft)}
}

// toStamps returns the medians of the values by llama-benchy's definitions, divided by those of the stamps: one batch
// that a client read late does not decide.
func toStamps(sessions []session, p place) figures {
	var of, stamps values
	for _, s := range sessions {
		own, from := s.customary[p], customary(s.truth[p])
		of.PP, of.TG = append(of.PP, own.PP...), append(of.TG, own.TG...)
		stamps.PP, stamps.TG = append(stamps.PP, from.PP...), append(stamps.TG, from.TG...)
	}
	return figures{PP: median(of.PP) / median(stamps.PP), TG: median(of.TG) / median(stamps.TG)}
}

// over divides figures by others.
func (f figures) over(o figures) figures { return figures{f.PP / o.PP, f.TG / o.TG, f.TTFT / o.TTFT} }

// less returns ratios as differences.
func (f figures) less() figures { return figures{f.PP - 1, f.TG - 1, f.TTFT - 1} }

// outside returns the figures that are more than a share away, or missing.
func outside(f figures, bounds figures) []string {
	var all []string
	for i, name := range []string{"pp", "tg", "TTFT"} {
		if bound := bounds.list()[i]; bound > 0 && !(math.Abs(f.list()[i]) <= bound) {
			all = append(all, fmt.Sprintf("%s %s (bound %.0f %%)", name, percent(f.list()[i]), 100*bound))
		}
	}
	return all
}

// table writes the rows of a server, and returns a line for each figure that is outside of its bound.
func (j judged) table(w io.Writer, cells []arena.Cell, truthOf func([][]request) figures) []string {
	var wrong []string
	for _, c := range cells {
		for _, p := range places(c) {
			stamps := func(s session) figures { return truthOf(s.truth[p]) }
			reported := func(s session) figures { return valueOr(s.reported, p) }
			truth, theirTruth := average(j.ours, stamps), average(j.theirs, stamps)
			ours, theirs := average(j.ours, reported).over(truth).less(), average(j.theirs, reported).over(theirTruth).less()
			// Each column to the stamps of its own sessions: a server that was slower meanwhile does not count.
			alike := toStamps(j.ours, p).over(toStamps(j.theirs, p)).less()
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s, %s |\n", j.name, p, truth.shown(), percents(ours), percents(theirs), percent(alike.PP), percent(alike.TG))
			for _, figure := range outside(ours, figures{mostError, mostError, mostError}) {
				wrong = append(wrong, fmt.Sprintf("%s, %s: measured %s", j.name, p, figure))
			}
			for _, figure := range outside(alike, figures{PP: mostPPApart, TG: mostTGApart}) {
				wrong = append(wrong, fmt.Sprintf("%s, %s: as llama-benchy %s", j.name, p, figure))
			}
		}
	}
	return wrong
}

// valueOr returns NaN for what a client does not report.
func valueOr(all map[place]figures, p place) figures {
	if f, is := all[p]; is {
		return f
	}
	nan := math.NaN()
	return figures{nan, nan, nan}
}

func (f figures) shown() string {
	return digits(f.PP) + ", " + digits(f.TG) + ", " + digits(f.TTFT) + " ms"
}

// digits shows four digits, and all of a number that has more before the point.
func digits(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

func percents(f figures) string {
	return percent(f.PP) + ", " + percent(f.TG) + ", " + percent(f.TTFT)
}

func percent(share float64) string {
	if math.IsNaN(share) {
		return "missing"
	}
	return fmt.Sprintf("%+.1f %%", 100*share)
}

// costs returns a line with the medians of a client's sessions.
func costs(name string, sessions []session) string {
	var cpu, peak []float64
	for _, s := range sessions {
		cpu, peak = append(cpu, s.cost.CPUSeconds), append(peak, float64(s.cost.PeakBytes)/(1<<20))
	}
	return fmt.Sprintf("%s: %.2f s of CPU (%.2f to %.2f), peak of %.0f MiB (%.0f to %.0f), %d sessions",
		name, median(cpu), slices.Min(cpu), slices.Max(cpu), median(peak), slices.Min(peak), slices.Max(peak), len(sessions))
}

// median is NaN without a value.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// judge reads the sessions in each folder, ROUND-ours and ROUND-theirs, and prints the table.
func judge(w io.Writer, args []string) error {
	set := flag.NewFlagSet("judge", flag.ContinueOnError)
	sizes := arena.Sizes{}
	for name, list := range map[string]*[]int{"pp": &sizes.PP, "tg": &sizes.TG, "depth": &sizes.Depth, "concurrency": &sizes.Concurrency} {
		set.Func(name, "as of uma-load arena", func(text string) (err error) {
			*list, err = arena.ParseList(text)
			return err
		})
	}
	set.IntVar(&sizes.Runs, "runs", 0, "as of uma-load arena")
	by := set.String("by", "stamps", "the truth: stamps, or timings of llama.cpp, which one request at a time has")
	if err := set.Parse(args); err != nil {
		return err
	}
	truths := map[string]func([][]request) figures{"stamps": stamped, "timings": timed}
	if truths[*by] == nil || set.NArg() == 0 || len(sizes.TG) != 1 {
		return errors.New("want --tg N, --by stamps or timings, and folders")
	}
	cells := sizes.Grid()
	shown := cells
	if *by == "timings" {
		shown = slices.DeleteFunc(slices.Clone(cells), func(c arena.Cell) bool { return c.Concurrency > 1 })
	}
	if len(shown) == 0 {
		return fmt.Errorf("no cell has a truth by %s", *by)
	}
	const head = "| server | cell | true pp, tg, TTFT | error of measured pp, tg, TTFT | error of llama-benchy's pp, tg, TTFT | our column to llama-benchy, pp, tg |\n| --- | --- | --- | --- | --- | --- |\n"
	var wrong []string
	var ours, theirs []session
	var rows strings.Builder
	for _, folder := range set.Args() {
		j, err := readJudged(folder, cells)
		if err != nil {
			return err
		}
		wrong = append(wrong, j.table(&rows, shown, truths[*by])...)
		ours, theirs = append(ours, j.ours...), append(theirs, j.theirs...)
	}
	fmt.Fprintf(w, "%s%s\n%s; %s.\n", head, rows.String(), costs("uma-load", ours), costs("llama-benchy", theirs))
	if len(wrong) > 0 {
		return errors.New("outside of the bounds:\n" + strings.Join(wrong, "\n"))
	}
	return nil
}

// readJudged reads the sessions of a server.
func readJudged(folder string, cells []arena.Cell) (judged, error) {
	j := judged{name: filepath.Base(folder)}
	for client, into := range map[string]*[]session{oursName: &j.ours, theirsName: &j.theirs} {
		folders, err := filepath.Glob(filepath.Join(folder, "*-"+client))
		if err != nil {
			return j, err
		}
		for _, one := range folders {
			s, err := readSession(one, cells)
			if err != nil {
				return j, err
			}
			*into = append(*into, s)
		}
		if len(*into) == 0 {
			return j, fmt.Errorf("%s: no session *-%s", folder, client)
		}
	}
	return j, nil
}
