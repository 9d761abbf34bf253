package cmd_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
)

// A name that an engine writes is a claim about a program that somebody else wrote. Its witness is how it is known: the best
// of these grades.
const (
	real        = "real"        // recorded from a release whose counts .ci/proofs/engines compares with ours
	recorded    = "recorded"    // recorded from a release
	byName      = "by name"     // in the newest wheel, or in the source or the document that the claim names
	simulated   = "simulated"   // served by our own simulated engine only
	constructed = "constructed" // in a text that is put together by hand, or in a test
)

func grades() []string { return []string{real, recorded, byName, simulated, constructed} }

// claim is a name of an engine with its witness.
type claim struct {
	kind, text    string
	grade, source string
}

// evidenceFile is a text that an engine wrote, or that is put together as it would write it.
type evidenceFile struct{ name, text string }

// evidenceFiles are an engine's recordings, by the first part of their names.
func evidenceFiles(t *testing.T, engine string) []evidenceFile {
	t.Helper()
	var all []evidenceFile
	for _, folder := range []string{"exporter/engine", "loadgen/summary", "loadgen/enginelog", "loadgen/server/testdata/recorded"} {
		for _, below := range []string{"", "testdata"} {
			paths, err := filepath.Glob(filepath.Join("..", folder, below, engine+"-*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, evidenceFile{filepath.Base(path), string(text)})
			}
		}
	}
	return all
}

var version = regexp.MustCompile(`[0-9]+(\.[0-9]+)+`)

// releasesThatRan are the versions of an engine that the table of loadgen/SERVERS.md has: their counts were compared with ours.
func releasesThatRan(t *testing.T, e spec.Engine) []string {
	t.Helper()
	text, err := os.ReadFile("../loadgen/SERVERS.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 7 {
			continue
		}
		name := strings.TrimSpace(cells[1])
		if name == strings.ToLower(e.Title) || name == e.Name || strings.HasPrefix(name, e.Name+"-") {
			if v := version.FindString(cells[2]); v != "" {
				found = append(found, v)
			}
		}
	}
	return found
}

// namesInWheels are the bare names that the newest wheels of a project have and we read, with the releases of the wheels.
func namesInWheels(t *testing.T, project string) (names map[string]bool, releases string) {
	t.Helper()
	text, err := os.ReadFile("../.ci/proofs/releases/names.tsv")
	if err != nil {
		t.Fatal(err)
	}
	names = map[string]bool{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		switch {
		case strings.HasPrefix(line, "# "+"vllm"):
			releases = strings.TrimSpace(strings.TrimPrefix(line, "# "))
		case len(fields) == 3 && fields[0] == project && fields[2] != "absent":
			names[fields[1]] = true
		}
	}
	for _, one := range strings.Split(releases, ", ") {
		if strings.Contains(one, project) {
			return names, "wheel " + one
		}
	}
	return names, ""
}

// constants are the texts of a package of an engine: the series by file, and all others of names.go.
func constants(t *testing.T, e spec.Engine) (series, others map[string]string) {
	t.Helper()
	paths, err := filepath.Glob("../" + rooms + e.Name + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	series, others = map[string]string{}, map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		label := false // of a constant, which stands before its text
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				label = strings.HasPrefix(spec.Names[0].Name, "Label")
			}
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			isSeries := !label && !strings.ContainsAny(text, " /") && !strings.HasSuffix(text, "_") && (slices.ContainsFunc(e.Metrics.Forms, func(f spec.Form) bool {
				return f.Owns(text) && text != f.Prefix
			}) || slices.ContainsFunc(e.Metrics.TransferPrefixes, func(prefix string) bool { return strings.HasPrefix(text, prefix) }))
			base := filepath.Base(path)
			switch {
			case err != nil:
			case isSeries && series[text] != "names.go":
				series[text] = base
			case base == "names.go" && !strings.ContainsAny(text, "/ ") && text != "" && !strings.HasSuffix(text, ":") && !strings.HasSuffix(text, "_"):
				others[text] = base
			}
			return true
		})
	}
	return series, others
}

