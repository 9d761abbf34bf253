package server

import (
	"testing"
)

func TestAModelIsSimulatedIfItsOwnerSaysSo(t *testing.T) {
	for owner, want := range map[string]bool{"umascope-simulated": true, "vllm-simulated": true, "vllm": false, "": false} {
		if got := (Model{OwnedBy: owner}).Simulated(); got != want {
			t.Errorf("owned by %q: %t", owner, got)
		}
	}
}
