package summary

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/summary/testrun"

	"github.com/umascope/umascope/loadgen/openai"
)

// several batches of records, in the order of their index.
func manyLines(t *testing.T) (string, int) {
	t.Helper()
	records := testrun.Steady(5000)
	text := testrun.JSONLines(t, records...)
	if len(text) < 5*batchBytes {
		t.Fatalf("%d bytes are too few batches", len(text))
	}
	return text, len(records)
}

func TestRecordsKeepTheOrderOfTheFile(t *testing.T) {
	text, n := manyLines(t)
	next := 0
	for record, err := range decodeRecords(strings.NewReader(text), 2) {
		if err != nil || record.Index != next {
			t.Fatalf("record %d (%v), want %d", record.Index, err, next)
		}
		next++
	}
	if next != n {
		t.Errorf("%d records of %d", next, n)
	}
}

func TestAnErrorComesAfterTheRecordsBeforeIt(t *testing.T) {
	text, n := manyLines(t)
	for name, test := range map[string]struct {
		text, says string
		records    int
	}{
		"torn":    {text + `{"run":`, "line 5001: the last line is torn", n},
		"garbage": {text + "x\n" + text, "line 5001: invalid character", n},
		"endless": {text + strings.Repeat("x", maxRecordBytes+1), "line 5001: longer than", n},
	} {
		records := 0
		var last error
		for _, err := range decodeRecords(strings.NewReader(test.text), 2) {
			if last = err; err == nil {
				records++
			}
		}
		if records != test.records || last == nil || !strings.Contains(last.Error(), test.says) || errors.Is(last, ErrTorn) != (name == "torn") {
			t.Errorf("%s: %d records, then %v", name, records, last)
		}
	}
}

// TestWhoStopsEarlyLeavesNothingRunning relies on synctest, which fails a test that ends with
// goroutines still blocked.
func TestTheLongestAnswerThatAClientTakesCanBeReadBack(t *testing.T) {
	// An answer of 24 hours, the longest that its deltas and read numbers get.
	longest := testrun.Answered(0, 0, 10, 20)
	step := int64(24*time.Hour) / openai.MaxEvents
	longest.ArrivalsNS = slices.Repeat([]int64{step}, openai.MaxEvents)
	longest.ArrivalTokens = slices.Repeat([]int{10}, openai.MaxEvents)
	longest.ArrivalKinds = strings.Repeat("t", openai.MaxEvents)
	longest.ReadIDs = make([]int, openai.MaxEvents)
	for i := range longest.ReadIDs {
		longest.ReadIDs[i] = i + 1
	}
	text, err := json.Marshal(longest)
	if err != nil {
		t.Fatal(err)
	}
	for record, err := range decodeRecords(bytes.NewReader(append(text, '\n')), 2) {
		if err != nil || len(record.ArrivalsNS) != openai.MaxEvents {
			t.Fatalf("%d arrivals, %v", len(record.ArrivalsNS), err)
		}
	}
}

func TestWhoStopsEarlyLeavesNothingRunning(t *testing.T) {
	text, _ := manyLines(t)
	synctest.Test(t, func(t *testing.T) {
		for record := range decodeRecords(strings.NewReader(text), 2) {
			if record.Index == 3 {
				break
			}
		}
	})
}
