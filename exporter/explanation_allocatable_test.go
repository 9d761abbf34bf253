package exporter

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/fit"
	"github.com/umascope/umascope/exporter/hostfs"
)

// TestFreeMemoryInCMAIsNamedWithItsFix: CmaFree > CmaTotal tells of kexec handover, on kernel 7.0.0-1019 for instance.
func TestFreeMemoryInCMAIsNamedWithItsFix(t *testing.T) {
	texts := func(name string) map[string]string {
		var doctor, explain bytes.Buffer
		must(t, openHostNamed(t, name).Doctor(t.Context(), &doctor))
		must(t, openHostNamed(t, name).Explain(t.Context(), &explain))
		return map[string]string{"doctor": doctor.String(), "explain": explain.String()}
	}
	for verb, text := range texts("gb10-cma") {
		for _, want := range []string{"9.30 GiB of free memory are in CMA, for which 0.00 GiB were reserved (CmaFree > CmaTotal)", "kho=off", "NV-Kernels/pull/591", "DSpark-2x-DGX-Spark/issues/259"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not print %q:\n%s", verb, want, text)
			}
		}
	}
	for _, name := range []string{"gb10-idle", "gh200", "old-kernel", "no-gpu"} {
		for verb, text := range texts(name) {
			if strings.Contains(text, "kho=off") {
				t.Errorf("%s of %s names kho=off without CmaFree > CmaTotal", verb, name)
			}
		}
	}
}

func TestOnlyMoreCMAThanWasReservedIsHandover(t *testing.T) {
	for _, c := range []struct {
		name    string
		meminfo hostfs.Meminfo
		want    uint64
	}{
		{"no CMA in the kernel", hostfs.Meminfo{"MemFree": 100}, 0},
		{"none reserved, none free", hostfs.Meminfo{"CmaTotal": 0, "CmaFree": 0}, 0},
		{"an ordinary area", hostfs.Meminfo{"CmaTotal": 64, "CmaFree": 60}, 0},
		{"an area that is all free", hostfs.Meminfo{"CmaTotal": 64, "CmaFree": 64}, 0},
		{"handover beside an area", hostfs.Meminfo{"CmaTotal": 64, "CmaFree": 9000}, 8936},
		{"handover alone", hostfs.Meminfo{"CmaTotal": 0, "CmaFree": 9000}, 9000},
		{"the size of the area is not stated", hostfs.Meminfo{"CmaFree": 9000}, 0},
	} {
		if got := (collector.MemoryReading{Meminfo: c.meminfo}).HandoverBytes(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestTheStepsToWhatFitGrantsAddUp: explain and fit name one sum.
func TestTheStepsToWhatFitGrantsAddUp(t *testing.T) {
	checked := 0
	eachMachine(t, func(t *testing.T, name string) {
		x, err := openHostNamed(t, name).explanation(t.Context())
		must(t, err)
		if x.Memory == nil || x.Memory.Allocatable == nil {
			return
		}
		checked++
		steps := x.Memory.AllocatableSteps()
		if sum := max(0, steps[1].Bytes.Low+steps[2].Bytes.Low); sum != steps[3].Bytes.Low || len(steps) != 4 {
			t.Errorf("%d of %+v", sum, steps)
		}
		report, err := newFitReport(&x, nil, fitFlags{reserveGiB: -1, gpu: -1, engines: supported.Engines()})
		must(t, err)
		if granted := report.GPU.memory.Budget(); granted != steps[3].Bytes.Low {
			t.Errorf("explain has %d, fit %d", steps[3].Bytes.Low, granted)
		}
		if free, known := x.Memory.free(); !known || free != float64(x.Memory.Allocatable.CUDAFree) {
			t.Errorf("the ledger has %.0f free, CUDA reports %d", free, x.Memory.Allocatable.CUDAFree)
		}
	})
	if checked < 3 {
		t.Errorf("%d machines have a GPU that takes from the pool", checked)
	}
}

// TestThePageNamesTheEnginesAsTheProgramDoes: FAQ_USE.md has the table of what each engine takes, in the words of fit.
func TestThePageNamesTheEnginesAsTheProgramDoes(t *testing.T) {
	const begin, end = "<!-- engines -->\n", "<!-- /engines -->"
	page := readText(t, "FAQ_USE.md")
	before, rest, found := strings.Cut(page, begin)
	written, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("FAQ_USE.md has no table between %q and %q", begin, end)
	}
	table := "| engine | flag | what the flag means |\n| --- | --- | --- |\n"
	sized := fit.Sizing(supported.Engines())
	for i, grant := range fit.Engines(supported.Engines(), spec.GPUMemory{Total: 100 << 30, Free: 80 << 30, Available: 80 << 30}, new(int64(10<<30))) {
		release, flag := sized[i].Release(), "none"
		if grant.Flag != "" {
			flag = "`" + grant.Flag + "`"
		}
		if strings.Contains(grant.Meaning, "what CUDA reports as free") != sized[i].Sizing.CUDAFree {
			t.Errorf("%s: CUDAFree is %v: %s", release, sized[i].Sizing.CUDAFree, grant.Meaning)
		}
		table += "| " + release + " | " + flag + " | " + strings.TrimSuffix(grant.Meaning, " ("+release+")") + " |\n"
	}
	switch {
	case *update:
		must(t, os.WriteFile("FAQ_USE.md", []byte(before+begin+table+end+after), 0o644))
	case written != table:
		t.Errorf("FAQ_USE.md differs from (write it anew with -update)\n%s", table)
	}
}
