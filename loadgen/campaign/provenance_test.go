package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
)

// planOf is a plan of two arms that differ in one option, with texts replaced: pairs of old and new.
func planOf(t *testing.T, replace ...string) *plan.Plan {
	t.Helper()
	text := `schema: umascope.plan/1
name: c
models: [{name: m}]
arms:
  - name: a
    files: [{path: "{{.folder}}/engine.yaml", text: "token: hunter2"}]
    processes:
      - {name: engine, argv: [vllm, serve, /srv/m, --max-model-len, "8192", --slow, yes, --config, "{{.folder}}/engine.yaml"], env: {HF_TOKEN: hunter2}}
  - name: b
    processes: [{name: engine, argv: [vllm, serve, /srv/m, --max-model-len, "8192", --slow, no], env: {HF_TOKEN: hunter2}}]
scenarios: [{name: s, run: {requests: 1}}]
flags: {label: x=y, temperature: 0}
gates: {cooldown: 1m}
iterations: 1
`
	p, err := plan.Parse("plan.yaml", []byte(strings.NewReplacer(replace...).Replace(text)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// madeIn are the names of the runs of a campaign, in their order.
func madeIn(t *testing.T, dir string) []string {
	t.Helper()
	var runs []string
	for _, e := range events(t, dir) {
		if e.Event == eventRun {
			runs = append(runs, e.Run)
		}
	}
	return runs
}

func TestAPlanThatRunsSomethingElseInASlotWithARunIsRefusedByName(t *testing.T) {
	for name, of := range map[string]struct {
		replace []string
		refused string // what differs; empty if it may be
		warned  string
	}{
		"more iterations":     {[]string{"iterations: 1", "iterations: 2"}, "", ""},
		"another label":       {[]string{"x=y", "x=z"}, "", ""},
		"order of options":    {[]string{`--max-model-len, "8192", --slow, no`, `--slow, no, "--max-model-len=8192"`}, "", ""},
		"gates":               {[]string{"cooldown: 1m", "cooldown: 2m"}, "", "plan: gates"},
		"a listed option":     {[]string{`"8192", --slow, no`, `"4096", --slow, no`}, "option --max-model-len of engine", ""},
		"an option":           {[]string{"--slow, no", "--slow, never"}, "option --slow of engine", ""},
		"an option more":      {[]string{"--slow, no", "--slow, no, --fast"}, "option --fast of engine", ""},
		"an argument":         {[]string{"/srv/m", "/srv/n"}, "argument 2 of engine", ""},
		"a variable":          {[]string{"HF_TOKEN: hunter2}}\n  - name: b", "HF_TOKEN: hunter3}}\n  - name: b"}, "environment HF_TOKEN of engine", ""},
		"a file":              {[]string{"token: hunter2", "token: hunter3"}, "file engine.yaml", ""},
		"a flag of the plan":  {[]string{"temperature: 0", "temperature: 1"}, "flag --temperature", ""},
		"a flag of the load":  {[]string{"requests: 1", "requests: 2"}, "flag --requests", ""},
		"the page cache":      {[]string{"iterations: 1", "iterations: 1\npage_cache: {policy: drop}"}, "plan: page_cache", ""},
		"a process in a box":  {[]string{"  - name: b\n    processes: [{name: engine,", "  - name: b\n    processes: [{name: engine, container: box,"}, "container of engine", ""},
		"a load by a command": {[]string{"run: {requests: 1}", "record: {argv: [bench, --key, hunter2]}"}, "option --key of command", ""},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.mustRun(t.Context(), w.campaign(planOf(t)))
				changed := w.campaign(planOf(t, of.replace...))
				changed.SHA256, changed.Changed = "other", true
				i, err := changed.Open()
				if err == nil {
					i.Close()
				}
				if said := ""; err != nil {
					said = err.Error()
					if !strings.Contains(said, "--plan-changed: slot ") || !strings.Contains(said, of.refused) || of.refused == "" || strings.Contains(said, "hunter") {
						t.Error(said)
					}
				} else if of.refused != "" {
					t.Error("it is not refused")
				}
				if log := w.log.String(); strings.Contains(log, "the changed plan prepares runs otherwise") != (of.warned != "") || !strings.Contains(log, of.warned) {
					t.Error(log)
				}
			})
		})
	}
}

func TestASlotWithoutAMeasuredRunMayRunSomethingElse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.result = func(o Order) Result {
			if o.Slot.Arm == "b" {
				return Result{Status: Failed, Problem: "a mistake in the plan"}
			}
			return Result{Status: Finished}
		}
		w.mustRun(t.Context(), w.campaign(planOf(t)))
		w.result = func(Order) Result { return Result{Status: Finished} }
		mended := w.campaign(planOf(t, "--slow, no", "--slow, never"))
		mended.SHA256, mended.Changed, mended.Retry = "other", true, []Status{Invalid, Failed, Skipped}
		if o, err := w.run(t.Context(), mended); err != nil || !o.Sound() {
			t.Errorf("%+v (%v)", o, err)
		}
	})
}

func TestARunThatDoesNotRecordWhatRanIsNotTakenForTheSame(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.mustRun(t.Context(), w.campaign(planOf(t)))
		first := rundir.Folder(filepath.Join(w.dir, madeIn(t, w.dir)[0]))
		m, err := first.ReadManifest()
		if err != nil {
			t.Fatal(err)
		}
		m.Provenance = nil
		if err := first.WriteJSON(rundir.ManifestFile, m); err != nil {
			t.Fatal(err)
		}
		changed := w.campaign(planOf(t, "iterations: 1", "iterations: 2"))
		changed.SHA256, changed.Changed = "other", true
		i, err := changed.Open()
		if err != nil {
			t.Fatal(err)
		}
		i.Close()
		if log := w.log.String(); !strings.Contains(log, "do not record what ran") || !strings.Contains(log, "slots=1 ") && !strings.HasSuffix(strings.TrimSpace(log), "slots=1") {
			t.Error(log)
		}
	})
}

func TestTheRunsOfACampaignHaveOneKeyAndTellNoSecret(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		t.Setenv("VLLM_SECRET", "hunter2")
		w.mustRun(t.Context(), w.campaign(planOf(t, "iterations: 1", "iterations: 2")))
		hashes := map[string]bool{}
		for _, run := range madeIn(t, w.dir) {
			f := rundir.Folder(filepath.Join(w.dir, run))
			text, err := os.ReadFile(f.Path(rundir.ManifestFile))
			if err != nil || strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "/srv/m") {
				t.Errorf("%s (%v)", text, err)
			}
			m, err := f.ReadManifest()
			if err != nil || m.Provenance == nil || len(m.Provenance.Processes) != 1 {
				t.Fatalf("%+v (%v)", m.Provenance, err)
			}
			for _, one := range rundir.ProvenanceItems(*m.Provenance) {
				if one.Name == "option --slow of engine" {
					hashes[one.Hash] = true
				}
				if one.Name == "inherited environment VLLM_SECRET of engine" {
					hashes[one.Hash] = true
				}
			}
		}
		if len(hashes) != 3 {
			t.Errorf("hashes of an option of two arms and of a variable of both: %v", hashes)
		}
		if info, err := os.Stat(filepath.Join(w.dir, server.ProvenanceKeyFile)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v (%v)", info, err)
		}
	})
}