// claimsOf lists the names of an engine.
func claimsOf(t *testing.T, e spec.Engine) []claim {
	t.Helper()
	series, labels := constants(t, e)
	var all []claim
	for _, name := range slices.Sorted(maps.Keys(series)) {
		all = append(all, claim{kind: "series", text: name, source: series[name]})
	}
	for _, c := range []string{e.Metrics.ContextGauge, e.Metrics.BlockGauge} {
		if c != "" && series[c] == "" {
			all = append(all, claim{kind: "series", text: c})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, claim{kind: "labels and values", text: name})
	}
	if e.Log != nil {
		for _, f := range e.Log.Figures {
			all = append(all, claim{kind: "log lines", text: strings.Join(f.After, "…"), source: e.Log.Source})
		}
		for _, m := range e.Log.Marks {
			all = append(all, claim{kind: "log lines", text: strings.TrimSpace(m.Text), source: e.Log.Source})
		}
	}
	for _, o := range slices.Concat(e.CommandLine.Options, e.CommandLine.Variables) {
		all = append(all, claim{kind: "options and variables", text: o.Names[0], source: e.CommandLine.Source})
	}
	if r := e.Request; r != nil {
		for _, field := range slices.Concat(r.Both, r.Chat, r.Newer) {
			all = append(all, claim{kind: "request fields", text: field, source: r.Source})
		}
	}
	for _, count := range e.Answer {
		all = append(all, claim{kind: "members of answers", text: count.Path[len(count.Path)-1]})
	}
	slices.SortStableFunc(all, func(a, b claim) int { return cmp.Compare(a.kind, b.kind) })
	return slices.CompactFunc(all, func(a, b claim) bool { return a.kind == b.kind && a.text == b.text })
}

// occurs reports whether a text has the claim: a name as a whole word, and of a log line all parts in one line.
func (c claim) occurs(text string) bool {
	if c.kind != "log lines" {
		for at := strings.Index(text, c.text); at >= 0; {
			before, after := at == 0 || !isNamePart(text[at-1]), at+len(c.text) == len(text) || !isNamePart(text[at+len(c.text)])
			if before && after || c.kind == "series" && before && slices.ContainsFunc([]string{"_bucket", "_sum", "_count"}, func(end string) bool { return strings.HasPrefix(text[at+len(c.text):], end) }) {
				return true
			}
			next := strings.Index(text[at+1:], c.text)
			if next < 0 {
				return false
			}
			at += 1 + next
		}
		return false
	}
	for line := range strings.Lines(text) {
		rest, has := line, true
		for _, part := range strings.Split(c.text, "…") {
			if _, rest, has = strings.Cut(rest, part); !has {
				break
			}
		}
		if has {
			return true
		}
	}
	return false
}

