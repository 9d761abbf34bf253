package exporter

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/nvml"
)

func TestTheAnswerOfRecordedMachines(t *testing.T) {
	for name, want := range map[string]string{
		"gb10-load":    "CONSTRUCTED: 115.0 of 121.7 GiB occupied: vLLM 93.8, anonymous 11.0, page cache 6.1, other 4.1; CUDA reports 6.7 GiB free; up to 12.8 GiB if page cache is given up (not tried on a GB10); fit grants 5.5, since machines were seen to die below 7 of 119 GiB.",
		"h200-load":    "REPLAY: host 9.1 of 125.9 GiB occupied: page cache 5.1, shared 2.0, other 2.0; GPU 61.9 of 139.8 GiB occupied: python3 61.9; CUDA reports 77.9 GiB free; fit grants 66.8.",
		"h200x2":       "REPLAY: host 9.2 of 251.8 GiB occupied: page cache 5.0, other 4.2; 2 GPUs 72.5 of 279.6 GiB occupied: python3 72.5; CUDA reports 77.9 GiB free on GPU 0 (fit grants 66.8), 129.2 GiB free on GPU 1 (fit grants 118.0).",
		"gh200":        "CONSTRUCTED: 294.8 of 573.6 GiB occupied: page cache 180.0, vLLM 78.5, anonymous 20.6, shared 6.0, other 9.7; CUDA reports 11.5 GiB free; fit grants 3.9.",
		"gb10-cma":     "CONSTRUCTED: 13.9 of 121.7 GiB occupied: anonymous 6.3, page cache 5.5, other 2.1; CUDA reports 107.8 GiB free, 9.3 of it in CMA, which a driver cannot pin; up to 103.8 GiB if page cache is given up (not tried on a GB10); fit grants 96.5, since machines were seen to die below 7 of 119 GiB.",
		"mig":          "CONSTRUCTED: host 13.9 of 121.7 GiB occupied: anonymous 6.3, page cache 5.5, other 2.1; GPU 38.1 of 79.0 GiB occupied: vLLM 30.0, python3 8.0, other 0.1; CUDA reports 40.9 GiB free.",
		"no-gpu":       "REPLAY: 1.9 of 23.5 GiB occupied: page cache 1.6, other 0.3.",
		simulatedSpark: "SIMULATED: 109.3 of 121.7 GiB occupied: vLLM 94.0, anonymous 10.2, page cache 1.7, other 3.4; CUDA reports 12.4 GiB free; up to 13.7 GiB if page cache is given up (not tried on a GB10); fit grants 6.4, since machines were seen to die below 7 of 119 GiB.",
	} {
		x, err := openHostNamed(t, name).explanation(t.Context())
		must(t, err)
		if x.Answer != want {
			t.Errorf("%s:\n got %s\nwant %s", name, x.Answer, want)
		}
	}
}

var (
	memoryOfAnswer = regexp.MustCompile(`(-?[0-9.]+) of ([0-9.]+) GiB occupied(?:: ([^;]*))?`)
	freeOfAnswer   = regexp.MustCompile(`CUDA reports (-?[0-9.]+) GiB free`)
	partOfAnswer   = regexp.MustCompile(` (-?[0-9]+\.[0-9])(?:,|\.?$)`)
)

// checkAnswer checks that the figures of a sentence add up as they are printed.
func checkAnswer(t *testing.T, answer string) {
	t.Helper()
	tenths := func(text string) int64 {
		gib, err := strconv.ParseFloat(text, 64)
		must(t, err)
		return int64(math.Round(10 * gib))
	}
	found := memoryOfAnswer.FindAllStringSubmatch(answer, -1)
	for _, memory := range found {
		var sum int64
		for _, part := range partOfAnswer.FindAllStringSubmatch(memory[3], -1) {
			sum += tenths(part[1])
		}
		if memory[3] != "" && sum != tenths(memory[1]) {
			t.Errorf("the parts are %d tenths: %s", sum, answer)
		}
	}
	if len(found) == 0 || !strings.HasSuffix(answer, ".") || strings.Contains(answer, "\n") {
		t.Errorf("no sentence: %q", answer)
	}
	if reports := freeOfAnswer.FindAllStringSubmatch(answer, -1); len(reports) == 1 && len(found) == 1 {
		free := tenths(reports[0][1])
		if occupied, pool := tenths(found[0][1]), tenths(found[0][2]); occupied+free != pool {
			t.Errorf("%d occupied and %d free of %d: %s", occupied, free, pool, answer)
		}
	}
}

