// Package mixin evaluates the monitoring mixins of alerts and dashboards and compares them with what uma-gen writes.
package mixin

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-jsonnet"
	"sigs.k8s.io/yaml"
)

const root = "../../.."

// evaluated is the value of an expression of jsonnet about the mixins in a checkout, with a configuration.
func evaluated(checkout, config, field string) (string, error) {
	vm := jsonnet.MakeVM()
	vm.Importer(&jsonnet.FileImporter{JPaths: []string{checkout}})
	return vm.EvaluateAnonymousSnippet("test.jsonnet",
		`local mixin = (import 'alerts/mixin.libsonnet') + (import 'dashboards/mixin.libsonnet') + { _config+:: `+config+` }; mixin.`+field)
}

// canonical is a value in one spelling.
func canonical(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func read(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// generated is what uma-gen writes: dashboards by their names, and the groups of all files that it names, in its order.
func generated(t *testing.T, args ...string) (dashboards map[string]any, groups []any) {
	t.Helper()
	out := t.TempDir()
	command := exec.Command("go", append([]string{"run", "./cmd/uma-gen", "--out", out}, args...)...)
	command.Dir = root
	names, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	dashboards = map[string]any{}
	for name := range strings.FieldsSeq(string(names)) {
		content, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		switch filepath.Ext(name) {
		case ".json":
			dashboards[filepath.Base(name)] = read(t, content)
		case ".yaml":
			asJSON, err := yaml.YAMLToJSONStrict(content)
			if err != nil {
				t.Fatal(err)
			}
			groups = append(groups, read(t, asJSON).(map[string]any)["groups"].([]any)...)
		}
	}
	return dashboards, groups
}

func TestAMixinIsWhatUmaGenWritesForTheSameNames(t *testing.T) {
	for config, args := range map[string][]string{
		`{}`: nil,
		`{ hostLabel: 'instance', jobSelector: 'job=~"integrations/uma|node",cluster!="lab \\"2\\""', alertLabels: { team: 'x', page: 'a=b' } }`: {
			"--host-label", "instance", "--job-selector", `job=~"integrations/uma|node",cluster!="lab \"2\""`, "--alert-label", "team=x", "--alert-label", "page=a=b"},
		`{ hostLabel: 'a_longer_name' }`: {"--host-label", "a_longer_name"},
	} {
		dashboards, groups := generated(t, args...)
		if len(dashboards) < 8 || len(groups) < 8 {
			t.Fatalf("%d dashboards, %d groups", len(dashboards), len(groups))
		}
		for field, want := range map[string]any{"grafanaDashboards": dashboards, "prometheusAlerts": map[string]any{"groups": groups}} {
			got, err := evaluated(root, config, field)
			if err != nil {
				t.Fatalf("%s: %v", config, err)
			}
			if canonical(t, read(t, []byte(got))) != canonical(t, want) {
				t.Errorf("%s with %s differs from uma-gen %q", field, config, args)
			}
		}
	}
}

// TestAFileThatWasChangedByHandIsRefused: offsets would hit another text.
func TestAFileThatWasChangedByHandIsRefused(t *testing.T) {
	checkout := t.TempDir()
	for _, folder := range []string{"alerts", "dashboards"} {
		if err := os.CopyFS(filepath.Join(checkout, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(checkout, "alerts/memory.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := evaluated(checkout, `{ hostLabel: 'node' }`, "prometheusAlerts"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte("on (host)"), []byte("on  (host)"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := evaluated(checkout, `{ hostLabel: 'node' }`, "prometheusAlerts"); err == nil || !strings.Contains(err.Error(), "changed by hand") {
		t.Errorf("the error is %v", err)
	}
}
