package hostile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/xuri/excelize/v2"
	"go.yaml.in/yaml/v4"
	"golang.org/x/net/html"
)

// safeName is a name that no shell, browser or archive takes for anything else.
var safeName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// judges say what is wrong with a text of their kind. Every kind that is written has one: another fails.
var judges = map[string]func(text []byte) string{
	".html": judgeHTML, ".md": judgeMarkdown, ".csv": judgeCSV, ".xlsx": judgeWorkbook, ".json": judgeJSON, ".jsonl": judgeJSON,
	".txt": judgeTerminal, ".terminal": judgeTerminal, ".yaml": judgeYAML, ".prom": judgePage, ".cff": judgeYAML, "": judgeTerminal, ".lock": judgeTerminal,
	".svg": judgeHTML, ".shown": judgeShownJSON, ".umascope-hash-key": judgeTerminal,
}

// asItCame are files of other programs, byte for byte: logs of commands and engines, pages at borders, what a
// plan collects. They are data for those who open them, and no output of ours; secrets are looked for all the same.
var asItCame = regexp.MustCompile(`(^|/)(logs|pages|snapshots|captures|collected)/|\.log$|\.log\.gz$`)

// planned is the copy of a plan that a campaign keeps.
var planned = regexp.MustCompile(`^campaigns/planned/plan\.yaml$`)

