// Package cmd holds the mains. This test is the architecture, written so that it can fail:
// who may import whom, what a binary may link, how large things may get.
package cmd_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/umascope/umascope/"

// mayImport is the house: a package and all of ours that its non-test files may import. A package that is not here does not
// exist; an entry that is not needed is removed. Engines and the list of them are in TestEnginesAreDataAndParsers, so that a
// new engine needs no entry.
var mayImport = map[string][]string{
	"exporter/fit":              {"cmd/gguf", "exporter/engine/spec"},
	"exporter/metric":           {},
	"exporter/metric/expr":      {"exporter/metric"},
	"exporter/ledger":           {}, // ground floor: the names, colours and arithmetic of memory lines, which both wings share
	"exporter/hostfs":           {},
	"exporter/nvml":             {},
	"exporter/engine/spec":      {},
	"exporter/engine":           {"exporter/engine/spec"},
	"exporter/cuda":             {},
	"exporter/link":             {"exporter/hostfs"},
	"exporter/snapshot":         {"exporter/hostfs", "exporter/nvml"},
	"exporter/collector":        {"exporter/engine", "exporter/engine/dynamo", "exporter/engine/nixl", "exporter/engine/spec", "exporter/hostfs", "exporter/ledger", "exporter/metric", "exporter/nvml", "exporter/snapshot"},
	"exporter":                  {"cmd/terminal", "cmd/webserver", "exporter/collector", "exporter/cuda", "exporter/engine", "exporter/engine/spec", "exporter/engine/supported", "exporter/fit", "exporter/hostfs", "exporter/ledger", "exporter/link", "exporter/metric", "exporter/nvml", "exporter/recorder", "exporter/snapshot"},
	"exporter/recorder":         {"exporter/hostfs", "exporter/ledger", "exporter/metric"},
	"exporter/sim":              {"exporter/collector", "exporter/hostfs", "exporter/nvml"},
	"loadgen/arena":             {},
	"loadgen/enginelog":         {"exporter/engine/spec"},
	"loadgen/evidence":          {},
	"loadgen/openai":            {},
	"loadgen/render":            {"exporter/ledger"},
	"loadgen/roofline":          {},
	"loadgen/runfile":           {},
	"loadgen/stats":             {},
	"loadgen/subprocess":        {},
	"loadgen/traffic":           {},
	"loadgen/campaign/plan":     {"cmd/terminal", "loadgen/stats"},
	"loadgen/compare":           {"cmd/terminal", "exporter/engine/spec", "exporter/ledger", "exporter/metric", "loadgen/enginelog", "loadgen/evidence", "loadgen/figure", "loadgen/rundir", "loadgen/stats", "loadgen/summary", "loadgen/telemetry"},
	"loadgen/rundir":            {"exporter/engine/spec", "loadgen/evidence", "loadgen/roofline", "loadgen/runfile", "loadgen/traffic"},
	"loadgen/sim":               {"exporter/engine/dynamo", "exporter/engine/spec", "exporter/engine/trtllm", "exporter/engine/vllm", "exporter/metric"},
	"loadgen/telemetry":         {"exporter/engine/spec", "exporter/metric", "loadgen/runfile"},
	"loadgen/campaign/arm":      {"loadgen/campaign/plan", "loadgen/openai", "loadgen/subprocess"},
	"loadgen/hosts":             {"exporter/metric", "loadgen/openai", "loadgen/render", "loadgen/rundir"},
	"loadgen/render/comparison": {"exporter/ledger", "loadgen/compare", "loadgen/figure", "loadgen/format", "loadgen/render", "loadgen/stats", "loadgen/summary"},
	"loadgen/server":            {"cmd/terminal", "exporter/engine/spec", "loadgen/openai", "loadgen/roofline", "loadgen/rundir", "loadgen/traffic"},
	"loadgen/summary":           {"cmd/terminal", "exporter/engine/dynamo", "exporter/engine/spec", "exporter/ledger", "exporter/metric", "loadgen/enginelog", "loadgen/evidence", "loadgen/format", "loadgen/openai", "loadgen/roofline", "loadgen/rundir", "loadgen/runfile", "loadgen/stats", "loadgen/telemetry"},
	"loadgen/summary/testrun":   {"exporter/engine/spec", "exporter/engine/supported", "exporter/metric", "loadgen/openai", "loadgen/rundir", "loadgen/runfile", "loadgen/telemetry"},
	"loadgen/workload":          {"cmd/terminal", "loadgen/evidence", "loadgen/openai", "loadgen/rundir", "loadgen/traffic"},
	"loadgen/campaign":          {"exporter/engine/supported", "exporter/metric", "loadgen/campaign/arm", "loadgen/campaign/plan", "loadgen/figure", "loadgen/openai", "loadgen/render", "loadgen/rundir", "loadgen/server", "loadgen/summary"},
	"loadgen/sweep":             {"cmd/terminal", "loadgen/campaign", "loadgen/campaign/plan", "loadgen/figure", "loadgen/summary", "loadgen/workload"},
	"loadgen/cell":              {"exporter/engine/spec", "exporter/engine/supported", "exporter/metric", "loadgen/format", "loadgen/openai", "loadgen/render", "loadgen/rundir", "loadgen/stats", "loadgen/summary", "loadgen/telemetry"},
	"loadgen/importer":          {"cmd/terminal", "exporter/engine/spec", "exporter/engine/supported", "loadgen/enginelog", "loadgen/openai", "loadgen/rundir", "loadgen/stats", "loadgen/summary"},
	"loadgen/promexport":        {"cmd/webserver", "exporter/metric", "loadgen/compare", "loadgen/figure", "loadgen/format", "loadgen/openai", "loadgen/render", "loadgen/rundir", "loadgen/runfile", "loadgen/stats", "loadgen/summary"},
	"loadgen/publish":           {"exporter/metric", "loadgen/compare", "loadgen/format", "loadgen/openai", "loadgen/render", "loadgen/render/comparison", "loadgen/rundir", "loadgen/runfile", "loadgen/stats", "loadgen/summary", "loadgen/telemetry"},
	"loadgen/render/report":     {"exporter/engine/spec", "exporter/ledger", "exporter/metric", "loadgen/compare", "loadgen/enginelog", "loadgen/evidence", "loadgen/figure", "loadgen/format", "loadgen/openai", "loadgen/render", "loadgen/render/comparison", "loadgen/roofline", "loadgen/rundir", "loadgen/stats", "loadgen/summary", "loadgen/telemetry"},
	"loadgen/runner":            {"cmd/terminal", "cmd/webserver", "exporter/engine/spec", "exporter/engine/supported", "exporter/ledger", "exporter/metric", "loadgen/enginelog", "loadgen/evidence", "loadgen/figure", "loadgen/format", "loadgen/openai", "loadgen/render", "loadgen/rundir", "loadgen/runfile", "loadgen/server", "loadgen/subprocess", "loadgen/summary", "loadgen/telemetry", "loadgen/traffic", "loadgen/workload"},
	"loadgen":                   {"cmd/gguf", "cmd/terminal", "cmd/webserver", "exporter/engine/supported", "exporter/metric", "loadgen/arena", "loadgen/campaign", "loadgen/campaign/arm", "loadgen/campaign/plan", "loadgen/cell", "loadgen/compare", "loadgen/enginelog", "loadgen/evidence", "loadgen/figure", "loadgen/format", "loadgen/hosts", "loadgen/importer", "loadgen/openai", "loadgen/promexport", "loadgen/publish", "loadgen/render", "loadgen/render/comparison", "loadgen/render/report", "loadgen/roofline", "loadgen/rundir", "loadgen/runner", "loadgen/server", "loadgen/subprocess", "loadgen/summary", "loadgen/sweep", "loadgen/telemetry", "loadgen/traffic", "loadgen/workload"},
	"dashboards/grafana":        {},
	"dashboards":                {"exporter/engine/spec", "exporter/engine/supported", "exporter/ledger", "exporter/metric", "exporter/metric/expr"},
	"alerts":                    {"exporter/ledger", "exporter/metric", "exporter/metric/expr"},
	"cmd/gguf":                  {}, // ground floor: a file format that the exporter and the load generator read
	"cmd/terminal":              {}, // ground floor, as exporter/metric is: what is typed and shown is alike in all programs
	"cmd/webserver":             {}, // ground floor, too: all programs serve their pages alike
	"cmd/internal/memnet":       {}, // a network, for whatever is served on it
	"cmd/uma-gen":               {"alerts", "cmd/terminal", "cmd/webserver", "dashboards", "dashboards/grafana", "exporter/ledger", "exporter/metric", "exporter/metric/expr"},
	"cmd/internal/demo":         {"alerts", "cmd/terminal", "cmd/webserver", "exporter", "exporter/collector", "exporter/engine", "exporter/metric", "exporter/sim", "loadgen/compare", "loadgen/evidence", "loadgen/figure", "loadgen/promexport", "loadgen/render", "loadgen/render/comparison", "loadgen/rundir", "loadgen/sim", "loadgen/summary"},
	"cmd/internal/view":         {"alerts", "cmd/internal/memnet", "cmd/terminal", "cmd/webserver", "dashboards", "dashboards/grafana", "exporter", "exporter/collector", "exporter/ledger", "exporter/metric", "exporter/metric/expr", "loadgen/format", "loadgen/promexport", "loadgen/render", "loadgen/render/comparison", "loadgen/render/report", "loadgen/summary"},
	"cmd/uma-exporter":          {"cmd/terminal", "exporter"},
	"cmd/uma-demo":              {"cmd/internal/demo", "cmd/internal/view", "cmd/terminal", "loadgen"},
	"cmd/uma-load":              {"cmd/terminal", "loadgen"},
	"cmd/uma-view":              {"cmd/internal/view", "cmd/terminal"},
	"loadgen/format":            {},
	"loadgen/figure":            {"exporter/engine/spec", "exporter/metric", "loadgen/format", "loadgen/openai", "loadgen/rundir", "loadgen/summary"},
}

