package exporter

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/metric"
)

var update = flag.Bool("update", false, "write the golden pages anew")

// eachHost runs the test on every recorded and constructed host: adding one adds its tests.
func eachHost(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	if len(hostNames()) == 0 {
		t.Fatal("no hosts")
	}
	for _, name := range hostNames() {
		t.Run(name, func(t *testing.T) { test(t, name) })
	}
}

func openHostNamed(t testing.TB, name string) *Exporter {
	t.Helper()
	host, options := openMachine(t, name)
	t.Cleanup(host.Close)
	e := exporterOf(t, host, Settings{Options: options, HideOwnMetrics: true})
	return e
}

// renderPage is the normalised page of a host, through the client library, which checks types, labels
// and duplicates.
func renderPage(t *testing.T, name string) []byte {
	t.Helper()
	scrape, err := openHostNamed(t, name).runner.Scrape(t.Context())
	must(t, err)
	families, err := prometheus.Gatherers{scrape}.Gather()
	must(t, err)
	var page bytes.Buffer
	encoder := expfmt.NewEncoder(&page, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, family := range families {
		must(t, encoder.Encode(family))
	}
	return normalise(page.Bytes())
}

// normalise puts what differs from run to run to 0 and the build to "test".
func normalise(page []byte) []byte {
	text := regexp.MustCompile(`(?m)^(uma_collector_(?:duration_seconds|last_success_timestamp_seconds)\{.*\}) .*$`).ReplaceAll(page, []byte("$1 0"))
	return regexp.MustCompile(`(?m)^uma_exporter_build_info\{.*$`).ReplaceAll(text, []byte(`uma_exporter_build_info{goversion="test",revision="test",version="test"} 1`))
}

// compareGolden compares byte by byte, or writes the file with -update.
func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		must(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (write it with -update)", err)
	}
	if bytes.Equal(got, want) {
		return
	}
	gotLines, wantLines := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("%s differs from line %d on (write it anew with -update):\n got %s\nwant %s", path, i+1, lineAt(gotLines, i), lineAt(wantLines, i))
		}
	}
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end)"
}

func TestGoldenPages(t *testing.T) {
	eachMachine(t, func(t *testing.T, name string) {
		compareGolden(t, filepath.Join("testdata", name+".prom"), renderPage(t, name))
	})
}

func TestGoldenPagesPassTheMetricLinter(t *testing.T) {
	eachMachine(t, func(t *testing.T, name string) {
		page, err := os.ReadFile(filepath.Join("testdata", name+".prom"))
		must(t, err)
		problems, err := promlint.New(bytes.NewReader(page)).Lint()
		must(t, err)
		for _, problem := range problems {
			t.Errorf("%s: %s", problem.Metric, problem.Text)
		}
		if !regexp.MustCompile(`(?m)^uma_memory_pool_bytes `).Match(page) {
			t.Error("the page has no series")
		}
	})
}

// TestGoldenPagesHoldEveryDefinition finds series that are declared and emitted nowhere. An
// exception that is on a page after all must go.
func TestGoldenPagesHoldEveryDefinition(t *testing.T) {
	found, pages := goldenFamilies(t)
	exceptions := map[string]string{
		metric.GPUCallHung.Def().Name:                   "a recording has no call that did not return; TestCallThatHangsCostsOnlyWhatComesAfterIt has one",
		metric.KVBMConfiguredCacheBytes.Def().Name:      "is told by environments, which are never recorded; TestEnvironmentTellsTheTiersThatAnEngineWasStartedWith has some",
		metric.KVBMDiskFilterEnabled.Def().Name:         "the same; TestTheDiskFilterIsOnUnlessTheEnvironmentDisablesIt has some",
		metric.KVBMDiskFileInfo.Def().Name:              "the device of a recorded file is not recorded; TestTheTiersFileHasItsDriveOnALiveMachineOnly has one",
		metric.EngineDiscoverySockets.Def().Name:        "nothing is looked for on the machine that shows a recording; TestAnEngineIsFoundByTheSocketOfItsProcess has some",
		metric.GPUFanRatio.Def().Name:                   "no recorded board has a fan of its own",
		metric.DriverLogLinesTotal.Def().Name:           "a recording has no kernel log; TestLinesOfTheDriverAreCountedFromTheStartOfTheExporter has one",
		metric.DriverLogXIDLinesTotal.Def().Name:        "the same",
		metric.DriverLogOverrunsTotal.Def().Name:        "the same",
		metric.KernelAllocationFailuresTotal.Def().Name: "the same",
		metric.EngineKVMovedBytesTotal.Def().Name:       "no engine of a recorded machine offloads its KV cache by itself; TestTheCopiesOfAnEnginesOwnTiersAreSeriesByRoute has some",
		metric.EngineKVMovedTokensTotal.Def().Name:      "the same",
		metric.EngineKVEvictedTokensTotal.Def().Name:    "the same",
		metric.EngineKVTierCapacityBytes.Def().Name:     "no recorded machine has a server of LMCache or Mooncake; TestThePageOfLMCachesServerWorkedOutByHand has one",
		metric.EngineKVTierDirectIO.Def().Name:          "no recorded machine has vLLM with SimpleCPUOffloadConnector; TestATierInFilesSaysWhetherItUsesThePageCache has one",
	}
	for _, m := range recorderDefinitions() {
		exceptions[m.Def().Name] = "a recording is not recorded; TestARecorderIsOnThePageWithItsCostAndThePreviousEnd has them"
	}
	if !bytes.Contains(pages, []byte(`memory_architecture="discrete"`)) {
		for _, m := range onlyWithOwnMemory() {
			exceptions[m.Def().Name] = "no recorded GPU has memory of its own"
		}
	}
	for _, definer := range exporterDefinitions() {
		name := definer.Def().Name
		if reason, excepted := exceptions[name]; found[name] == excepted {
			t.Errorf("%s: on a golden page: %v, excepted: %v %s", name, found[name], excepted, reason)
		}
		delete(found, name)
	}
	for name := range found {
		t.Errorf("%s is on a page and not in the vocabulary", name)
	}
}

