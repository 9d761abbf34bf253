package server

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
)

func TestAServerOfAnotherModelThanPinnedIsRefusedByName(t *testing.T) {
	for _, c := range []struct {
		pinned, served string
		refused        bool
	}{
		{"", "a", false}, {"a", "a", false}, {"a", "b", true}, {"/srv/models/org/a", "a", false}, {"org/a", "/models/a@main", false}, {"org/a", "org/a-fp8", true},
	} {
		err := Target{Known: supported.Engines(), Pinned: c.pinned}.holdPinned(Model{ID: c.served})
		if (err != nil) != c.refused || c.refused && (!strings.Contains(err.Error(), `"`+c.pinned+`"`) || !strings.Contains(err.Error(), `"`+c.served+`"`)) {
			t.Errorf("%q, served %q: %v", c.pinned, c.served, err)
		}
	}
}
