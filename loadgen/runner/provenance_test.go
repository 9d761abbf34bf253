package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
)

// TestARunGoesOnWithoutAKey: a key that cannot be read costs the hashes and nothing else.
func TestARunGoesOnWithoutAKey(t *testing.T) {
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, server.ProvenanceKeyFile), []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &rundir.Manifest{Labels: map[string]string{"host": "elsewhere"}}
	(&run{keep: Keep{Out: out}, manifest: m}).identify(t.Context(), nil, []string{"http://127.0.0.1:1"}, nil)
	if m.Provenance == nil || m.Provenance.Key != "" || len(m.Provenance.Missing) != 1 || !strings.Contains(m.Provenance.Missing[0], "it is no key") {
		t.Errorf("%+v", m.Provenance)
	}
}

// TestWhatWasObservedOfAnEngineStaysBesideItsPlan: a campaign describes a run several times.
func TestWhatWasObservedOfAnEngineStaysBesideItsPlan(t *testing.T) {
	planned := rundir.RanProcess{Name: "engine", ReadFrom: rundir.ReadFromPlan}
	e := &server.EngineLifecycle{
		Facts: func() *rundir.Campaign { return nil },
		Ran: func() *rundir.Provenance {
			return &rundir.Provenance{Key: "k", Processes: []rundir.RanProcess{planned}}
		},
	}
	m := &rundir.Manifest{Provenance: &rundir.Provenance{Key: "k", Processes: []rundir.RanProcess{planned, {Name: "server", ReadFrom: rundir.ReadFromContainer}}, Missing: []string{"x"}}}
	for range 2 {
		(&run{env: Environment{Engine: e}, manifest: m}).describeEngine()
	}
	if p := m.Provenance.Processes; len(p) != 2 || p[1].Name != "server" || len(m.Provenance.Missing) != 1 {
		t.Errorf("%+v", m.Provenance)
	}
}
