package loadgen

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestVerbsOfLinuxAreRefusedElsewhereInOneLine(t *testing.T) {
	var all []string
	for _, v := range newCommandLine(io.Discard).verbs {
		all = append(all, v.clause.FullCommand())
	}
	for verb := range linuxVerbs() {
		if !slices.Contains(all, verb) {
			t.Errorf("there is no verb %q", verb)
		}
		err := checkSystem(verb, "darwin")
		if err == nil || !strings.HasPrefix(err.Error(), verb+" needs Linux: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s on macOS: %v", verb, err)
		}
	}
	for _, verb := range all {
		if err := checkSystem(verb, "linux"); err != nil {
			t.Error(err)
		}
	}
	for _, client := range []string{"run", "sweep", "record", "check", "compare", "report", "publish", "import", "merge", "serve", "runs list", "campaign plans", "campaign power"} {
		if err := checkSystem(client, "darwin"); err != nil || !slices.Contains(all, client) {
			t.Errorf("%s: %v", client, err)
		}
	}
}
