package exporter

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
)

const (
	unifiedMemoryPage = "UNIFIED_MEMORY.md"
	questionsPage     = "FAQ.md"
)

// TestThePageOnUnifiedMemoryShowsTheConstructedSpark: what the page says that explain prints is what it prints of that
// host, up to what it does not know.
func TestThePageOnUnifiedMemoryShowsTheConstructedSpark(t *testing.T) {
	golden := readText(t, filepath.Join("testdata", drawnHost+".explain.txt"))
	want, _, _ := strings.Cut(golden, "\n\nNot known")
	const begin, end = "```text\n", "\n```"
	before, rest, found := strings.Cut(readText(t, unifiedMemoryPage), begin)
	shown, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s shows nothing", unifiedMemoryPage)
	}
	switch {
	case *update:
		must(t, os.WriteFile(unifiedMemoryPage, []byte(before+begin+want+end+after), 0o644))
	case shown != want:
		t.Errorf("(write it anew with -update) the page shows\n%s\nwhere explain prints\n%s", shown, want)
	}
}

// TestFiguresOfThePageOnUnifiedMemoryAreThoseOfTheHost: those that explain does not print, too.
func TestFiguresOfThePageOnUnifiedMemoryAreThoseOfTheHost(t *testing.T) {
	p := drawnPool(t)
	gpu, unattributed := p.lines[ledger.GPUProcess], p.lines[ledger.Unattributed]
	page := strings.Join(strings.Fields(readText(t, unifiedMemoryPage)), " ")
	wantIn(t, page,
		gib(gpu)+" that the driver names, "+gib(p.total-gpu-unattributed)+" that the kernel names (free and managed memory included), "+gib(unattributed)+" that neither does",
		"| `docker stats` | "+gib(p.dockerStats())+" GiB | what is charged ("+gib(p.charged)+" GiB) less idle page cache. Of "+gib(p.held)+" GiB by the GPU: nothing |",
		"| `free`, used | "+gib(p.used())+" GiB |",
		"| `free`, available | "+gib(p.available)+" GiB |",
		"| `cudaMemGetInfo`, free | "+gib(p.memFree)+" GiB |",
		gib(p.used())+" + "+gib(gpu)+" is "+gib(p.used()+gpu)+" GiB, on a machine of "+gib(p.total),
		gib(p.charged)+" + "+gib(p.held)+" is what that container takes",
	)
}

// TestTheQuestionsNameTheBoundsOfTheAlerts: a bound that is changed is changed there too.
func TestTheQuestionsNameTheBoundsOfTheAlerts(t *testing.T) {
	bounds, pool := metric.AlertThresholds(), drawnPool(t).total
	page := strings.Join(strings.Fields(readText(t, questionsPage)), " ")
	share := func(f metric.Floor) string { return metric.Decimal(f.Share*100) + " %" }
	if bounds.AvailableWarning.Share*float64(pool) > bounds.AvailableWarning.Bytes {
		t.Error("on a Spark it is not the share that bounds")
	}
	wantIn(t, page,
		"MemoryAvailableLow fires below "+share(bounds.AvailableWarning)+" of the pool ("+fmt.Sprintf("%.1f", bounds.AvailableWarning.Share*float64(pool)/(1<<30))+
			" GiB of "+gib(pool)+") while memory is waited for or falls, and below "+share(bounds.AvailableCritical)+" in any case",
		"MemFreeLowWhileLoading below "+metric.BinaryBytes(bounds.FreeWhileLoadingBytes)+" of MemFree",
		"MemoryFragmented fires below "+metric.BinaryBytes(bounds.FragmentedBytes)+" in blocks of 2 MiB",
	)
}

var (
	fencedBlock = regexp.MustCompile("(?s)```.*?```")
	seriesName  = regexp.MustCompile(`^uma_[a-z_]+$`)
	flagSpan    = regexp.MustCompile(`^--[a-z][a-z._-]*`)
	alertName   = regexp.MustCompile(`\b(?:alert|Alert|\() ?\[?((?:[A-Z][A-Za-z]*){2,})`)
)

// TestThePagesOnMemoryNameWhatThereIs: series, alerts, and flags that are ours or that the page says whose they are.
func TestThePagesOnMemoryNameWhatThereIs(t *testing.T) {
	series := map[string]bool{}
	for _, d := range metric.All() {
		series[d.Def().Name] = true
	}
	line, err := parse([]string{"explain"}, io.Discard, io.Discard)
	must(t, err)
	flags := map[string]bool{"--memory": true, "--pid": true, "--gpu-memory-utilization": true, "--mem-fraction-static": true, "--kv_cache_free_gpu_memory_fraction": true, "--ctx-size": true} // of Docker, of engines
	for _, command := range line.app.Model().Commands {
		for _, f := range command.Flags {
			flags["--"+f.Name] = true
		}
	}
	for _, f := range line.app.Model().Flags {
		flags["--"+f.Name] = true
	}
	alerts := readText(t, "../alerts/runbooks.md")
	named := 0
	for _, page := range []string{unifiedMemoryPage, questionsPage} {
		text := readText(t, page)
		prose := fencedBlock.ReplaceAllString(text, "")
		for _, span := range codeSpan.FindAllStringSubmatch(prose, -1) {
			for word := range strings.FieldsSeq(span[1]) {
				if seriesName.MatchString(word) {
					if named++; !series[word] {
						t.Errorf("%s: there is no series %s", page, word)
					}
				}
				if flag := flagSpan.FindString(word); flag != "" && !flags[flag] {
					t.Errorf("%s: nobody has a flag %s", page, flag)
				}
			}
		}
		for _, match := range alertName.FindAllStringSubmatch(prose, -1) {
			if named++; !strings.Contains(alerts, "\n| ["+match[1]+"](") {
				t.Errorf("%s: there is no alert %s", page, match[1])
			}
		}
	}
	if named < 20 {
		t.Errorf("%d names were found", named)
	}
}
