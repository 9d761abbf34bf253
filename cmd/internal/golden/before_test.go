package golden

import (
	"bytes"
	"encoding/json"
	"testing"
)

// before is a summary in the form umascope.summary/1, with sorted keys and numbers as they stand: memory had other names
// then, and not yet those figures that follow from others. One of that form stays as it is.
func before(t *testing.T, text string) string {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	var summary map[string]any
	if err := decoder.Decode(&summary); err != nil {
		t.Fatal(err)
	}
	if summary["schema"] == "umascope.summary/2" {
		delete(summary, "made")
		delete(summary, "growth")
		summary["schema"] = "umascope.summary/1"
		memoryBefore(summary["memory"])
		machines, _ := summary["machines"].([]any)
		for _, machine := range machines {
			delete(machine.(map[string]any), "growth")
			memoryBefore(machine.(map[string]any)["memory"])
		}
	}
	return compact(t, marshalled(t, summary))
}

func memoryBefore(memory any) {
	of, there := memory.(map[string]any)
	if !there {
		return
	}
	for now, then := range map[string]string{"occupied_without_kv_bytes": "excluding_kv_bytes", "unavailable_peak_bytes": "used_peak_bytes"} {
		if value, there := of[now]; there {
			of[then] = value
			delete(of, now)
		}
	}
	for _, now := range []string{"pool_bytes", "available_min_bytes", "occupied_peak_bytes"} {
		delete(of, now)
	}
}

func marshalled(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
