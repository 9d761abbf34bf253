package exporter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
)

const unifiedMemoryPage = "UNIFIED_MEMORY.md"

// TestThePageOnUnifiedMemoryShowsTheConstructedSpark: what the page says that explain prints is what it prints of that
// host, up to what it does not know.
func TestThePageOnUnifiedMemoryShowsTheConstructedSpark(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join("testdata", drawnHost+".explain.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := strings.Cut(string(golden), "\n\nNot known")
	_, shown, found := strings.Cut(unifiedMemory(t), "```text\n")
	shown, _, _ = strings.Cut(shown, "\n```")
	if !found || shown != want {
		t.Errorf("the page shows\n%s\nwhere explain prints\n%s", shown, want)
	}
}

// TestFiguresOfThePageOnUnifiedMemoryAreThoseOfTheHost: those that explain does not print, too.
func TestFiguresOfThePageOnUnifiedMemoryAreThoseOfTheHost(t *testing.T) {
	p := drawnPool(t)
	gpu, nobody := p.lines[metric.LineGPUProcess], p.lines[metric.LineUnattributed]
	page := strings.Join(strings.Fields(unifiedMemory(t)), " ")
	for _, says := range []string{
		gib(gpu) + " that the driver names, " + gib(p.total-gpu-nobody) + " that the kernel names (free and managed memory included), " + gib(nobody) + " that nobody does",
		"| `docker stats` | " + gib(p.dockerStats()) + " GiB | what is charged (" + gib(p.charged) + " GiB) less idle page cache. Of " + gib(p.held) + " GiB by the GPU: nothing |",
		"| `free`, used | " + gib(p.used()) + " GiB |",
		"| `free`, available | " + gib(p.available) + " GiB |",
		"| `cudaMemGetInfo`, free | " + gib(p.memFree) + " GiB |",
		gib(p.used()) + " + " + gib(gpu) + " is " + gib(p.used()+gpu) + " GiB, on a machine of " + gib(p.total),
		gib(p.charged) + " + " + gib(p.held) + " is what that container takes",
	} {
		if !strings.Contains(page, says) {
			t.Errorf("the page does not say %q", says)
		}
	}
}

func unifiedMemory(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(unifiedMemoryPage)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
