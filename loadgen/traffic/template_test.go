package traffic

import (
	"strings"
	"testing"
)

func TestLlama3FramesEveryMessageAndOpensTheAnswer(t *testing.T) {
	template, err := Llama3()
	if err != nil {
		t.Fatal(err)
	}
	got, err := template.Render([]Message{{"system", "Be brief."}, {"user", "<b>Hi</b>"}})
	want := "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n<b>Hi</b><|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
	if err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

func TestATemplateThatCannotWorkIsRefused(t *testing.T) {
	for source, says := range map[string]string{
		"":                                    "leaves out",
		"{{(index .Messages 0).Content}}":     "leaves out",
		"{{range .Messages}}{{.Text}}{{end}}": "Text",
		"{{range .Messages}}{{.Content}}":     "EOF",
		`{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`: "",
		strings.Repeat(" ", maxTemplateBytes+1):                 "longer",
	} {
		if _, err := ParseTemplate(source); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v", source, err)
		}
	}
}

func TestATemplateThatWritesWithoutEndIsStopped(t *testing.T) {
	source := `{{range .Messages}}{{.Content}}{{end}}{{$m := .Messages}}{{define "r"}}{{range .}}{{.Content}}{{end}}{{end}}` +
		strings.Repeat(`{{template "r" $m}}`, 100)
	template, err := ParseTemplate(source)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := template.Render([]Message{{"user", strings.Repeat("x", 1<<20)}}); err == nil {
		t.Error("a hundred times a mebibyte was written")
	}
}
