package workload

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/traffic"
)

// schedule is the plan of a workload by phase and number.
func scheduleOf(t *testing.T, w *Workload) map[string]rundir.ScheduleLine {
	t.Helper()
	_, entries := plan(t, w)
	lines := map[string]rundir.ScheduleLine{}
	for _, e := range entries {
		lines[fmt.Sprint(e.Phase, e.Index)] = e
	}
	return lines
}

// Every scenario and source of prompts: with another run, each prompt is another one of the same length; what repeats
// within a run still repeats, and the texts of a file are the user's.
func TestAnotherRunSendsOtherPromptsOfTheSameLengths(t *testing.T) {
	dir := promptFiles(t)
	for name := range everyLoad() {
		t.Run(name, func(t *testing.T) {
			one, two, again := scheduleOf(t, workOf(t, name, dir, "r1")), scheduleOf(t, workOf(t, name, dir, "r2")), scheduleOf(t, workOf(t, name, dir, "r1"))
			prompts := map[string]string{}
			for key, a := range one {
				b, same := two[key], again[key]
				if a.InputTokensTarget < 16 {
					continue // no words, or one
				}
				ofUser := strings.Contains(name, "file ") && !strings.Contains(name, "shared") || a.Turn > 1
				if (a.PromptSHA256 == b.PromptSHA256) != ofUser || a.PromptSHA256 != same.PromptSHA256 {
					t.Errorf("%s: prompt %s, of another run %s, of the same %s", key, a.PromptSHA256, b.PromptSHA256, same.PromptSHA256)
				}
				if a.PrefixSHA256 != "" && a.PrefixSHA256 == b.PrefixSHA256 && a.Turn <= 1 && !strings.Contains(name, "generator") && !strings.Contains(name, "little") {
					t.Errorf("%s: two runs share a beginning", key)
				}
				if prompts[b.PromptSHA256] != "" && b.RepeatedTokensTarget != b.InputTokensTarget && !strings.Contains(name, "file") && one[prompts[b.PromptSHA256]].RepeatedTokensTarget == 0 {
					t.Errorf("%s and %s send one prompt, and the schedule does not say so", key, prompts[b.PromptSHA256])
				}
				prompts[b.PromptSHA256] = key
				a.PromptSHA256, a.PrefixSHA256 = b.PromptSHA256, b.PrefixSHA256
				if wantLine, err := json.Marshal(a); err != nil {
					t.Fatal(err)
				} else if line, _ := json.Marshal(b); string(line) != string(wantLine) {
					t.Errorf("%s: %s, of another run %s", key, wantLine, line)
				}
			}
		})
	}
}

func TestTheScheduleHasTheRepeatedTokens(t *testing.T) {
	dir := promptFiles(t)
	for name, want := range map[string]map[string]int{
		"shared exact":                {"warmup0": 64, "measure0": 64, "measure5": 64},
		"fixed exact":                 {"measure0": 0},
		"mooncake exact":              {"warmup0": 0, "measure0": 512, "measure1": 512, "measure2": 0, "measure3": 0},
		"azure exact":                 {"measure0": 0},
		"multi_turn shared mean":      {"measure0": 30},
		"file text exact":             {"measure0": 0, "measure2": 0, "measure3": 1},
		"file shared text words":      {"measure0": 1, "measure3": 1},
		"reuse_verify exact":          {"baseline_10": 0, "baseline_20": 1, "reuse_10": 0, "reuse_20": 1, "reuse_30": 1},
		"eviction_replay exact":       {"warm_A0": 0, "pressure_B0": 0, "replay_A0": 1},
		"eviction_replay_twice exact": {"warm_A0": 0, "pressure_B_10": 0, "replay_A_10": 1, "pressure_B_20": 0, "replay_A_20": 1},
	} {
		lines := scheduleOf(t, workOf(t, name, dir, "r1"))
		for key, tokens := range want {
			line, planned := lines[key]
			if got := line.RepeatedTokensTarget; !planned || got != tokens && (tokens != 1 || got == 0) {
				t.Errorf("%s %s: %d tokens repeat, want %d (%+v)", name, key, got, tokens, line)
			}
			if tokens == 1 && !strings.Contains(name, "file shared") && line.RepeatedTokensTarget != line.InputTokensTarget {
				t.Errorf("%s %s: %d of %d tokens repeat, want all", name, key, line.RepeatedTokensTarget, line.InputTokensTarget)
			}
		}
	}
}