func isNamePart(c byte) bool {
	return c == '_' || c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// judged adds the witnesses.
func judged(t *testing.T, e spec.Engine) []claim {
	t.Helper()
	files, ran := evidenceFiles(t, e.Name), releasesThatRan(t, e)
	wheels, release := namesInWheels(t, e.Name)
	endings := regexp.MustCompile(`(_total|_sum|_count|_bucket)$`)
	all := claimsOf(t, e)
	for i, c := range all {
		found := map[string]string{}
		note := func(grade, source string) {
			if found[grade] == "" {
				found[grade] = source
			}
		}
		for _, f := range files {
			v := version.FindString(f.name)
			switch {
			case !c.occurs(f.text):
			case strings.Contains(f.name, "-constructed"):
				note(constructed, f.name)
			case strings.Contains(f.name, "-doc."):
				note(byName, f.name)
			case slices.Contains(ran, v):
				note(real, f.name)
			default:
				note(recorded, f.name)
			}
		}
		bare := c.text
		for _, form := range e.Metrics.Forms {
			bare = strings.TrimPrefix(bare, form.Prefix)
		}
		if rest, is := strings.CutPrefix(bare, "kvbm_"); is {
			bare = rest
		}
		switch {
		case c.kind == "series" && (wheels[endings.ReplaceAllString(bare, "")] || wheels[strings.TrimPrefix(endings.ReplaceAllString(bare, ""), "router_")]):
			note(byName, release)
		case c.kind == "series" && c.source == "simulated.go":
			note(simulated, "loadgen/sim")
		case c.kind != "series" && c.source != "":
			note(byName, c.source)
		}
		note(constructed, "tests")
		for _, grade := range grades() {
			if found[grade] != "" {
				all[i].grade, all[i].source = grade, found[grade]
				break
			}
		}
	}
	return all
}

// countsTable counts the claims of each engine by grade.
func countsTable(claims map[string][]claim, engines spec.Engines) string {
	var b strings.Builder
	b.WriteString("| names of | " + strings.Join(grades(), " | ") + " |\n| --- |" + strings.Repeat(" ---: |", len(grades())) + "\n")
	for _, e := range engines {
		fmt.Fprintf(&b, "| %s |", e.Title)
		for _, grade := range grades() {
			n := 0
			for _, c := range claims[e.Name] {
				if c.grade == grade {
					n++
				}
			}
			fmt.Fprintf(&b, " %d |", n)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// gradesTable counts the claims of all engines by grade.
func gradesTable(claims map[string][]claim) string {
	counts := map[string]int{}
	for _, of := range claims {
		for _, c := range of {
			counts[c.grade]++
		}
	}
	head, rule, row := "| [claims by witness](loadgen/SERVERS.md#names-of-engines-by-their-witness) |", "| --- |", "| names of engines |"
	for _, grade := range grades() {
		head, rule, row = head+" "+grade+" |", rule+" --- |", row+fmt.Sprintf(" %d |", counts[grade])
	}
	return head + "\n" + rule + "\n" + row + "\n"
}

// namesTable lists the claims of each engine by kind, grade and source.
func namesTable(claims map[string][]claim, engines spec.Engines) string {
	var b strings.Builder
	for _, e := range engines {
		fmt.Fprintf(&b, "\n### Names of %s\n\n| kind | witness | source | names |\n| --- | --- | --- | --- |\n", e.Title)
		all := slices.Clone(claims[e.Name])
		slices.SortStableFunc(all, func(a, b claim) int {
			return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(slices.Index(grades(), a.grade), slices.Index(grades(), b.grade)), cmp.Compare(a.source, b.source))
		})
		for from := 0; from < len(all); {
			to, names := from, []string(nil)
			for ; to < len(all) && all[to].kind == all[from].kind && all[to].grade == all[from].grade && all[to].source == all[from].source; to++ {
				shown := strings.TrimLeft(all[to].text, "-") // a page that names an option with its dashes promises one of ours
				names = append(names, "`"+strings.ReplaceAll(shown, "|", `\|`)+"`")
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", all[from].kind, all[from].grade, all[from].source, strings.Join(names, ", "))
			from = to
		}
	}
	return b.String()
}

func judgedAll(t *testing.T, engines spec.Engines) map[string][]claim {
	t.Helper()
	all := map[string][]claim{}
	for _, e := range engines {
		all[e.Name] = judged(t, e)
	}
	return all
}

func TestPagesHaveTheWitnessOfEachNameOfAnEngine(t *testing.T) {
	engines := supported.Engines()
	claims := judgedAll(t, engines)
	for path, want := range map[string]string{"../README.md": gradesTable(claims), "../loadgen/SERVERS.md": countsTable(claims, engines), "../loadgen/SERVERS_NAMES.md": namesTable(claims, engines)} {
		const begin, end = "<!-- claims -->\n", "<!-- /claims -->"
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, found := bytes.Cut(text, []byte(begin))
		written, after, ended := bytes.Cut(rest, []byte(end))
		switch {
		case !found || !ended:
			t.Errorf("%s has no table between %q and %q", path, begin, end)
		case *update:
			if err := os.WriteFile(path, slices.Concat(before, []byte(begin+want+end), after), 0o644); err != nil {
				t.Fatal(err)
			}
		case string(written) != want:
			t.Errorf("%s is not what the packages of engines and their evidence say; go test ./cmd -run Witness -update writes it", path)
		}
	}
}

// TestAWitnessIsTheBestThatThereIs knows some of each grade.
func TestAWitnessIsTheBestThatThereIs(t *testing.T) {
	claims := judgedAll(t, supported.Engines())
	for _, want := range []struct{ engine, text, grade string }{
		{"vllm", "vllm:prompt_tokens_by_source_total", real},
		{"vllm", "vllm:kv_offload_total_bytes_total", recorded},
		{"llamacpp", "llamacpp:prompt_tokens_total", recorded},
		{"sglang", "sglang:hicache_host_used_tokens", byName},
		{"trtllm", "trtllm_kv_cache_free_blocks", simulated},
		{"trtllm", "trtllm_prompt_cached_tokens_total", constructed},
		{"vllm", "--gpu-memory-utilization", byName},
	} {
		i := slices.IndexFunc(claims[want.engine], func(c claim) bool { return c.text == want.text })
		if i < 0 {
			t.Errorf("%s: no claim %s", want.engine, want.text)
		} else if got := claims[want.engine][i]; got.grade != want.grade {
			t.Errorf("%s: %s is %s (%s), want %s", want.engine, want.text, got.grade, got.source, want.grade)
		}
	}
	if made := madeUp(); !strings.Contains(namesTable(judgedAll(t, spec.Engines{made}), spec.Engines{made}), "| options and variables | constructed | tests | `room` |") {
		t.Error("a made-up engine is not in the tables of SERVERS.md")
	}
}
