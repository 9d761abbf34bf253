package campaign

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

func TestAKeyInThePlansEnvironmentIsInNoFileOfTheCampaign(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const key = "sk-plan-0123456789"
		text := []byte(`schema: umascope.plan/1
name: c
models: [{name: m}]
arms:
  - {name: a, processes: [{name: engine, argv: [serve], env: {OPENAI_API_KEY: ` + key + `}}]}
  - {name: b, processes: [{name: engine, argv: [serve]}]}
scenarios: [{name: s, run: {requests: 1}}]
iterations: 1
on_invalid: {repeat: 0}
collect: [{name: env, argv: [env]}]
checks: [{name: gemm, argv: [gemm]}]
`)
		p, err := plan.Parse("plan.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		w.command = func(argv []string) Printed {
			return Printed{Text: "OPENAI_API_KEY=" + strings.ToUpper(key) + " 1", Problem: "it printed " + key}
		}
		w.cannot = map[string]error{"a": errors.New("engine ended: bad key " + key)}
		w.result = func(Order) Result { return Result{Status: Invalid, Problem: "the server refuses " + key} }
		c := w.campaign(p)
		c.Text = text
		_, _ = w.run(t.Context(), c)
		files := 0
		err = filepath.WalkDir(w.dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			files++
			content, err := os.ReadFile(path)
			if strings.Contains(strings.ToLower(string(content)), key) {
				t.Errorf("%s has the key: %s", path, content)
			}
			return err
		})
		if err != nil || files < 4 {
			t.Errorf("%d files (%v)", files, err)
		}
		if strings.Contains(w.log.String(), key) {
			t.Errorf("the log has the key: %s", w.log.String())
		}
		kept, err := os.ReadFile(filepath.Join(w.dir, PlanFile))
		if err != nil || !strings.Contains(string(kept), "OPENAI_API_KEY: "+plan.Hidden) {
			t.Errorf("%s (%v)", kept, err)
		}
	})
}
