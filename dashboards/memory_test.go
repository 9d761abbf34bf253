package dashboards

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// A size without a line of its own would be missing from the panel.
func TestEverySizeOfBlockOfTheExporterIsDrawnWithItsUnit(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "exporter", "testdata", "gb10-load.prom"))
	if err != nil {
		t.Fatal(err)
	}
	var exported, drawn []string
	for _, match := range regexp.MustCompile(`uma_memory_free_contiguous_bytes\{min_block_bytes="(\d+)"\}`).FindAllStringSubmatch(string(page), -1) {
		exported = append(exported, match[1])
	}
	for _, b := range blocks() {
		drawn = append(drawn, b.bytes)
		if !regexp.MustCompile(`^\d+ [KM]iB$`).MatchString(b.title) {
			t.Errorf("%s bytes are called %s", b.bytes, b.title)
		}
	}
	slices.Sort(exported)
	slices.Sort(drawn)
	if len(exported) == 0 || !slices.Equal(exported, drawn) {
		t.Errorf("drawn %v, told %v", drawn, exported)
	}
}
