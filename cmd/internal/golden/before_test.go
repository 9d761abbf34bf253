package golden

import (
	"bytes"
	"encoding/json"
	"testing"
)

// before is a summary with sorted keys and numbers as they stand, without the members that some golden runs do not have.
func before(t *testing.T, text string) string {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	var summary map[string]any
	if err := decoder.Decode(&summary); err != nil {
		t.Fatal(err)
	}
	delete(summary, "made")
	delete(summary, "growth")
	machines, _ := summary["machines"].([]any)
	for _, machine := range machines {
		delete(machine.(map[string]any), "growth")
	}
	written, err := json.Marshal(summary)
	if err != nil {
		t.Fatal(err)
	}
	return compact(t, written)
}