// planned writes the folder of a run in its state before the first request.
func planned(t *testing.T, run, key string, args ...string) (dir string) {
	t.Helper()
	s, err := given(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	s.PromptKey = key
	w, err := s.Write(Server{Model: "m", Vendor: server.VendorOf(supported.Engines(), "vllm")})
	if err != nil {
		t.Fatal(err)
	}
	runs := t.TempDir()
	f, err := rundir.New(runs, run)
	if err != nil {
		t.Fatal(err)
	}
	_, lines := planOf(t, w)
	m := rundir.Manifest{Schema: rundir.ManifestSchema, Run: run, Seed: s.Seed, Workload: rundir.Workload{PromptKey: key}}
	if err := f.WriteJSON(rundir.ManifestFile, m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Path(rundir.ScheduleFile), []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	return runs
}

// repeating is the workload of a run with --repeat-of.
func repeating(t *testing.T, runs string, args ...string) (*Settings, *Workload, error) {
	t.Helper()
	s, err := given(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.FindRepeated(runs); err != nil {
		return nil, nil, err
	}
	s.KeyPrompts("r2", time.Now())
	w, err := s.Write(Server{Model: "m", Vendor: server.VendorOf(supported.Engines(), "vllm")})
	if err != nil {
		t.Fatal(err)
	}
	return s, w, nil
}

func TestRepeatOfSendsTheExactPromptsOfARun(t *testing.T) {
	args := []string{"--input-tokens=100", "--requests=6", "--warmup=2", "--seed=7"}
	for _, key := range []string{"r1 2026-11-01T00:00:00Z", ""} { // earlier versions wrote none
		runs := planned(t, "r1", key, args...)
		text, err := os.ReadFile(filepath.Join(runs, "r1", rundir.ScheduleFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"r1", filepath.Join(runs, "r1")} {
			s, w, err := repeating(t, runs, "--input-tokens=100", "--requests=6", "--warmup=2", "--repeat-of", name, "--concurrency=3")
			if err != nil {
				t.Fatal(err)
			}
			if _, lines := planOf(t, w); strings.Join(lines, "") != string(text) || s.Seed != 7 || s.PromptKey != key || s.RepeatOf() != "r1" || s.WhyRepeated() != "--repeat-of" {
				t.Errorf("key %q, %s: sends %s\nwant %s", key, name, lines, text)
			}
		}
		// Fewer of them are its prompts too.
		if _, w, err := repeating(t, runs, "--input-tokens=100", "--requests=2", "--warmup=0", "--repeat-of=r1"); err != nil {
			t.Error(err)
		} else if _, lines := planOf(t, w); len(lines) != 2 || !strings.Contains(string(text), lines[0]) {
			t.Errorf("sends %s", lines)
		}
	}
}

func TestRepeatOfRefusesOtherPrompts(t *testing.T) {
	runs := planned(t, "r1", "r1 now", "--input-tokens=100", "--requests=6", "--warmup=2")
	bare := t.TempDir()
	for name, text := range map[string]string{
		"empty/manifest.json": `{"schema": "umascope.manifest/1", "run": "empty"}`,
		"hash/manifest.json":  `{"schema": "umascope.manifest/1", "run": "hash"}`, "hash/schedule.jsonl": `{"phase": "measure", "index": 3, "prompt_sha256": "12"}`,
		"other/manifest.json": `{"schema": "another/9", "run": "other"}`,
		"void/manifest.json":  `{"schema": "umascope.manifest/1", "run": "void"}`, "void/schedule.jsonl": "{",
	} {
		path := filepath.Join(bare, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--repeat-of=r2"}, "--repeat-of: no run folder: r2, " + filepath.Join(runs, "r2")},
		{[]string{"--repeat-of", filepath.Join(bare, "empty")}, "--repeat-of: " + filepath.Join(bare, "empty") + ": which prompts it sent is not known"},
		{[]string{"--repeat-of", filepath.Join(bare, "hash")}, "request 3 of measure has no hash of its prompt"},
		{[]string{"--repeat-of", filepath.Join(bare, "other")}, "its form is"},
		{[]string{"--repeat-of", filepath.Join(bare, "void")}, "its schedule has no request"},
		{[]string{"--repeat-of", bare}, "--repeat-of: no run folder: " + bare},
		{[]string{"--repeat-of=r1", "--seed=8"}, "--seed: --repeat-of takes that of the run, 1337"},
		{[]string{"--repeat-of=r1", "--input-tokens=101"}, "--repeat-of: request 0 of measure is another prompt than that of r1"},
		{[]string{"--repeat-of=r1", "--requests=7"}, "--repeat-of: r1 has no request 6 in measure"},
		{[]string{"--repeat-of=r1", "--scenario=reuse_verify"}, "--repeat-of: r1 has no request 0 in baseline_1"},
		{[]string{"--repeat-of=r1", "--seed=1337"}, ""},
	} {
		args := slices.Concat([]string{"--warmup=0"}, c.args)
		if !slices.Contains(c.args, "--input-tokens=101") {
			args = append(args, "--input-tokens=100")
		}
		if !slices.ContainsFunc(c.args, func(arg string) bool {
			return strings.HasPrefix(arg, "--requests") || strings.HasPrefix(arg, "--scenario")
		}) {
			args = append(args, "--requests=6")
		}
		_, w, err := repeating(t, runs, args...)
		if err == nil {
			_, err = w.Plan(t.Context(), &lockedBuffer{})
		}
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %q", c.args, err, c.says)
		}
	}
}

func TestRunsOfOneNameHaveDifferentKeysAndRanksTheSame(t *testing.T) {
	at := time.Date(2026, 11, 1, 12, 0, 0, 5, time.UTC)
	key := func(run string, at time.Time) string {
		s := Settings{Place: traffic.Place{World: 2}}
		s.KeyPrompts(run, at)
		return s.PromptKey
	}
	if key("r1", at) != key("r1", at.In(time.FixedZone("", 3600))) || key("r1", at) == key("r1", at.Add(1)) || key("r1", at) == key("r2", at) {
		t.Errorf("keys %q", key("r1", at))
	}
	s := Settings{PromptKey: "of a sweep", SamePrompts: true}
	if s.KeyPrompts("r1", at); s.PromptKey != "of a sweep" || s.WhyRepeated() != "--same-prompts" {
		t.Errorf("key %q", s.PromptKey)
	}
}
