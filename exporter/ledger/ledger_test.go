package ledger

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

func TestTheRemainderIsSignedAndStandsAtItsPlace(t *testing.T) {
	lines := []Line{{Name: Free, Bytes: 60}, {Name: GPUProcess, Bytes: 50}, {Name: PageCache, Unknown: true}}
	want := []Line{{Name: GPUProcess, Bytes: 50}, {Name: Unattributed, Bytes: -10}, {Name: PageCache, Unknown: true}, {Name: Free, Bytes: 60}}
	got := Split(100, lines)
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if Sum(got) != 100 || Of(got).Sum() != 100 {
		t.Errorf("they add up to %v and %v", Sum(got), Of(got).Sum())
	}
}

func TestAnUnknownLineIsNotZero(t *testing.T) {
	l := Of([]Line{{Name: Managed, Unknown: true}, {Name: Anon}})
	if _, there := l[Managed]; there {
		t.Error("an unknown line is in the ledger")
	}
	if bytes, there := l[Anon]; !there || bytes != 0 {
		t.Error("a line of 0 bytes is not in the ledger")
	}
	if _, known := l.Free(); known {
		t.Error("free memory is known of a ledger without it")
	}
	if bytes, known := (Ledger{Free: 3, FreeCMA: 4}).Free(); bytes != 7 || !known {
		t.Errorf("free is %v, %v", bytes, known)
	}
}

func TestAnUnknownLineHasNoBytesInJSON(t *testing.T) {
	lines := []Line{{Name: Managed, Unknown: true}, {Name: Anon}, {Name: Unattributed, Bytes: -3}}
	text, err := json.Marshal(lines)
	if want := `[{"line":"managed"},{"line":"anon","bytes":0},{"line":"unattributed","bytes":-3}]`; err != nil || string(text) != want {
		t.Fatalf("%s, %v, want %s", text, err, want)
	}
	var read []Line
	if err := json.Unmarshal(text, &read); err != nil || !slices.Equal(read, lines) {
		t.Errorf("read %v, %v", read, err)
	}
	if err := json.Unmarshal([]byte(`[{"line":"anon","bytes":"much"}]`), &read); err == nil {
		t.Error("a text is read as bytes")
	}
}

func TestATableOfOneMomentHasTheLargestLineFirstAndUnknownOnesLast(t *testing.T) {
	lines := []Line{{Name: Managed, Unknown: true}, {Name: Unattributed, Bytes: -3}, {Name: Anon, Bytes: 5}, {Name: Free, Bytes: 7}}
	var names []string
	for _, line := range BySize(lines) {
		names = append(names, line.Name)
	}
	if want := []string{Free, Anon, Unattributed, Managed}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

func TestTheDifferenceOfTwoLedgersAddsUpToTheDifferenceOfThePools(t *testing.T) {
	a := Ledger{Anon: 10, PageCache: 30, Unattributed: 5, Free: 55}             // 100
	b := Ledger{Anon: 14, GPUProcess: 40, Unattributed: -4, Free: 54, "tpu": 6} // 110
	beforeA, beforeB := maps.Clone(a), maps.Clone(b)
	got := b.Minus(a)
	if want := (Ledger{Anon: 4, Unattributed: -4 + 40 + 6 - 5 - 30, Free: -1}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got.Sum() != b.Sum()-a.Sum() {
		t.Errorf("it adds up to %v", got.Sum())
	}
	if !maps.Equal(a, beforeA) || !maps.Equal(b, beforeB) {
		t.Error("a ledger was changed")
	}
}

func TestTheDifferenceToALedgerWithoutSharedLinesIsAbsent(t *testing.T) {
	for name, other := range map[string]Ledger{"not observed": nil, "other lines": {Free: 1}} {
		if got := (Ledger{Anon: 1}).Minus(other); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLinesOutsideTheVocabularyAreLastByName(t *testing.T) {
	if got, want := InOrder(map[string]bool{"tpu": true, Free: true, "dsp": true, GPUProcess: true}), []string{GPUProcess, Free, "dsp", "tpu"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if kind := Named("tpu"); kind.Title != "tpu" || kind.Colour != "" {
		t.Errorf("%+v", kind)
	}
}

func TestMemoryOfOneNameIsOneLine(t *testing.T) {
	if got, want := Add(Add(Add(nil, "a", 1), "b", 2), "a", 3), []Line{{Name: "a", Bytes: 4}, {Name: "b", Bytes: 2}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
