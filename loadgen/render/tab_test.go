package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

func TestATabIsNamedAsExcelAllows(t *testing.T) {
	used := []string{"Summary", "native 7B"}
	for text, want := range map[string]string{
		"native":                   "native",
		"Native 7b":                "Native 7b 2",
		"summary":                  "summary 2",
		"":                         "_",
		"'":                        "_",
		"history":                  "_history",
		"a[1]:b*c?d/e\\f":          "a_1__b_c_d_e_f",
		"'quoted'":                 "quoted",
		"tab\x1b[31m":              "tab__31m",
		strings.Repeat("long ", 9): "long long long long long long l",
	} {
		if got := TabName(text, used); got != want {
			t.Errorf("%q is called %q, want %q", text, got, want)
		}
	}
}

func FuzzTabName(f *testing.F) {
	for _, text := range []string{"native", "", "'", "a[1]:b*c?d/e\\f", strings.Repeat("x", 40), strings.Repeat("𝄞", 20), "history", "日本語のモデル"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		var used []string
		for _, text := range []string{a, b, a, "Summary", a + b} {
			name := TabName(text, used)
			if slices.ContainsFunc(used, func(other string) bool { return strings.EqualFold(other, name) }) {
				t.Fatalf("%q is called %q, as one of %q", text, name, used)
			}
			used = append(used, name)
		}
		book := excelize.NewFile()
		defer book.Close()
		for _, name := range used {
			if _, err := book.NewSheet(name); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		}
		if got := book.GetSheetList()[1:]; !slices.Equal(got, used) {
			t.Errorf("tabs %q, want %q", got, used)
		}
	})
}
