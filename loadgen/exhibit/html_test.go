package exhibit

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
)

func render(t *testing.T, title string, c compare.Comparison) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, title, c); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("UMASCOPE_PAGES"); dir != "" { // to be looked at
		if err := os.WriteFile(dir+"/"+t.Name()+".html", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// drawings are the SVG elements of a page. That each is well-formed XML is checked.
func drawings(t *testing.T, page string) []string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<svg viewBox.*?</svg>`).FindAllString(page, -1)
	for _, svg := range found {
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
	return found
}

func TestPublished(t *testing.T) {
	render(t, "Native against container", compared(t, published(), compare.Options{Within: []string{"model"}}))
}
func TestSweep(t *testing.T) {
	e := published()
	e.models, e.loads, e.runs, e.blocked = e.models[:1], []int{1, 2, 4, 8, 16}, 4, false
	render(t, "Sweep", compared(t, e, compare.Options{Within: []string{"concurrency"}}))
}
func TestThree(t *testing.T) {
	e := published()
	e.models, e.arms, e.blocked = e.models[:1], []string{"off", "cpu_only", "cpu_disk", "a-very-long-arm-name-of-a-docker-option"}, false
	render(t, "KV modes", compared(t, e, compare.Options{}))
}
