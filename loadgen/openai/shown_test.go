package openai

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPrintedJSONKeepsATextWithoutObeyingIt(t *testing.T) {
	const text = "\u009b2J\x7f\u202eabc\u2066\u2028 ü 漢 🂡 \U000e0001 \x00\x1b[31m\u00a0<a>&"
	var out bytes.Buffer
	if err := PrintJSON(&out, map[string]string{text: text}); err != nil {
		t.Fatal(err)
	}
	for _, r := range out.String() {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("%q is printed", r)
		}
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back[text] != text {
		t.Errorf("%q, %v", back, err)
	}
	if !bytes.Contains(out.Bytes(), []byte("ü 漢 🂡")) {
		t.Errorf("letters are escaped: %s", out.String())
	}
}

// FuzzPrintedJSON: what is printed means the same as the value, and has nothing that a terminal obeys.
func FuzzPrintedJSON(f *testing.F) {
	f.Add("\u009b2J")
	f.Add("\xff\u202e\U000e0001")
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		if err := PrintJSON(&out, []string{text}); err != nil {
			t.Fatal(err)
		}
		for _, r := range out.String() {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Errorf("%q is printed", r)
			}
		}
		var back []string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || utf8.ValidString(text) && back[0] != text {
			t.Errorf("%q, %v", back, err)
		}
	})
}
