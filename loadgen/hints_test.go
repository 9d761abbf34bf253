package loadgen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// hintPackages are the packages whose texts any verb that makes runs may print, or write into a run.
func hintPackages() []string {
	return []string{"arena", "cell", "enginelog", "evidence", "openai", "roofline", "runner", "server", "summary", "telemetry", "traffic", "workload"}
}

// hintFlag is a flag in a text, with the verb that is named for it.
var hintFlag = regexp.MustCompile(`--([a-z][a-z0-9.-]*[a-z0-9])(?:(?:[ =][a-z]+=?[a-z]*)? of (run|arena|sweep))?`)

// beyondReach has the texts that a verb does not come to, though they may be read as advice: those of a file, or those of
// a flag in it, and why.
func beyondReach() map[string]map[string]string {
	const scenario, ranks, given = "of another scenario", "it has no ranks", "of a flag that it lacks"
	arena := map[string]string{
		"evidence/pressure.go": scenario, "evidence/kv.go": scenario, "summary/evidence.go": scenario, "workload/sets.go": scenario, "workload/multi_turn.go": scenario, "workload/repeat.go": given,
		"runner/ranks.go": ranks, "traffic/rank.go": ranks, "runner/sharing.go": ranks,
		"workload/settings.go --clip": given, "workload/context_length.go --clip": "of prompts that are drawn, which its own are not",
		"workload/arena.go --set": given, "workload/arena.go --scenario": given,
		"server/check.go --max-input-tokens": "of the verb check", "summary/validity.go --expect": given,
	}
	return map[string]map[string]string{"run": nil, "sweep": nil, "arena": arena}
}

// TestAHintNamesOnlyFlagsThatItsVerbHas reads all texts that name a flag of run. A verb without the flag does not come
// to the text: it begins with a flag that the verb lacks, or beyondReach has it. Or the text names a verb that has it.
func TestAHintNamesOnlyFlagsThatItsVerbHas(t *testing.T) {
	flags := map[string][]string{}
	for _, v := range newCommandLine(io.Discard).verbs {
		for _, f := range v.clause.Model().Flags {
			flags[v.clause.FullCommand()] = append(flags[v.clause.FullCommand()], f.Name)
		}
	}
	reasons := 0
	for _, hint := range hints(t) {
		named := hintFlag.FindAllStringSubmatch(hint.text, -1)
		for verb, reached := range beyondReach() {
			if strings.HasPrefix(hint.text, "--") && !slices.Contains(flags[verb], named[0][1]) {
				continue
			}
			for _, m := range named {
				name, of := m[1], m[2]
				switch known := reached[hint.file]+reached[hint.file+" --"+name] != ""; {
				case !slices.Contains(flags["run"], name) || slices.Contains(flags[verb], name) || slices.Contains(flags[of], name):
				case known:
					reasons++
				default:
					t.Errorf("%s: %q: %s has no --%s", hint.file, hint.text, verb, name)
				}
			}
		}
	}
	if reasons == 0 {
		t.Error("no text was read")
	}
}

// hint is a text of the program.
type hint struct{ file, text string }

// hints returns all texts with flags, but for the help of the flags themselves.
func hints(t *testing.T) []hint {
	t.Helper()
	var all []hint
	for _, folder := range hintPackages() {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, path := range files {
			if name := filepath.Base(path); strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "flags.go") || name == "sweep_settings.go" {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING {
					if text, err := strconv.Unquote(l.Value); err == nil && strings.Contains(text, " ") && hintFlag.MatchString(text) {
						all = append(all, hint{filepath.ToSlash(path), text})
					}
				}
				return true
			})
		}
	}
	return all
}