func TestTheAnswerAddsUp(t *testing.T) {
	eachHost(t, func(t *testing.T, name string) {
		x, err := openHostNamed(t, name).explanation(t.Context())
		must(t, err)
		if name != "gh200" { // where CUDA reports a part of the pool
			checkAnswer(t, x.Answer)
		}
	})
}

// FuzzAnswerAddsUp rounds a pool of an integrated GPU with two processes.
func FuzzAnswerAddsUp(f *testing.F) {
	f.Add(int64(7e9), int64(1e11), int64(2e8), int64(1.1e10), int64(-3e8))
	f.Add(int64(0), int64(0), int64(0), int64(0), int64(0))
	f.Add(int64(1<<30/20), int64(1<<30/20), int64(1<<30/20), int64(1<<30/20), int64(1<<30/20-1))
	f.Fuzz(func(t *testing.T, free, first, second, cache, rest int64) {
		const most = 1 << 44
		for _, size := range []*int64{&free, &first, &second, &cache} {
			*size = int64(uint64(*size) % most)
		}
		rest %= most / 16
		pool := max(0, free+first+second+cache+rest)
		rest = pool - free - first - second - cache
		held := first + second
		one, two := uint64(first), uint64(second)
		x := explanation{Mode: collector.Live, Memory: &memoryAccount{
			PoolBytes: uint64(pool), Architecture: nvml.Integrated,
			Lines:   []ledger.Line{{Name: ledger.Free, Bytes: float64(free)}, {Name: ledger.GPUProcess, Bytes: float64(held)}, {Name: ledger.PageCache, Bytes: float64(cache)}, {Name: ledger.Unattributed, Bytes: float64(rest)}},
			Holders: []holder{{Bytes: &one, Comm: "a"}, {Bytes: &two, Comm: "b"}},
		}}
		checkAnswer(t, x.answer())
	})
}

func TestTheAnswerWithoutFiguresIsASentence(t *testing.T) {
	for want, x := range map[string]explanation{
		"The memory of this machine could not be read.":                                    {Mode: collector.Live},
		"REPLAY: The memory of this machine could not be read.":                            {Mode: collector.Replay},
		"How much memory is occupied is not known: the kernel does not state free memory.": {Mode: collector.Live, Memory: &memoryAccount{Lines: []ledger.Line{{Name: ledger.Free, Unknown: true}}}},
	} {
		if got := x.answer(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestProcessesOfOneNameOrEngineAreOnePart: an engine can have a process for each GPU, and one may have ended before it was named.
func TestProcessesOfOneNameOrEngineAreOnePart(t *testing.T) {
	held := func(n uint64) *uint64 { n <<= 30; return &n }
	x := explanation{Mode: collector.Live, Memory: &memoryAccount{
		PoolBytes: 100 << 30, Architecture: nvml.Integrated,
		Lines:   []ledger.Line{{Name: ledger.GPUProcess, Bytes: 70 << 30}, {Name: ledger.Free, Bytes: 30 << 30}},
		Holders: []holder{{Bytes: held(40), Comm: "engine"}, {Bytes: held(20), Comm: "engine"}, {Bytes: held(10), PID: 7}, {Comm: "unknown"}},
	}}
	if got, want := x.answer(), "70.0 of 100.0 GiB occupied: engine 60.0, process 7 10.0; CUDA reports 30.0 GiB free; what can be allocated is not known."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	x.Memory.Holders = []holder{{Bytes: held(30), Comm: "VLLM::Worker_TP"}, {Bytes: held(30), Comm: "VLLM::EngineCor"}, {Bytes: held(10), Comm: "llama-server"}}
	if got, want := x.answer(), "70.0 of 100.0 GiB occupied: vLLM 60.0, llama.cpp 10.0; CUDA reports 30.0 GiB free; what can be allocated is not known."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
