package loadgen

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/arena"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/workload"
)

const arenaHelp = `Measure prompt processing and token generation at depth and concurrency.

  uma-load arena --url http://127.0.0.1:8000 --profile spark-arena-v2 --dry-run
  uma-load arena --url http://127.0.0.1:8000 --profile spark-arena-v2
  uma-load arena --url http://127.0.0.1:8000 --depth 0,4096 --concurrency 1,5

A run for each cell, side by side in one folder. A cell sends batches: all requests of a batch at one moment, the next batch when all have ended. With a depth, each batch follows one that leaves its contexts in the prefix cache. Prompts are slices of a book, cut to exact length by the server's own tokenizer; no two begin alike. By default the cells are those of the profile quick: depths 0 and 4096 by 1 and 5 requests at once.

Exit codes: 1 if it was interrupted or a run failed; 3 if a cell is INVALID; 4 if no cell keeps --slo. --resume goes on.`

// Orders of cells.
const (
	orderProfile = "profile"
	orderGiven   = "given"
	orderSeeded  = "seeded"
)

// Cells that have a warm-up.
const (
	warmupFirst = "first"
	warmupEach  = "each"
	warmupNone  = "none"
)

// arenaSettings are the flags of arena that a run does not have.
type arenaSettings struct {
	profile                        string
	sizes                          arena.Sizes
	exact, exactGiven              bool
	caching, cachingGiven          bool
	order, warmup                  string
	latency                        workload.LatencyProbe
	latencyGiven, estimate, dryRun bool
	cool                           cooling
	rates                          *arena.Rates
	resume                         string
	exports                        []exported
}

// arenaFlags declares the flags of arena, in the order of --help.
func arenaFlags(set terminal.FlagSet) (*arenaSettings, *settings) {
	a, s := &arenaSettings{}, &settings{}
	server.Flags(set, &s.Target, supported.Engines())
	server.ReadyFlags(set, &s.Target)
	terminal.Flag(set, "profile", "Cells: spark-arena-v2 (28), quick (4) or a benchmark profile of sparkrun, a file.", "", &a.profile, terminal.Text)
	terminal.Flag(set, "depth", "Tokens of context before the prompt, such as 0,4096. Of a profile, its cells with these.", "", &a.sizes.Depth, arena.ParseList)
	terminal.Flag(set, "concurrency", "Requests at one moment, such as 1,5. Of a profile, its cells with these.", "", &a.sizes.Concurrency, arena.ParseList)
	terminal.Flag(set, "pp", "Tokens of the prompt; default: the profile's, else 2048.", "", &a.sizes.PP, arena.ParseList)
	terminal.Flag(set, "tg", "Most tokens of the answer; default: the profile's, else 128.", "", &a.sizes.TG, arena.ParseList)
	terminal.Flag(set, "runs", "Batches to measure; default: the profile's, else 3.", "", &a.sizes.Runs, terminal.AtLeast(1))
	set.Flag("exact", "Ask for answers of exactly --tg tokens, if the engine can.").IsSetByUser(&a.exactGiven).BoolVar(&a.exact)
	set.Flag("prefix-caching", "Send the context of each request before it; --no-prefix-caching sends both at once.").Default("true").IsSetByUser(&a.cachingGiven).BoolVar(&a.caching)
	terminal.Flag(set, "order", "Order of the cells: profile, given (by depth, pp, tg, concurrency) or seeded (by --seed).", orderProfile, &a.order, terminal.OneOf(orderProfile, orderGiven, orderSeeded))
	terminal.Flag(set, "warmup", "Cells with a batch that is discarded: first, each or none.", warmupFirst, &a.warmup, terminal.OneOf(warmupFirst, warmupEach, warmupNone))
	terminal.Flag(set, "cool", "Wait before each cell until no GPU is above 60C, or a time such as 30s between two cells.", "0s", &a.cool, parseCooling)
	terminal.Flag(set, "latency", "Time without a load, that llama-benchy's figures leave out: api, generation or none.", string(workload.LatencyAPI), &a.latency, terminal.OneOf(workload.LatencyProbes()...)).IsSetByUser(&a.latencyGiven)
	set.Flag("estimate-lengths", "Send prompts of about the length to a server without a route for its tokenizer.").BoolVar(&a.estimate)
	set.Flag("dry-run", "Show cells, requests, tokens and what does not fit; measure nothing.").BoolVar(&a.dryRun)
	terminal.Flag(set, "rates", "Of --dry-run: tokens a second of prompts and of one answer, such as 3000,50, for the time.", "", &a.rates, parseRates)
	terminal.Flag(set, "resume", "Go on with an arena that was interrupted, by folder or ID; give its other flags again.", "", &a.resume, terminal.Text).PlaceHolder("ID")
	terminal.Flag(set, "export", "Files of llama-benchy to write: llama-benchy=FILE (its JSON), csv=FILE, md=FILE, with commas.", "", &a.exports, parseExports)
	workload.CellFlags(set, &s.Settings)
	terminal.Flag(set, "slo", "Limits of a good request, such as ttft=500ms; exit 4 if no cell keeps them.", "", &s.SLO, summary.ParseSLO)
	keepFlags(set, &s.keeping)
	set.Flag("save-outputs", "Keep what the model wrote, in outputs.jsonl.").BoolVar(&s.KeepOutputs)
	terminal.Flag(set, "engine-log", "Log file of the engine, for memory and KV cache; with --container not needed.", "", &s.EngineLog, terminal.Text).PlaceHolder("FILE")
	resultFlags(set, &s.results)
	progressFlag(set, &s.progress)
	return a, s
}