// mustNotLink names what a binary must not carry, since people install the exporter on the machine that they measure, and
// what a room must not stand on.
var mustNotLink = map[string][]string{
	"cmd/uma-exporter": {"github.com/prometheus/prometheus", "github.com/compose-spec/compose-go", "github.com/xuri/excelize", "gonum.org", module + "exporter/sim", module + "loadgen"},
	"cmd/uma-load":     {"github.com/prometheus/prometheus", "github.com/compose-spec/compose-go", "github.com/NVIDIA/go-nvml", module + "exporter/sim", module + "exporter/collector"},
	"cmd/uma-gen":      {"github.com/prometheus/prometheus", "github.com/compose-spec/compose-go"},
	// From the files of a run to verdicts, nothing draws pages, and each step knows only the steps before it.
	"loadgen/summary": {module + "loadgen/render", module + "loadgen/compare", module + "loadgen/figure"},
	"loadgen/figure":  {"exporter/engine/spec", "loadgen/compare", "loadgen/render"},
	"loadgen/compare": {"exporter/engine/spec", "loadgen/render"},
}

// queryEngine is what only uma-view and the demo may link: everything else talks to a Prometheus.
const queryEngine = "github.com/prometheus/prometheus/promql"

var mayLinkQueryEngine = []string{"cmd/internal/demo", "cmd/internal/view", "cmd/uma-demo", "cmd/uma-view"}

