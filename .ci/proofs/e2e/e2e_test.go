package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestASubstitutionThatFindsNothingIsAnError(t *testing.T) {
	text, err := replace("a: 5s\nb: 5s\n", []substitution{{"5s", "1s", "why"}})
	if err != nil || text != "a: 1s\nb: 1s\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := replace("a: 5s\n", []substitution{{"6s", "1s", "the test has minutes"}}); err == nil || !strings.Contains(err.Error(), "the test has minutes") {
		t.Errorf("error is %v", err)
	}
}

func TestOnlyTheAlertsNamedAreKeptForLess(t *testing.T) {
	const rules = `groups:
- name: g
  rules:
  - record: a:b:c
    expr: x
  - alert: Named
    expr: x > 1
    for: 1m
    keep_firing_for: 5m
  - alert: NamedOtherwise
    expr: x > 2
    keep_firing_for: 5m
  - alert: Named
    expr: x > 3
    for: 15s
    keep_firing_for: 1h
`
	got, changed := shortened(rules, []string{"Named", "Missing"})
	want := strings.NewReplacer("for: 1m\n    keep_firing_for: 5m", "for: 1m\n    keep_firing_for: "+keptFor, "keep_firing_for: 1h", "keep_firing_for: "+keptFor).Replace(rules)
	if got != want || changed["Named"] != 2 || len(changed) != 1 {
		t.Errorf("changed %v\n%s", changed, got)
	}
}

// TestTheProjectsFilesHaveWhatIsReplaced fails in a second when a file is written otherwise, not after minutes.
func TestTheProjectsFilesHaveWhatIsReplaced(t *testing.T) {
	s := newStage(files{checkout: "../../.."}, t.TempDir())
	if err := s.chooseAddresses(); err != nil {
		t.Fatal(err)
	}
	if err := s.makeFolders(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.copyRules(); err != nil {
		t.Error(err)
	}
	if err := substitute("../../../compose/prometheus/prometheus.yml", s.path("prometheus.yml"), s.prometheusSubstitutions()); err != nil {
		t.Error(err)
	}
	if err := s.writeAlertmanager(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"prometheus.yml", "alertmanager.yml"} {
		text, err := os.ReadFile(s.path(name))
		if err != nil || strings.Contains(string(text), "/etc/umascope") || strings.Contains(string(text), "/run/secrets") {
			t.Errorf("%s names what is not here: %v\n%s", name, err, text)
		}
	}
}

func TestSelectorsAreFoundWithoutTheTimeTheyLookAt(t *testing.T) {
	found, err := selectorsOf(`max(a{line="x"} offset 5m) / on (host) rate(b{host=~"s|t"}[1m])`)
	if err != nil || len(found) != 2 {
		t.Fatalf("%v, %v", found, err)
	}
	if found[0].text != `{line="x",__name__="a"}` || found[1].values["host"] != "s|t" {
		t.Errorf("%+v", found)
	}
	listed := absence{series: "a", label: "line", value: "x"}
	if !listed.covers(found[0]) || listed.covers(found[1]) || (absence{series: "a", label: "line", value: "y"}).covers(found[0]) {
		t.Error("another selector is covered")
	}
}

func TestEveryReasonIsWrittenOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, listed := range absent() {
		if listed.why == "" || seen[listed.selector()] {
			t.Errorf("%s: %q", listed.selector(), listed.why)
		}
		seen[listed.selector()] = true
	}
}

func TestAProgramIsEndedAndItsEndIsToldOf(t *testing.T) {
	runtime.LockOSThread() // the program dies with the thread
	log := filepath.Join(t.TempDir(), "log")
	p, err := launch(log, "sh", "-c", "echo begun; exec sleep 60")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.running(); err != nil {
		t.Error(err)
	}
	p.stop()
	if err := p.running(); err == nil {
		t.Error("it is said to run")
	}
	failing, err := launch(log, "sh", "-c", "echo no such thing >&2; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	if err := failing.wait(t.Context()); err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("error is %v", err)
	}
}

func TestWaitingEndsWithTheLastAnswer(t *testing.T) {
	asked := 0
	err := until(t.Context(), time.Minute, func(context.Context) error {
		if asked++; asked < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || asked != 3 {
		t.Errorf("%d, %v", asked, err)
	}
	if err := until(t.Context(), time.Millisecond, func(context.Context) error { return errors.New("never") }); err == nil || !strings.Contains(err.Error(), "never") {
		t.Errorf("error is %v", err)
	}
}
