package loadgen

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
)

func TestTablesOfRunsMaskHostileNames(t *testing.T) {
	hostile := "a\x1b[31m\tb\n" + strings.Repeat("ü", 500)
	e := rundir.Entry{Run: hostile, Arm: hostile, Model: hostile, Scenario: hostile, Group: hostile, State: rundir.EntryUnreadable, Valid: new(false), Pinned: true}
	var out strings.Builder
	if err := errors.Join(printEntries(&out, []rundir.Entry{e}), printChoices(&out, []rundir.RetentionChoice{{Entry: e, Why: hostile, Goes: true}})); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, "\x1b") || strings.Count(text, "\n") != 6 || !strings.Contains(text, "INVALID, pinned") {
		t.Errorf("%q", text)
	}
	if err := printEntries(full{}, []rundir.Entry{e}); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", errFull) }