// bannedNames are names that do not describe the content of a package.
var bannedNames = []string{"util", "utils", "common", "helper", "helpers", "type", "types", "lib", "misc", "base", "shared", "testutil", "testutils"}

// mayWriteWith names who may write pages, tables and workbooks by what: everybody else builds documents for loadgen/render,
// which alone escapes texts of others.
var mayWriteWith = map[string][]string{
	"html/template":               {"loadgen/render", "dashboards/grafana", "exporter"}, // other wings have a page of their own
	"text/tabwriter":              {"loadgen/render"},
	"github.com/xuri/excelize/v2": {"loadgen/render"},
}

// longestChain is the way of a run through the house: metric, rundir, summary, figure, compare, comparison, publish,
// loadgen, uma-load. Figures are read from summaries, and comparisons are of figures.
const longestChain = 8

// pkg is the output of go list for one of our packages.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	CgoFiles   []string
	Imports    []string
	Deps       []string
}

func (p pkg) name() string { return strings.TrimPrefix(p.ImportPath, module) }

// ours lists what p imports of ours, without the module prefix.
func (p pkg) ours() []string {
	var names []string
	for _, path := range p.Imports {
		if name, ok := strings.CutPrefix(path, module); ok {
			names = append(names, name)
		}
	}
	return names
}

// listPackages asks the go command, so that build constraints are judged as in a build.
func listPackages(t *testing.T) map[string]pkg {
	t.Helper()
	command := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,CgoFiles,Imports,Deps", module+"...")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string]pkg{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles)+len(p.CgoFiles) > 0 {
			packages[p.name()] = p
		}
	}
}

func TestPackagesImportOnlyWhatTheHouseAllows(t *testing.T) {
	packages := listPackages(t)
	for name, p := range packages {
		if strings.HasPrefix(name, rooms) && name != rooms+"spec" {
			continue
		}
		allowed, known := mayImport[name]
		if !known {
			t.Errorf("%s is not in the house: give it a place in mayImport", name)
		}
		for _, imported := range p.ours() {
			if known && !slices.Contains(allowed, imported) {
				t.Errorf("%s imports %s", name, imported)
			}
		}
		for _, allowance := range allowed {
			if !slices.Contains(p.ours(), allowance) {
				t.Errorf("%s does not import %s: remove the allowance", name, allowance)
			}
		}
	}
	for name := range mayImport {
		if _, exists := packages[name]; !exists {
			t.Errorf("%s is in the house but not in the tree", name)
		}
	}
}

