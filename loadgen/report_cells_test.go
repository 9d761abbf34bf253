package loadgen

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
)

// importedCells imports a file of llama-benchy and returns the folder of its runs.
func importedCells(t *testing.T, file string) string {
	t.Helper()
	out := t.TempDir()
	if code, text, errs := invokeVerb(t, "import", "--format", "llama-benchy", "--out", out, file); code != exitDone {
		t.Fatalf("%d\n%s%s", code, text, errs)
	}
	return out
}

// TestCellsAreReportedInBothColumnsAndAsFilesOfLlamaBenchy, and what is written is imported with the same figures.
func TestCellsAreReportedInBothColumnsAndAsFilesOfLlamaBenchy(t *testing.T) {
	cells := importedCells(t, "importer/testdata/llama-benchy-0.4.0.json")
	for form, want := range map[string]string{
		formCells:          "tg16 @ d1024 (c2)    88.54 ± 0.25",
		formCellsMarkdown:  "| ctx\\_pp @ d1024 (c1) |",
		"llama-benchy":     `"pp_throughput": {`,
		"llama-benchy-csv": "sim/simulated-8b,ctx_pp @ d1024 (c1),",
		"llama-benchy-md":  "|:-----------------|--------------------:|",
	} {
		code, text, errs := invokeVerb(t, "report", cells, "--format", form)
		if code != exitDone || !strings.Contains(text, want) || errs != "" {
			t.Errorf("--format %s: %d, no %q in\n%s%s", form, code, want, text, errs)
		}
	}
	file := filepath.Join(t.TempDir(), "cells.json")
	if code, text, errs := invokeVerb(t, "report", cells, "--format", "llama-benchy", "--out", file); code != exitDone || text != "" {
		t.Fatalf("%d\n%s%s", code, text, errs)
	}
	again := importedCells(t, file)
	_, first, _ := invokeVerb(t, "report", cells, "--format", "llama-benchy-csv")
	code, second, errs := invokeVerb(t, "report", again, "--format", "llama-benchy-csv")
	if code != exitDone || first != second {
		t.Errorf("%d: %s\n%s\nis not\n%s", code, errs, second, first)
	}
}

// TestARunThatIsNoCellIsNamed, with what it lacks, and nothing is written.
func TestARunThatIsNoCellIsNamed(t *testing.T) {
	cells := importedCells(t, "importer/testdata/llama-benchy-0.4.0.json")
	runs, err := filepath.Glob(filepath.Join(cells, "*", rundir.ManifestFile))
	if err != nil || len(runs) != 6 {
		t.Fatal(runs, err)
	}
	manifest, err := os.ReadFile(runs[2])
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		strings.Replace(string(manifest), `"depth":`, `"deep":`, 1):                            "the run is no cell: it lacks the labels depth",
		strings.Replace(string(manifest), `"depth": "`, `"depth": "x`, 1):                      "the run is no cell: its label depth is \"x",
		strings.Replace(string(manifest), `"format": "llama-benchy"`, `"format": "aiperf"`, 1): "the run is no cell: its figures are of llama-benchy, by other definitions",
	} {
		overwrite(t, runs[2], text)
		file := filepath.Join(t.TempDir(), "cells.json")
		code, out, errs := invokeVerb(t, "report", cells, "--format", "llama-benchy", "--out", file)
		if code != exitUsage || out != "" || !strings.Contains(errs, want) || !strings.Contains(errs, filepath.Dir(runs[2])) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%d, want %q:\n%s%s", code, want, out, errs)
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("a file was written")
		}
	}
}

// TestArenaExportsTheFilesThatReportWrites by their short names, and by those of report --format.
func TestArenaExportsTheFilesThatReportWrites(t *testing.T) {
	for _, f := range benchyFiles() {
		if !slices.Contains(cellFormats(), f.format) {
			t.Errorf("report has no --format %s", f.format)
		}
		for _, name := range []string{f.short, f.format} {
			if all, err := parseExports(name + "=x"); err != nil || len(all) != 1 || all[0].format != f.format || all[0].path != "x" {
				t.Errorf("%s=x: %v, %v", name, all, err)
			}
		}
		for _, wrong := range []string{f.short + "=", f.short + "=x," + f.format + "=y", f.format + "s=x"} {
			if _, err := parseExports(wrong); err == nil {
				t.Errorf("%s is accepted", wrong)
			}
		}
	}
}
