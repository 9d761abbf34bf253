package loadgen

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/summary"
)

const readingPage = "READING.md"

// TestTheTextsOfThePageOnReadingArePrinted types its first commands, and holds what it shows below to each line of what came.
// The examples are recordings: nothing in them depends on the machine.
func TestTheTextsOfThePageOnReadingArePrinted(t *testing.T) {
	t.Parallel()
	commands := strings.Split(strings.TrimSpace(blocks(t, readingPage, "sh")[0]), "\n")
	shown := blocks(t, readingPage, "text")
	page := text(t, readingPage)
	if len(commands) != 2 || len(shown) != len(commands) {
		t.Fatalf("%d commands and %d texts", len(commands), len(shown))
	}
	for i, command := range commands {
		typed := words(t, strings.ReplaceAll(command, "loadgen/testdata/", "testdata/"))
		code, stdout, stderr := invokeVerb(t, typed[1:]...)
		if code != exitDone || stderr != "" {
			t.Errorf("%s: exit %d: %s", command, code, stderr)
		}
		if *update {
			page = strings.Replace(page, "```text\n"+shown[i]+"```", "```text\n"+stdout+"```", 1)
			continue
		}
		if stdout != shown[i] {
			t.Errorf("%s prints\n%s\nwhere the page shows\n%s", command, stdout, shown[i])
		}
	}
	if *update {
		overwrite(t, readingPage, page)
	}
}

// TestThePageOnReadingExplainsEveryWord that a report uses to judge: a new one is to be explained there.
func TestThePageOnReadingExplainsEveryWord(t *testing.T) {
	t.Parallel()
	page := text(t, readingPage)
	first := map[string]bool{} // what stands in the first cell of a row
	for line := range strings.Lines(page) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for word := range strings.SplitSeq(cells[1], ",") {
				first[strings.TrimSpace(word)] = true
			}
		}
	}
	output := func(w compare.Verdict) string { return strings.ReplaceAll(string(w), "_", " ") }
	for _, word := range []string{
		output(compare.Equivalent), output(compare.Irrelevant), output(compare.Better), output(compare.Worse), output(compare.Different),
		output(compare.Inconclusive), output(compare.Undecided),
		string(evidence.Proven), string(evidence.Consistent), string(evidence.Contradicted), string(evidence.NotObservable),
		"TTFT", "TPOT", "chunk gap", "ITL", "E2E", "start", "ready", "peak",
	} {
		if !first[word] {
			t.Errorf("no row of a table explains %q", word)
		}
	}
	for _, word := range []string{
		compare.OrderBlocked, compare.OrderABBA, compare.OrderAlternating, compare.OrderRandom,
		compare.CodeDrift, compare.CodePairDrift, compare.CodeDriftUnseen, compare.CodeFirstAfterSwitch, compare.CodeOrderEffect, compare.CodeFairnessUnknown,
		compare.CodeRanDiffers, compare.CodeHashKeysDiffer,
	} {
		if !strings.Contains(page, "`"+word+"`") {
			t.Errorf("the page does not say %q", word)
		}
	}
}

// TestThePageOnReadingNamesFlagsThatThereAre of the verbs that it is about.
func TestThePageOnReadingNamesFlagsThatThereAre(t *testing.T) {
	t.Parallel()
	known, seen := flagsOfAll(), 0
	for _, name := range flagName.FindAllString(text(t, readingPage), -1) {
		if seen++; !known[name] {
			t.Errorf("no verb has %s", name)
		}
	}
	if seen < 6 {
		t.Errorf("%d flags were found", seen)
	}
}

// TestTheExamplesOfThePageOnReadingAreSimulatedAndSaySo: a recording of a real machine would have to be masked, and read by
// a person, before it is here.
func TestTheExamplesOfThePageOnReadingAreSimulatedAndSaySo(t *testing.T) {
	t.Parallel()
	runs, err := filepath.Glob("testdata/reading/*/summary.json")
	if err != nil || len(runs) < 8 {
		t.Fatalf("%d runs: %v", len(runs), err)
	}
	for _, path := range runs {
		sum := text(t, path)
		if !strings.Contains(sum, `"mode":"simulated"`) {
			t.Errorf("%s does not say that its machine is simulated", path)
		}
	}
	if rules := summary.Rules(); !slices.ContainsFunc(rules, func(r summary.Rule) bool { return r.Code == summary.CodeOutputMismatch }) {
		t.Error("no rule makes a run with wrong answers from a cache invalid, as the page says")
	}
}
