package grafana

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
)

// chartLibrary is the sum of dist/echarts.min.js of the npm package echarts 6.1.0.
const chartLibrary = "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"

func readEmbedded(t *testing.T, name string) string {
	t.Helper()
	content, err := embedded.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// ours calls check with every script, style and page of ours.
func ours(t *testing.T, check func(name, content string)) {
	t.Helper()
	count := 0
	err := fs.WalkDir(embedded, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.HasPrefix(name, "assets/echarts/") {
			count++
			check(name, readEmbedded(t, name))
		}
		return err
	})
	if err != nil || count < 10 {
		t.Fatalf("%d files, %v", count, err)
	}
}

func TestTheChartLibraryIsTheOneThatWasPublishedAndHasItsLicence(t *testing.T) {
	sum := sha256.Sum256([]byte(readEmbedded(t, "assets/echarts/echarts.min.js")))
	if got := hex.EncodeToString(sum[:]); got != chartLibrary {
		t.Errorf("sum %s", got)
	}
	for name, want := range map[string]string{
		"LICENSE": "Apache License", "NOTICE": "Apache ECharts", "LICENSE-d3": "Mike Bostock", "README.md": "Apache ECharts 6.1.0",
	} {
		if !strings.Contains(readEmbedded(t, "assets/echarts/"+name), want) {
			t.Errorf("%s says nothing of %s", name, want)
		}
	}
}

func TestPagesLoadNothingFromElsewhere(t *testing.T) {
	outside := regexp.MustCompile(`(https?:)?//[a-zA-Z0-9.-]+\.[a-z]{2,}|@import|url\(`)
	ours(t, func(name, content string) {
		if found := outside.FindString(content); found != "" {
			t.Errorf("%s mentions %s", name, found)
		}
	})
	for _, page := range []string{"/", "/d/b"} {
		header := get(t, open(t, PreviewConfig{Prometheus: "http://127.0.0.1:1"}), page).Header()
		policy := header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: policy %q lacks %s", page, policy, want)
			}
		}
		if strings.Contains(policy, "unsafe") || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", page, header)
		}
	}
}

// Labels come from outside: a script that writes markup would run what is in them.
func TestScriptsMakeElementsAndNeverMarkup(t *testing.T) {
	markup := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|createContextualFragment|srcdoc|setAttribute\("on`)
	ours(t, func(name, content string) {
		if found := markup.FindString(content); found != "" {
			t.Errorf("%s uses %s", name, found)
		}
		if path.Ext(name) == ".html" && regexp.MustCompile(`<script>|<style|\son[a-z]+=|\sstyle=`).MatchString(content) {
			t.Errorf("%s has a script or style written into it, which the policy refuses", name)
		}
	})
}

func TestHostileNamesAreInertOnThePage(t *testing.T) {
	handler := open(t, PreviewConfig{Prometheus: "http://127.0.0.1:1"})
	for _, page := range []string{"/", "/d/b", "/d/" + "%3Cscript%3E"} {
		body := get(t, handler, page).Body.String()
		if strings.Contains(body, "<script>") || strings.Contains(body, "<b>$host") {
			t.Errorf("%s: %s", page, body)
		}
	}
	if body := get(t, handler, "/").Body.String(); !strings.Contains(body, "Board &lt;b&gt;") {
		t.Errorf("the title is lost: %s", body)
	}
}

func TestPagesAreMarkedAsAPreviewAndListWhatItLeavesOut(t *testing.T) {
	handler := open(t, PreviewConfig{Prometheus: "http://127.0.0.1:1"})
	for _, page := range []string{"/", "/d/b"} {
		if body := get(t, handler, page).Body.String(); !strings.Contains(body, "This is a preview, not Grafana.") || !strings.Contains(body, "http://127.0.0.1:1") {
			t.Errorf("%s: %s", page, body)
		}
	}
	if body := get(t, handler, "/d/b").Body.String(); !strings.Contains(body, "no editing") {
		t.Error("what it does not do is not said")
	}
}

func TestScriptsStaySmall(t *testing.T) {
	ours(t, func(name, content string) {
		if lines := strings.Count(content, "\n"); lines > 400 {
			t.Errorf("%s has %d lines", name, lines)
		}
	})
}