// floor is the number of packages of ours below a package, in the longest chain of its imports.
func floor(packages map[string]pkg, name string) int {
	highest := 0
	for _, imported := range packages[name].ours() {
		highest = max(highest, 1+floor(packages, imported))
	}
	return highest
}

func TestImportChainsStayShort(t *testing.T) {
	packages := listPackages(t)
	for name := range packages {
		if got := floor(packages, name); got > longestChain {
			t.Errorf("%s stands on %d floors, at most %d", name, got, longestChain)
		}
	}
}

func TestBinariesAndRoomsLinkOnlyWhatTheyNeed(t *testing.T) {
	packages := listPackages(t)
	for name, banned := range mustNotLink {
		if packages[name].ImportPath == "" {
			t.Fatalf("%s does not exist", name)
		}
		for _, dep := range packages[name].Deps {
			for _, prefix := range banned {
				if dep == prefix || strings.HasPrefix(dep, strings.TrimSuffix(prefix, "/")+"/") {
					t.Errorf("%s links %s", name, dep)
				}
			}
		}
	}
}

func TestOnlyTheViewAndTheDemoLinkAQueryEngine(t *testing.T) {
	linked := false
	for name, p := range listPackages(t) {
		links := slices.Contains(p.Deps, queryEngine)
		linked = linked || links
		if links && !slices.Contains(mayLinkQueryEngine, name) {
			t.Errorf("%s links %s", name, queryEngine)
		}
	}
	if !linked {
		t.Errorf("nobody links %s: it is looked for under a wrong name", queryEngine)
	}
}

func TestPagesAndTablesAreWrittenByTheRenderer(t *testing.T) {
	for name, p := range listPackages(t) {
		for library, allowed := range mayWriteWith {
			if slices.Contains(p.Imports, library) && !slices.Contains(allowed, name) {
				t.Errorf("%s imports %s, which only %s may", name, library, strings.Join(allowed, ", "))
			}
		}
	}
}

func TestPackageNamesSayWhatTheyKnow(t *testing.T) {
	for name := range listPackages(t) {
		for _, part := range strings.Split(name, "/") {
			if slices.Contains(bannedNames, part) {
				t.Errorf("%s: %q says nothing", name, part)
			}
		}
	}
}

func TestTopLevelIsFixed(t *testing.T) {
	allowed := []string{"exporter", "loadgen", "dashboards", "compose", "alerts", "cmd", "go.mod", "go.sum", "README.md", "LICENSE", "CITATION.cff"} // GitHub reads the last one at the root only
	out, err := exec.Command("git", "-C", "..", "ls-files").Output()
	if err != nil {
		// A source archive has no git metadata: look at the folder itself.
		entries, err := os.ReadDir("..")
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			out = append(out, entry.Name()+"\n"...)
		}
	}
	for _, path := range strings.Fields(string(out)) {
		top := strings.Split(filepath.ToSlash(path), "/")[0]
		if !strings.HasPrefix(top, ".") && !slices.Contains(allowed, top) {
			t.Errorf("%s is outside the fixed top level", path)
		}
	}
}

// TestLinksOfDocumentsResolve follows the links between files, pictures included.
func TestLinksOfDocumentsResolve(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
	followed := 0
	for _, document := range []string{"README.md", ".github/CONTRIBUTING.md", "compose/README.md", "compose/SECURITY.md", "compose/TLS.md", ".github/SECURITY.md", "alerts/README.md", "dashboards/README.md", "dashboards/MEASURED.md", "alerts/runbooks.md", "exporter/METRICS.md", "exporter/PRIVILEGES.md", "exporter/MEASURED.md", "loadgen/MEASURED.md", "loadgen/RANKS.md", "loadgen/campaign/README.md", "loadgen/PUBLISHED.md"} {
		path := filepath.Join("..", document)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllSubmatch(text, -1) {
			target := string(match[1])
			if strings.Contains(target, "://") {
				continue
			}
			followed++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), target)); err != nil {
				t.Errorf("%s links to %s, which is not there", document, target)
			}
		}
	}
	if followed == 0 {
		t.Error("no document links to another")
	}
}