// ofArena returns the flags that describe the arena and not its runs, and must be the same when it is resumed.
func ofArena() []string {
	return []string{"profile", "depth", "concurrency", "pp", "tg", "runs", "exact", "prefix-caching", "order", "warmup", "cool", "latency", "estimate-lengths", "seed"}
}

// cooling is what is waited for between two cells.
type cooling struct {
	pause   time.Duration
	celsius float64 // 0 waits for no temperature
}

// parseCooling reads a temperature such as 60C, or a time.
func parseCooling(text string) (cooling, error) {
	if degrees, is := strings.CutSuffix(text, "C"); is {
		celsius, err := strconv.ParseFloat(degrees, 64)
		if err != nil || !(celsius >= 20 && celsius <= 100) {
			return cooling{}, fmt.Errorf("%q is not from 20C to 100C", text)
		}
		return cooling{celsius: celsius}, nil
	}
	pause, err := terminal.Duration(text)
	if err != nil {
		return cooling{}, fmt.Errorf("%q is neither a temperature such as 60C nor a time such as 30s", text)
	}
	return cooling{pause: pause}, nil
}

// parseRates reads the tokens a second of prompts and of one answer.
func parseRates(text string) (*arena.Rates, error) {
	prompts, answer, _ := strings.Cut(text, ",")
	pp, err := terminal.Positive(prompts)
	tg, wrong := terminal.Positive(answer)
	if err != nil || wrong != nil {
		return nil, fmt.Errorf("%q is not two rates, such as 3000,50", text)
	}
	return &arena.Rates{PP: pp, TG: tg}, nil
}

// plan returns the profile that the flags describe, its cells in the order of measurement, and fills in what the profile
// leaves open.
func (a *arenaSettings) plan(seed uint64) (arena.Profile, error) {
	if err := a.sizes.Check(); err != nil {
		return arena.Profile{}, err
	}
	p, err := a.cells()
	if err != nil {
		return p, err
	}
	if err := arena.Check(p.Cells); err != nil {
		return p, fmt.Errorf("--depth, --concurrency, --pp, --tg, --runs: %w", err)
	}
	switch a.order {
	case orderGiven:
		p.Cells = arena.Sort(p.Cells)
	case orderSeeded:
		p.Cells = arena.Shuffle(p.Cells, seed)
	}
	if a.exactGiven {
		p.Exact = a.exact
	}
	if a.cachingGiven {
		p.Caching = a.caching
	}
	if a.latencyGiven || p.Latency == "" {
		p.Latency = string(a.latency)
	}
	if !slices.Contains(workload.LatencyProbes(), workload.LatencyProbe(p.Latency)) {
		return p, fmt.Errorf("--profile: %s: latency_mode %.40q is not api, generation or none", p.Name, p.Latency)
	}
	return p, nil
}

// cells returns the cells of the profile, or those of the sizes alone.
func (a *arenaSettings) cells() (arena.Profile, error) {
	name := a.profile
	if name == "" {
		if a.sizes.Given() {
			return arena.Profile{Cells: a.sizes.Grid(), Caching: true}, nil
		}
		name = arena.Quick
	}
	p, err := arena.Open(name)
	if err != nil {
		return p, fmt.Errorf("--profile: %w", err)
	}
	p.Cells, err = a.sizes.Select(p.Cells)
	return p, err
}

// cellFlags returns the flags of a cell's run: the flags of all runs, and the cell's own.
func (a *arenaSettings) cellFlags(given []plan.Flag, p arena.Profile, c arena.Cell) []plan.Flag {
	flags := slices.Clone(given)
	number := strconv.Itoa
	flags = append(flags, plan.Flag{Name: "scenario", Value: workload.ScenarioArena}, plan.Flag{Name: "concurrency", Value: number(c.Concurrency)})
	caching, lengths := "on", "exact"
	if !p.Caching {
		caching = "off"
	}
	if a.estimate {
		lengths = "estimated"
	}
	for _, size := range [][2]string{
		{"depth", number(c.Depth)}, {"pp", number(c.PP)}, {"tg", number(c.TG)}, {"runs", number(c.Runs)},
		{"prefix.caching", caching}, {"latency", p.Latency}, {"lengths", lengths},
	} {
		flags = append(flags, plan.Flag{Name: "set", Value: size[0] + "=" + size[1]})
	}
	if p.Exact {
		flags = append(flags, plan.Flag{Name: "ignore-eos", Value: "true"})
	}
	return flags
}

// errResumeDry is the error of two flags that exclude each other.
var errResumeDry = errors.New("--dry-run: an arena that goes on has measured cells; leave out --resume")
