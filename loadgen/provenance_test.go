package loadgen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

// ranOf is what the manifest of a run identifies, by name. It holds no secret.
func ranOf(t *testing.T, dir string) (rundir.Manifest, map[string]rundir.ProvenanceItem) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, rundir.ManifestFile))
	if err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("the manifest holds a secret (%v): %s", err, text)
	}
	m := manifestOf(t, dir)
	if m.Provenance == nil || m.Provenance.Key == "" {
		t.Fatalf("%+v", m.Provenance)
	}
	items := map[string]rundir.ProvenanceItem{}
	for _, one := range rundir.ProvenanceItems(*m.Provenance) {
		items[one.Name] = one
	}
	return m, items
}

func TestARunIdentifiesTheContainerOfItsEngine(t *testing.T) {
	tool(t, toolAnswers(strings.Replace(inspected, `"serve",`, `"serve","--max-model-len=8192",`, 1), "true"))
	dir, _, _ := completed(t, "--url", engine(t, time.Millisecond), "--requests=1", "--warmup=0", "--output-tokens=2", "--engine=vllm", "--container=engine")
	m, items := ranOf(t, dir)
	for name, shown := range map[string]string{
		"program of server": "vllm", "option --max-model-len of server": "8192", "option --api-key of server": "", "environment HF_TOKEN of server": "",
		"image of server": "", "changed files in the container of server": "1",
	} {
		if one, there := items[name]; !there || one.Value != shown || shown == "" && one.Hash == "" {
			t.Errorf("%s is %+v of %v", name, one, items)
		}
	}
	if m.Container.ImageLayers != 2 || m.Containers != nil {
		t.Errorf("%d layers, versions %+v", m.Container.ImageLayers, m.Containers)
	}
}

func TestARunIdentifiesTheProcessThatListens(t *testing.T) {
	t.Setenv("VLLM_TEST_TOKEN", "hunter2") // of this process, which is the engine too; /proc has it as it was started
	dir, _, _ := completed(t, "--url", engine(t, time.Millisecond), "--requests=1", "--warmup=0", "--output-tokens=2", "--engine=vllm")
	m, items := ranOf(t, dir)
	if len(m.Provenance.Processes) != 1 || m.Provenance.Processes[0].ReadFrom != rundir.ReadFromProc || items["program of server"].Value != filepath.Base(os.Args[0]) {
		t.Errorf("%+v", m.Provenance)
	}
}

func TestARecordedRunIdentifiesItsCommand(t *testing.T) {
	code, dir, stdout, stderr := recorded(t, Program{}, t.Context(), "--", "sh", "-c", "true hunter2", "--api-key", "hunter2", "--slow=hunter2")
	if code != exitDone {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	_, items := ranOf(t, dir)
	for _, name := range []string{"option -c of command", "option --api-key of command", "option --slow of command"} {
		if items[name].Hash == "" {
			t.Errorf("%s is not in %v", name, items)
		}
	}
}