// onlyWithOwnMemory are families that integrated GPUs do not support.
func onlyWithOwnMemory() []metric.Definer {
	return []metric.Definer{
		metric.GPUMemoryTotalBytes, metric.GPUMemoryUsedBytes, metric.GPUMemoryFreeBytes, metric.GPUMemoryReservedBytes,
		metric.GPUMemoryUtilizationRatio, metric.GPUMemoryClockHertz, metric.GPUPowerLimitWatts,
		metric.GPUTemperatureMarginCelsius, metric.GPUECCErrorsTotal, metric.GPURemappedRows,
	}
}

func recorderDefinitions() []metric.Definer {
	return []metric.Definer{
		metric.RecorderUp, metric.RecorderRecordsTotal, metric.RecorderErrorsTotal, metric.RecorderWrittenBytesTotal,
		metric.RecorderWriteSecondsTotal, metric.RecorderPreviousBootEnd, metric.RecorderBootTimestampSeconds,
	}
}

// goldenFamilies parses all golden pages; the text of all of them comes too.
func goldenFamilies(t *testing.T) (families map[string]bool, pages []byte) {
	t.Helper()
	families = map[string]bool{}
	for _, name := range machineNames() {
		page, err := os.ReadFile(filepath.Join("testdata", name+".prom"))
		must(t, err)
		pages = append(pages, page...)
		parser := expfmt.NewTextParser(model.UTF8Validation)
		parsed, err := parser.TextToMetricFamilies(bytes.NewReader(page))
		must(t, err)
		for family := range parsed {
			families[family] = true
		}
	}
	return families, pages
}

// exporterDefinitions is the vocabulary less the load generator's parts.
func exporterDefinitions() []metric.Definer {
	var all []metric.Definer
	for _, subject := range metric.Subjects() {
		if !slices.Contains([]string{"Load", "Results", "Comparisons", "uma-view"}, subject.Title) {
			all = append(all, subject.Defs...)
		}
	}
	return all
}

// TestEveryDefinitionBelongsToOneCollector keeps specs and vocabulary together.
func TestEveryDefinitionBelongsToOneCollector(t *testing.T) {
	owners := map[string]int{}
	for _, spec := range collector.All() {
		for _, definer := range spec.Metrics {
			owners[definer.Def().Name]++
		}
	}
	for _, definer := range exporterDefinitions() {
		name := definer.Def().Name
		isHealth := strings.HasPrefix(name, "uma_collector_") || strings.HasPrefix(name, "uma_exporter_")
		if (owners[name] == 1) == isHealth {
			t.Errorf("%s has %d collectors", name, owners[name])
		}
	}
}

func TestGoldenExplanations(t *testing.T) {
	eachMachine(t, func(t *testing.T, name string) {
		var out bytes.Buffer
		must(t, openHostNamed(t, name).Explain(context.Background(), &out))
		compareGolden(t, filepath.Join("testdata", name+".explain.txt"), out.Bytes())
	})
}

func TestGoldenFits(t *testing.T) {
	eachMachine(t, func(t *testing.T, name string) {
		var out bytes.Buffer
		must(t, openHostNamed(t, name).Fit(context.Background(), &out, ""))
		compareGolden(t, filepath.Join("testdata", name+".fit.txt"), out.Bytes())
	})
}

// TestGoldenFilesHaveTheirHost finds pages of hosts that are gone.
func TestGoldenFilesHaveTheirHost(t *testing.T) {
	entries, err := os.ReadDir("testdata")
	must(t, err)
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry.Name(), ".")
		if !slices.Contains(machineNames(), name) && !entry.IsDir() {
			t.Errorf("%s belongs to no host", entry.Name())
		}
	}
}
