package summary

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/umascope/umascope/loadgen/summary/testrun"

	"github.com/umascope/umascope/loadgen/openai"
)

// FuzzDecodeRecord holds our decoding of a line against that of encoding/json alone.
func FuzzDecodeRecord(f *testing.F) {
	for _, seed := range []string{
		testrun.JSONLines(f, testrun.Answered(1, 20, 10, 20, 30)), `{"arrivals_ns":[]}`, `{"arrivals_ns":null,"read_ids":[ 1 , 2 ]}`, `{"read_ids":[1.5]}`,
		`{"arrivals_ns":[-0,01]}`, `{"arrivals_ns":[9223372036854775808]}`, `{"arrivals_ns":[-9223372036854775808,1]}`, `{"arrival_tokens":{"a":1}}`,
		`{"arrival_tokens":[[1]],"run":"x"}`, `{"ARRIVALS_NS":[1]}`, `{"arrivals_ns":[1],"arrivals_ns":[2,3]}`, `{"arrivals_ns":"x"}`, `[`, ``, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want openai.Record
		wantErr := json.Unmarshal(text, &want)
		got, err := decodeRecord(text)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: error %v, encoding/json says %v", text, err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v, encoding/json says %+v", text, got, want)
		}
	})
}
