package loadgen

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/publish"
)

// A plan of two arms whose load is a command. Its sixth run has half the throughput of the others.
const outlyingPlan = `schema: umascope.plan/1
name: outlying
models: [{name: m}]
arms: [{name: one}, {name: two}]
scenarios: [{name: s, record: {argv: [%q], extract: trtllm, flags: {before: 0s, after: 0s}}}]
iterations: 3
primary: tool_reported_output_tokens_per_second
margins: {tool_reported_output_tokens_per_second: 3%%}
gates: {off: [cooldown, gpu_celsius, cpu_ratio, mem_free_within]}
`

func TestACampaignRepeatsTheRoundOfARunThatIsOffAndShowsBothVerdicts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, counter := filepath.Join(dir, "plan.yaml"), filepath.Join(dir, "counter")
	tool := script(t, fmt.Sprintf(`echo x >> %[1]s
n=$(wc -l < %[1]s)
if [ $n = 6 ]; then v=50; else v=100.$n; fi
echo "Total Output Throughput (tokens/sec): $v"
`, counter))
	if err := os.WriteFile(path, fmt.Appendf(nil, outlyingPlan, tool), 0o644); err != nil {
		t.Fatal(err)
	}
	run := []string{"campaign", "run", path, "--out", dir, "--web.listen-address=127.0.0.1:0"}
	code, stdout, stderr := invokeVerb(t, run...)
	if code != exitDone || !strings.Contains(stdout, "decides: tool_reported_output_tokens_per_second of scenario s, margin 3 %, n = 3 runs of each arm\n") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	if _, status, _ := invokeVerb(t, "campaign", "status", "--out", dir); !strings.Contains(status, "not repeatable  m, two, s: CV ") {
		t.Errorf("status:\n%s", status)
	}
	code, stdout, stderr = invokeVerb(t, append(run, "--repeat-outliers")...)
	if code != exitDone || !strings.Contains(stdout, "of 8 slots 8 finished") || !strings.Contains(stdout, "pairs_added") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "outlying", comparisonFile))
	if err != nil {
		t.Fatal(err)
	}
	var c compare.Comparison
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	m := c.Strata[0].Pairs[0].Metrics[0]
	if !m.Primary || m.A.N != 4 || m.B.N != 4 || m.VerdictPlanned == "" || m.Margin.Value != 0.03 {
		t.Errorf("%+v", m)
	}
	pack := filepath.Join(t.TempDir(), "pack")
	if code, _, stderr := invokeVerb(t, "publish", filepath.Join(dir, "outlying"), "--out", pack); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	slots, err := os.ReadFile(filepath.Join(pack, publish.SlotsFile))
	if err != nil || strings.Count(string(slots), ",finished,") != 8 {
		t.Errorf("%s (%v)", slots, err)
	}
	facts, err := campaign.ReadFacts(filepath.Join(dir, "outlying"))
	if err != nil || facts.Decides == nil || facts.Decides.N != 3 || facts.Slots[7].Repeats != 3 {
		t.Errorf("%+v %+v (%v)", facts.Decides, facts.Slots, err)
	}
}

// What a plan does not say stands in the vocabulary: it is printed and kept as if the plan said it.
func TestWhatDecidesIsThatOfThePlanElseOfTheVocabulary(t *testing.T) {
	for more, want := range map[string]campaign.Decides{
		"": {N: 10, Primary: map[string]string{"s": "output_tokens_per_second", "t": "time_to_first_token_p50_seconds", "r": "tool_reported_output_tokens_per_second"},
			Margins: map[string]string{"output_tokens_per_second": "2 %", "time_to_first_token_p50_seconds": "2 %", "tool_reported_output_tokens_per_second": "2 %"}},
		"iterations: 4\nprimary: kv_capacity_bytes\nmargins: {kv_capacity_bytes: 2GiB, gpu_end_celsius: 3C}\n": {N: 4, Primary: map[string]string{"s": "kv_capacity_bytes", "t": "kv_capacity_bytes", "r": "kv_capacity_bytes"},
			Margins: map[string]string{"kv_capacity_bytes": "2.00 GiB", "gpu_end_celsius": "3.0 °C"}},
	} {
		p := planned(t, "scenarios: [{name: s, run: {}}, {name: t, run: {scenario: multi_turn}}, {name: r, record: {argv: [x]}}]\n"+more)
		if err := checkNames(p); err != nil {
			t.Fatal(err)
		}
		if got := decidesOf(p); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s:\n got %v\nwant %v", more, got, want)
		}
	}
	for more, want := range map[string]string{
		"primary: speed\n": `primary: "speed" is no metric; near it are `,
		"margins: {output_tokens_per_second: 2MHz}\n": `margins.output_tokens_per_second: "output_tokens_per_second=2MHz": "MHz" is no unit of per_second`,
		"margins: {speed: 2%}\n":                      `margins.speed: "speed=2%": "speed" is no metric`,
	} {
		if err := checkNames(planned(t, "scenarios: [{name: s, run: {}}]\n"+more)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", more, err, want)
		}
	}
}

// The record that the arms were compared is what campaign run and compare --save leave in the folder.
func TestAComparisonOfACampaignIsRemembered(t *testing.T) {
	for _, file := range []string{comparisonFile, "comparisons/x.json"} {
		dir := t.TempDir()
		if wasCompared(dir) {
			t.Error("an empty folder was compared")
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		overwrite(t, filepath.Join(dir, file), "{}")
		if !wasCompared(dir) {
			t.Errorf("%s is overlooked", file)
		}
	}
}
