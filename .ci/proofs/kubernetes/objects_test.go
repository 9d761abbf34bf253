// Package kubernetes decodes the manifests of compose/kubernetes as a cluster would, and refuses what it would refuse or, worse,
// leave out without a word.
package kubernetes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const root = "../../../compose/kubernetes/"

// known are the kinds that may stand there; each is made anew for every object.
func known(kind string) any {
	return map[string]any{
		"v1/Namespace": &core.Namespace{}, "v1/ServiceAccount": &core.ServiceAccount{}, "v1/ConfigMap": &core.ConfigMap{},
		"v1/PersistentVolumeClaim": &core.PersistentVolumeClaim{},
		"apps/v1/DaemonSet":        &apps.DaemonSet{}, "apps/v1/Deployment": &apps.Deployment{}, "batch/v1/Job": &batch.Job{},
		"networking.k8s.io/v1/NetworkPolicy":      &networking.NetworkPolicy{},
		"monitoring.coreos.com/v1/PodMonitor":     &monitoring.PodMonitor{},
		"monitoring.coreos.com/v1/PrometheusRule": &monitoring.PrometheusRule{},
	}[kind]
}

// decode is as strict as a cluster that validates fields: unknown ones, those twice and those in other letters are errors.
func decode(text []byte, object any) []error {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return []error{err}
	}
	strict, err := json.UnmarshalStrict(asJSON, object)
	if err != nil {
		return []error{err}
	}
	return strict
}

func check(t *testing.T, name string, text []byte) (objects int) {
	t.Helper()
	for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
		if len(bytes.TrimSpace(part)) == 0 {
			continue
		}
		var kind struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(part, &kind); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		object := known(kind.APIVersion + "/" + kind.Kind)
		if object == nil {
			t.Errorf("%s: nobody knows %s %s", name, kind.APIVersion, kind.Kind)
			continue
		}
		for _, err := range decode(part, object) {
			t.Errorf("%s: %s: %v", name, kind.Kind, err)
		}
		objects++
	}
	return objects
}

func TestEveryObjectIsOneOfItsKind(t *testing.T) {
	objects := 0
	for _, pattern := range []string{"*.yaml", "load/*.yaml", "privileged/*.yaml", "capabilities/*.yaml"} {
		paths, err := filepath.Glob(root + pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range paths {
			if filepath.Base(path) == "kustomization.yaml" {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			objects += check(t, path, text)
		}
	}
	if objects < 12 {
		t.Errorf("%d objects", objects)
	}
}

func TestRulesAreRulesOfTheOperator(t *testing.T) {
	text, err := exec.CommandContext(t.Context(), root+"rules").Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := check(t, "rules", text); n < 5 {
		t.Errorf("%d objects", n)
	}
}

// TestAFieldThatIsNoneIsRefused: the check itself can fail.
func TestAFieldThatIsNoneIsRefused(t *testing.T) {
	text, err := os.ReadFile(root + "exporter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	wrong := bytes.Replace(text, []byte("hostPID: true"), []byte("hostPid: true"), 1)
	for part := range bytes.SplitSeq(wrong, []byte("\n---\n")) {
		if bytes.Contains(part, []byte("hostPid")) {
			if len(decode(part, &apps.DaemonSet{})) > 0 {
				return
			}
		}
	}
	t.Error("hostPid passes for a field of a pod")
}
