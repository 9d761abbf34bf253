package publish

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
)

// TestAPackIdentifiesWhatRanWithoutItsSecrets: a comparison of it finds what one of the runs finds.
func TestAPackIdentifiesWhatRanWithoutItsSecrets(t *testing.T) {
	out := t.TempDir()
	key, err := server.OpenProvenanceKey(out)
	if err != nil {
		t.Fatal(err)
	}
	ran := func(i int) *rundir.Provenance {
		argv := []string{
			"docker", "run", "-e", "HF_TOKEN=" + secretBearer, "--env=API=" + secretPrompt, "-v", "/home/" + secretUser + ":/m", "registry.lab.example/vllm/vllm-openai:v1",
			"--model", "/home/" + secretUser + "/m", "--api-key", secretKey, "--slow=" + secretPrompt + fmt.Sprint(i%2), "--max-model-len", fmt.Sprint(4096 << (i % 2)), "-p" + secretBearer, secretPrompt,
		}
		engine := key.Process(supported.Engines(), "engine", rundir.ReadFromPlan, argv, map[string]string{"PASSWORD": secretBearer})
		engine.Image, engine.Changed = key.Image("sha256:ab"), key.ChangedFiles([]string{"C /home/" + secretUser + "/x.py"})
		engine.Inherited = key.Inherited(supported.Engines(), []string{"vllm"}, []string{"VLLM_API_KEY=" + secretKey})
		return &rundir.Provenance{
			Key: key.ID(), Processes: []rundir.RanProcess{engine}, Files: []rundir.Hashed{key.Setting("engine.yaml", "token: "+secretKey+fmt.Sprint(i%2))},
			Plan: []rundir.Hashed{key.Setting("gates", secretPrompt)},
		}
	}
	runs := plainRuns(t, 8, func(i int, m *rundir.Manifest, _ *summary.Summary) { m.Provenance = ran(i) })
	text, err := json.Marshal(ran(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range append(secrets(), "lab.example") {
		if strings.Contains(string(text), secret) {
			t.Errorf("the manifest tells %s: %s", secret, text)
		}
	}
	s := settingsFor(filepath.Join(t.TempDir(), "pack"))
	pack, err := Make(t.Context(), runs, s)
	if err != nil {
		t.Fatal(err)
	}
	checkSecrets(t, s.Out)
	secret, err := os.ReadFile(filepath.Join(out, server.ProvenanceKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range everyFile(t, s.Out) {
		if strings.Contains(path, server.ProvenanceKeyFile) || strings.Contains(text, strings.TrimSpace(string(secret))) {
			t.Errorf("%s has the key", path)
		}
	}
	facts := func(paths []string) []compare.Fairness {
		all, err := observed(paths)
		if err != nil {
			t.Fatal(err)
		}
		c, err := compare.Compare(all, s.Compare)
		if err != nil {
			t.Fatal(err)
		}
		var rows []compare.Fairness
		for _, f := range c.Strata[0].Pairs[0].Fairness {
			if strings.Contains(f.Item, " of engine") || strings.HasPrefix(f.Item, "file engine.yaml") || strings.HasPrefix(f.Item, "plan: ") {
				rows = append(rows, f)
			}
		}
		return rows
	}
	of, in := facts(pathsOf(runs)), facts(pathsInPack(s.Out, pack))
	if !reflect.DeepEqual(of, in) {
		t.Errorf("of the runs\n%+v\nof the pack\n%+v", of, in)
	}
	differ := map[string]string{}
	for _, f := range in {
		if f.Differs {
			differ[f.Item] = f.A + " against " + f.B
		}
	}
	want := map[string]string{
		"option --slow of engine": "value 1 against value 2", "option --max-model-len of engine": "4096 against 8192", "file engine.yaml": "value 1 against value 2",
	}
	if !reflect.DeepEqual(differ, want) {
		t.Errorf("%d rows; what differs: %v", len(in), differ)
	}
}