// outputs looks at all that was written below a folder, and counts files by kind.
func outputs(t *testing.T, root string) map[string]int {
	t.Helper()
	kinds := map[string]int{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if name != "." && !safeName.MatchString(entry.Name()) {
			t.Errorf("name %q", name)
		}
		if entry.IsDir() {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		judge(t, kinds, name, content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

// judge looks at one output, and into what is packed in it.
func judge(t *testing.T, kinds map[string]int, name string, content []byte) {
	t.Helper()
	for what, secret := range secrets {
		if planned.MatchString(name) {
			continue // it is the plan, as somebody wrote it: with the secrets that they wrote into it
		}
		if bytes.Contains(content, []byte(secret)) {
			t.Errorf("%s holds %s", name, what)
		}
	}
	if packed, err := gzip.NewReader(bytes.NewReader(content)); err == nil {
		plain, err := io.ReadAll(packed)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		unpacked := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".tgz")
		if strings.HasSuffix(unpacked, ".tar") {
			judgeArchive(t, kinds, name, plain)
			return
		}
		judge(t, kinds, unpacked, plain)
		return
	}
	kind := filepath.Ext(name)
	kinds[kind]++
	if asItCame.MatchString(name) {
		return
	}
	one, known := judges[kind]
	if !known {
		t.Errorf("%s: nobody judges files of this kind", name)
	} else if problem := one(content); problem != "" {
		t.Errorf("%s: %s", name, problem)
	}
}

func judgeArchive(t *testing.T, kinds map[string]int, name string, content []byte) {
	t.Helper()
	for archive := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !filepath.IsLocal(header.Name) {
			t.Errorf("%s unpacks to %s", name, header.Name)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			judge(t, kinds, name+"/"+header.Name, text)
		}
	}
}

// judgeHTML reads a page as a browser does: the mark may be text and the value of an attribute that is no
// link and no script.
func judgeHTML(text []byte) string {
	if problem := control(text, "\n\t"); problem != "" {
		return problem
	}
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		return err.Error()
	}
	for node := range root.Descendants() {
		switch {
		case node.Type == html.CommentNode && strings.Contains(node.Data, mark):
			return "a comment with the mark"
		case node.Type == html.TextNode && (node.Parent.Data == "script" || node.Parent.Data == "style") && strings.Contains(node.Data, mark):
			return "a " + node.Parent.Data + " with the mark"
		case node.Type != html.ElementNode:
			continue
		case strings.Contains(node.Data, mark), node.Data == "iframe", node.Data == "object", node.Data == "base":
			return "an element " + node.Data
		}
		for _, attribute := range node.Attr {
			value := strings.ToLower(strings.TrimSpace(attribute.Val))
			if strings.Contains(attribute.Key, mark) || strings.HasPrefix(attribute.Key, "on") || strings.HasPrefix(value, "javascript:") ||
				attribute.Key == "style" && strings.Contains(value, mark) {
				return "an attribute " + attribute.Key + " of " + node.Data + ": " + value
			}
		}
	}
	return ""
}

// judgeMarkdown wants tables to keep their columns, and no markup or link of others.
func judgeMarkdown(text []byte) string {
	if problem := control(text, "\n"); problem != "" {
		return problem
	}
	border := regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\|`)
	columns, fenced := 0, false
	var outside strings.Builder // of fences, in which nothing is markup but their end
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		outside.WriteString(line)
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		found := len(border.FindAllString(line, -1))
		if columns != 0 && found != columns {
			return "a row of other columns: " + line
		}
		columns = found
	}
	if fenced {
		return "a fence that does not end"
	}
	if regexp.MustCompile(`(^|[^\\])<` + mark).MatchString(outside.String()) {
		return "markup"
	}
	if regexp.MustCompile(`(^|[^\\])\]\(javascript`).MatchString(outside.String()) {
		return "a link"
	}
	return ""
}

// formula says whether a spreadsheet would compute a cell.
func formula(cell string) bool {
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return false
	}
	return cell != "" && strings.ContainsAny(cell[:1], "=+@\t\r") || strings.HasPrefix(cell, "-") && strings.ContainsFunc(cell, unicode.IsLetter)
}

func judgeCSV(text []byte) string {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) // llama-benchy ends its lines as RFC 4180 does
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll() // which wants rows of as many cells as the first
	if err != nil {
		return err.Error()
	}
	for _, row := range rows {
		for _, cell := range row {
			if formula(cell) {
				return "a formula: " + cell
			}
		}
	}
	return control(text, "\n")
}

func judgeWorkbook(text []byte) string {
	book, err := excelize.OpenReader(bytes.NewReader(text))
	if err != nil {
		return err.Error()
	}
	defer book.Close()
	for _, tab := range book.GetSheetList() {
		rows, err := book.GetRows(tab)
		if err != nil {
			return err.Error()
		}
		for y, row := range rows {
			for x, cell := range row {
				at, err := excelize.CoordinatesToCellName(x+1, y+1)
				if err != nil {
					return err.Error()
				}
				computed, err := book.GetCellFormula(tab, at)
				if err != nil || computed != "" || formula(cell) || control([]byte(cell), "\n") != "" {
					return tab + " " + at + ": " + cell
				}
				if linked, _, _ := book.GetCellHyperLink(tab, at); linked {
					return tab + " " + at + ": a link"
				}
			}
		}
	}
	return ""
}

// judgeJSON keeps texts as they were sent; raw, it must not drive a terminal.
func judgeJSON(text []byte) string {
	if !utf8.Valid(text) {
		return "not UTF-8"
	}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var value any
		if err := decoder.Decode(&value); err == io.EOF {
			return steering(text)
		} else if err != nil {
			return err.Error()
		}
	}
}

func judgeYAML(text []byte) string {
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return err.Error()
	}
	return control(text, "\n")
}

// judgePage parses what Prometheus scrapes as strictly as it does.
func judgePage(text []byte) string {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return err.Error()
	}
	if families["uma_up"] != nil {
		return "a series that a label value made"
	}
	return ""
}

func judgeTerminal(text []byte) string { return control(text, "\n\t") }

// control finds what a terminal or the reading direction obeys.
func control(text []byte, but string) string {
	if !utf8.Valid(text) {
		return "not UTF-8"
	}
	for i, r := range string(text) {
		if !strings.ContainsRune(but, r) && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u00ad' && r != '\ufeff') {
			return strings.ToValidUTF8("holds "+regexp.QuoteMeta(string(text[max(0, i-40):i]))+" and then "+strings.ToUpper(strings.Trim(jsonOf(r), `"`)), "?")
		}
	}
	return ""
}

// steering finds raw bytes below a space: JSON has escapes for them. What lies above is kept as it was sent.
func steering(text []byte) string {
	if at := bytes.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' }); at >= 0 {
		return "holds a raw control character: " + jsonOf(rune(text[at]))
	}
	return ""
}

// judgeShownJSON wants of JSON for a terminal, beside that, what a terminal wants.
func judgeShownJSON(text []byte) string {
	if problem := judgeJSON(text); problem != "" {
		return problem
	}
	return control(text, "\n")
}

func jsonOf(r rune) string {
	content, _ := json.Marshal(string(r))
	return string(content)
}
