package view

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

const ownRule = `groups:
- name: own
  rules:
  - alert: GPUHot
    expr: up == 1
    for: 200ms
    labels: {severity: warning}
`

// TestOwnRulesTakeThePlaceOfThoseOfTheProgram also holds what their alerts are shown with.
func TestOwnRulesTakeThePlaceOfThoseOfTheProgram(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "own.yaml"), []byte(ownRule), 0o644); err != nil {
		t.Fatal(err)
	}
	o := openPages(t, machinePage, nil, func(o *options) { o.ruleFolder = folder })
	o.until(t, "/alerts", "1 firing, 0 pending, of 1 rule.")
	wantParts(t, "the alert", o.get("/alerts/GPUHot").Body.String(), "up == 1", "200ms")
}

func TestAFolderWithoutUsableRulesIsBadInput(t *testing.T) {
	none, broken := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "rules.yaml"), []byte("groups: [{name: a, rules: [{alert: A, expr: 'up =='}]}]"), 0o644); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{none: "no file *.yaml", filepath.Join(none, "missing"): "no file *.yaml", broken: "rules.yaml"} {
		v := newViewer(options{ruleFolder: folder, data: t.TempDir(), runs: t.TempDir(), exporter: "http://127.0.0.1:1/metrics", interval: time.Second, keep: time.Hour, keepBytes: 64 << 20}, slog.New(slog.DiscardHandler))
		err := v.open(t.Context())
		v.close()
		if !errors.As(err, &inputError{}) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an input error with %q", folder, err, want)
		}
	}
}

func TestTheNameOfTheMachineAndTheAddressesOfRunsAreThoseOfTheFlags(t *testing.T) {
	pages := livePages(http.NotFound)
	o := openPages(t, machinePage, map[string]http.Handler{"127.0.0.1:20001": pages[defaultLive]}, func(o *options) {
		o.host, o.live = "spark-7", []string{"127.0.0.1:20001", "127.0.0.1:20002"}
	})
	o.until(t, "/", "In progress")
	for job, want := range map[string]int{exporterJob: 1, "uma-load": 2} {
		targets := o.database.scraping.TargetsActive()[job]
		if len(targets) != want {
			t.Fatalf("%s: %d targets, want %d", job, len(targets), want)
		}
		if host := targets[0].Labels(labels.NewBuilder(labels.EmptyLabels())).Get("host"); job == exporterJob && host != "spark-7" {
			t.Errorf("the machine is called %q", host)
		}
	}
}
