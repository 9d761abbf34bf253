// Package kubernetes decodes the manifests of compose/kubernetes as a cluster would, and refuses what it would refuse or, worse,
// leave out without a word.
package kubernetes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// known are the kinds that manifests may have; each is made anew for every object.
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

// problems decodes every object of a text as strictly as a cluster that validates fields: unknown ones, those twice and those in other
// letters are errors.
func problems(t *testing.T, text []byte) (objects int, errs []error) {
	t.Helper()
	for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
		if len(bytes.TrimSpace(part)) == 0 {
			continue
		}
		var kind struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(part, &kind); err != nil {
			t.Fatal(err)
		}
		object := known(kind.APIVersion + "/" + kind.Kind)
		if object == nil {
			t.Fatalf("unknown kind %s %s", kind.APIVersion, kind.Kind)
		}
		asJSON, err := yaml.YAMLToJSONStrict(part)
		if err != nil {
			t.Fatal(err)
		}
		strict, err := json.UnmarshalStrict(asJSON, object)
		if errs = append(errs, strict...); err != nil {
			errs = append(errs, err)
		}
		objects++
	}
	return objects, errs
}

func TestEveryObjectIsOneOfItsKind(t *testing.T) {
	paths, err := filepath.Glob(root + "*.yaml")
	below, belowErr := filepath.Glob(root + "*/*.yaml")
	rules, rulesErr := exec.CommandContext(t.Context(), root+"rules").Output()
	if err != nil || belowErr != nil || rulesErr != nil {
		t.Fatal(err, belowErr, rulesErr)
	}
	texts := map[string][]byte{"rules": rules}
	for _, path := range slices.Concat(paths, below) {
		if filepath.Base(path) == "kustomization.yaml" {
			continue
		}
		if texts[path], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	all := 0
	for name, text := range texts {
		objects, errs := problems(t, text)
		for _, err := range errs {
			t.Errorf("%s: %v", name, err)
		}
		all += objects
	}
	if all < 17 || bytes.Count(rules, []byte("kind: PrometheusRule")) < 5 {
		t.Errorf("%d objects", all)
	}
}

func TestAFieldThatIsNoneIsRefused(t *testing.T) {
	text, err := os.ReadFile(root + "exporter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, errs := problems(t, bytes.Replace(text, []byte("hostPID: true"), []byte("hostPid: true"), 1)); len(errs) == 0 {
		t.Error("hostPid passes for a field of a pod")
	}
}
