package story

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

func render(t *testing.T, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("UMASCOPE_PAGES"); dir != "" { // to be looked at
		if err := os.WriteFile(dir+"/"+t.Name()+".html", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestTheWholePage(t *testing.T) {
	text := render(t, whole(t))
	if strings.Contains(text, `class="notice bad absent"`) {
		t.Error("something is said to be missing of a page that lacks nothing")
	}
	for _, svg := range regexp.MustCompile(`(?s)<svg viewBox.*?</svg>`).FindAllString(text, -1) {
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, svg)
			}
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("a coordinate is no number: %.300s", svg)
		}
	}
}
