package publish

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/umascope/umascope/loadgen/openai"
)

// BenchmarkRequests cleans a thousand records of 32 arrivals.
func BenchmarkRequests(b *testing.B) {
	record := openai.Record{Run: "r", Phase: "measure", PromptSHA256: "0123456789abcdef", Status: openai.StatusOK, ArrivalKinds: "tttttttttttttttttttttttttttttttt", Conversation: "c"}
	for i := range 32 {
		record.ArrivalsNS = append(record.ArrivalsNS, int64(i)*1e6)
		record.ReadIDs = append(record.ReadIDs, i)
		record.ArrivalTokens = append(record.ArrivalTokens, 1)
	}
	text, err := json.Marshal(record)
	if err != nil {
		b.Fatal(err)
	}
	text = bytes.Repeat(append(text, '\n'), 1000)
	n := knownNames()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := lines[openai.Record](n)(bytes.NewReader(text), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
