package loadgen

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/figure"
)

// Scripts and notes have names that metrics had before: they give what today's names give, and one line on stderr.
func TestOldNamesOfMetricsAreAcceptedWithANotice(t *testing.T) {
	t.Parallel()
	runs := importPublished(t)
	for name, test := range map[string]struct {
		args, today []string
		notice      string
	}{
		"--margin": {
			[]string{"compare", runs, "--by=arm", "--within=model", "--csv", "--margin=memory_excluding_kv_bytes=2GiB"},
			[]string{"compare", runs, "--by=arm", "--within=model", "--csv", "--margin=memory_occupied_without_kv_bytes=2GiB"},
			"uma-load: --margin: memory_excluding_kv_bytes is called memory_occupied_without_kv_bytes now\n",
		},
		"--primary": {
			[]string{"compare", runs, "--by=arm", "--within=model", "--json", "--primary=memory_with_kv_bytes"},
			[]string{"compare", runs, "--by=arm", "--within=model", "--json", "--primary=memory_occupied_when_ready_bytes"},
			"uma-load: --primary: memory_with_kv_bytes is called memory_occupied_when_ready_bytes now\n",
		},
		"report --metric": {
			[]string{"report", runs, "--metric=x=kv_capacity_bytes/memory_excluding_kv_bytes"},
			[]string{"report", runs, "--metric=x=kv_capacity_bytes/memory_occupied_without_kv_bytes"},
			"uma-load: --metric: memory_excluding_kv_bytes is called memory_occupied_without_kv_bytes now\n",
		},
		"campaign power --metric": {
			[]string{"campaign", "power", "--from", runs, "--metric=memory_excluding_kv_bytes"},
			[]string{"campaign", "power", "--from", runs, "--metric=memory_occupied_without_kv_bytes"},
			"uma-load: --metric: memory_excluding_kv_bytes is called memory_occupied_without_kv_bytes now\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, printed, stderr := invokeVerb(t, test.args...)
			today, wanted, quiet := invokeVerb(t, test.today...)
			if code != exitDone || today != exitDone || printed != wanted || !strings.Contains(printed, figure.MemoryOccupiedWithoutKV) && strings.HasPrefix(name, "--") {
				t.Errorf("exit %d: %.2000s\nby today's name %d: %.2000s", code, printed, today, wanted)
			}
			if stderr != quiet+test.notice && stderr != test.notice+quiet {
				t.Errorf("stderr is %q, and %q by today's name; want %q more", stderr, quiet, test.notice)
			}
		})
	}
	if code, _, stderr := invokeVerb(t, "compare", runs, "--by=arm", "--margin=memory_used_peak_bytes=1GiB", "--margin=memory_unavailable_peak_bytes=2GiB"); code != exitUsage || !strings.Contains(stderr, "memory_unavailable_peak_bytes is given twice") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
