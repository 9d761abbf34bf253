package loadgen

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
)

func TestCampaignPowerSaysHowManyRunsItTakes(t *testing.T) {
	code, stdout, stderr := invokeVerb(t, "campaign", "power", "--cv", "1.5%", "--margin", "2%")
	if code != exitDone || !strings.Contains(stdout, "    11  to show two equal arms equivalent within 2 %\n    11  to find a difference of 2 %\n") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = invokeVerb(t, "campaign", "power", "--cv", "0.015", "--difference", "5%", "--power", "90%")
	if code != exitDone || !strings.Contains(stdout, "to show two equal arms equivalent within 2 %\n     4  to find a difference of 5 %\n") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

func TestCampaignPowerNamesWhatIsWrong(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--cv: give how much runs differ, such as 1.5%, or take it from earlier ones by --from"},
		{[]string{"--cv", "x"}, `--cv: "x" is not between 0.01% and 1000%`},
		{[]string{"--cv", "0"}, `--cv: "0" is not between 0.01% and 1000%`},
		{[]string{"--cv", "1%", "--margin", "-2%"}, `--margin: "-2%" is not between 0.01% and 99.99%`},
		{[]string{"--cv", "1%", "--power", "100%"}, `--power: "100%" is not between 0.01% and 99.99%`},
		{[]string{"--cv", "1%", "--from", empty}, "--cv and --from: one of the two"},
		{[]string{"--from", empty}, "--from: "},
		{[]string{"--from", empty, "--metric", "speed"}, `--metric: "speed" is no metric; near it are `},
		{[]string{"--cv", "900%", "--margin", "0.01%"}, "to show arms equal within 0.01 %: "},
	} {
		code, stdout, stderr := invokeVerb(t, append([]string{"campaign", "power"}, c.args...)...)
		if code != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "uma-load: "+c.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d: %s%s\nwant %s", c.args, code, stdout, stderr, c.want)
		}
	}
}

// putThroughput writes another throughput into the summary of a run.
func putThroughput(t *testing.T, dir string, value float64, valid bool) {
	t.Helper()
	path := filepath.Join(dir, rundir.SummaryFile)
	summary := read[map[string]any](t, path)
	summary["throughput"].(map[string]any)["output_tokens_per_second"] = value
	summary["valid"] = valid
	text, err := json.Marshal(summary)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, string(text))
}

// Both arms have runs 2 % apart: ln(1.02)/sqrt(2) is a CV of 1.4 %, whatever lies between the arms.
func TestCampaignPowerTakesTheSpreadOfEarlierRunsWithinTheirArms(t *testing.T) {
	t.Parallel()
	url, out := engine(t, 0), t.TempDir()
	measured := func(name, arm string, value float64, valid bool) {
		args := slices.Concat([]string{"run", "--url", url, "--requests=2", "--warmup=0", "--output-tokens=4", "--web.listen-address=127.0.0.1:0", "--out", out, "--run-id", name, "--label", "arm=" + arm}, uncontended)
		if code, _, stderr := invokeVerb(t, args...); code != exitDone {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		putThroughput(t, filepath.Join(out, name), value, valid)
	}
	for i, v := range []float64{100, 102} {
		measured(fmt.Sprintf("a%d", i), "a", v, true)
		measured(fmt.Sprintf("b%d", i), "b", 2*v, true)
	}
	code, stdout, stderr := invokeVerb(t, "campaign", "power", "--from", out)
	want := "output_tokens_per_second of runs with equal arm, model, engine, scenario and host: CV 1.4 %, 95 % interval 0.729 % to 8.82 % (2 groups, 2 degrees of freedom)\n"
	if code != exitDone || !strings.HasPrefix(stdout, want) {
		t.Errorf("exit %d: %s%s\nwant %s", code, stdout, stderr, want)
	}
	if code, _, stderr := invokeVerb(t, "campaign", "power", "--from", out, "--by", "colour"); code != exitUsage || stderr != "uma-load: --from: no run has a label \"colour\", which --by names\n" {
		t.Errorf("arms that no run tells: exit %d: %s", code, stderr)
	}
	measured("a9", "a", 1, false) // one that is invalid says nothing
	if _, again, _ := invokeVerb(t, "campaign", "power", "--from", out); again != stdout {
		t.Errorf("with an invalid run: %s", again)
	}
	code, stdout, stderr = invokeVerb(t, "campaign", "power", "--from", filepath.Join(out, "a0"), "--from", filepath.Join(out, "b0"))
	if want := "uma-load: --from: no two runs of one arm: of 2 runs none has another valid one of its arm with a figure output_tokens_per_second\n"; code != exitUsage || stderr != want {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}
