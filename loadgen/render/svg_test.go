package render

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func hostileFigure() Figure {
	hostile := "a<script>\x1b[31m&\"'" + strings.Repeat(" word", 60)
	f := Figure{Title: hostile, Caption: hostile, Legend: []LegendItem{{Class: "c0", Text: hostile}, {Class: "line c1", Text: "b"}}}
	return f.Draw(func(width, height float64) *Drawing {
		frame := NewFrame(width, height, LinearAxis("x", 0, 10, 1, 5), BytesAxis(0, 1<<33), hostile)
		frame.Text("mark-text", 1, 2, "start", hostile)
		return frame.Drawing
	})
}

func TestAFigureIsAFileOfItsOwn(t *testing.T) {
	var out strings.Builder
	if err := SVG(&out, hostileFigure()); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	decoder := xml.NewDecoder(strings.NewReader(text))
	words := ""
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if start, is := token.(xml.StartElement); is && start.Name.Local == "script" {
			t.Error("a name became an element")
		}
		if data, is := token.(xml.CharData); is {
			words += string(data)
		}
	}
	for _, part := range []string{"a<script>", "--ground", "GiB"} {
		if !strings.Contains(words, part) {
			t.Errorf("%q is missing", part)
		}
	}
	if !strings.HasPrefix(text, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 `) || strings.Contains(text, "\x1b") {
		t.Errorf("%.200q", text)
	}
}

func TestAFigureThatIsNotDrawnIsNoFile(t *testing.T) {
	if err := SVG(io.Discard, Figure{Title: "empty"}); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("error %v", err)
	}
}

func TestWordsAreWrapped(t *testing.T) {
	if lines := wrap("one two three fourteen", 8); strings.Join(lines, "|") != "one two|three|fourteen" {
		t.Errorf("%q", lines)
	}
	if lines := wrap("", 8); lines != nil {
		t.Errorf("%q", lines)
	}
}
