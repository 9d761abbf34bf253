package publish

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestAPackListsEverySlotOfItsCampaignsWithTheReasons(t *testing.T) {
	s := settingsFor(filepath.Join(t.TempDir(), "pack"))
	s.Slots = []Slot{
		{Campaign: "c", Number: 1, Model: "llama", Arm: "native", Scenario: "chat", Iteration: 1, Round: 1, Attempt: 1, Run: "run-0", Status: "finished"},
		{Campaign: "c", Number: 2, Model: "llama", Arm: "container", Scenario: "chat", Iteration: 1, Round: 1, Attempt: 1, Run: "run-x-" + secretHost, Status: "failed", Reason: "no answer of http://" + secretHost + ":8000 in /home/" + secretUser + "/vllm"},
		{Campaign: "c", Number: 3, Model: "llama", Arm: "container", Scenario: "chat", Iteration: 3, Round: 3, RepeatsRound: 1, Status: "pending", Reason: "the time-out of 300 s passed"},
	}
	if _, err := Make(t.Context(), plainRuns(t, 4, unchanged), s); err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(t, filepath.Join(s.Out, SlotsFile))
	if len(rows) != 3 || rows[0]["run"] != "run-0" || rows[0]["repeats_round"] != "" || rows[1]["status"] != "failed" || rows[1]["attempt"] != "1" || rows[2]["status"] != "pending" || rows[2]["repeats_round"] != "1" {
		t.Errorf("%v", rows)
	}
	if rows[1]["reason"] != "reason-1" || rows[2]["reason"] != "the time-out of 300 s passed" {
		t.Errorf("%v", rows)
	}
	files := everyFile(t, s.Out)
	for _, file := range []string{SlotsFile, IndexFile, MethodologyFile} {
		if !strings.Contains(files[file], "reason-1") || strings.Contains(files[file], secretHost) || strings.Contains(files[file], secretUser) {
			t.Errorf("%s: %s", file, files[file])
		}
	}
	s = settingsFor(filepath.Join(t.TempDir(), "pack"))
	if _, err := Make(t.Context(), plainRuns(t, 4, unchanged), s); err != nil || everyFile(t, s.Out)[SlotsFile] != "" {
		t.Errorf("runs of no campaign have slots (%v)", err)
	}
}
