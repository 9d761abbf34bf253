package exporter

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
)

// hostileName is what a process, a container, a model or a device may call itself: HTML, terminal sequences,
// a title, a Markdown cell, a spreadsheet formula, a text that runs backwards, bytes that are no text.
const hostileName = "<script>alert(1)</script>\x1b[31m\x1b]0;owned\x07|=cmd()\u202e\u009b2J\xff\"\\"

// hostileFiles replaces every name in the files of a host.
func hostileFiles(t *testing.T, dir hostfs.Dir) {
	t.Helper()
	names := regexp.MustCompile(`(/comm|/cgroup|/status|/stat|/model|/product_name|/sys_vendor|/firmware_rev|/name|/type|_label|_type)$`)
	cgroup := regexp.MustCompile(`(?m)^0::/.*$`)
	editAll(t, dir, func(name string, content []byte) []byte {
		switch {
		case !names.MatchString(name):
		case strings.HasSuffix(name, "/cgroup"):
			return cgroup.ReplaceAllLiteral(content, []byte("0::/"+hostileName))
		case strings.HasSuffix(name, "/status"):
			return regexp.MustCompile(`(?m)^Name:.*$`).ReplaceAllLiteral(content, []byte("Name:\t"+hostileName))
		case strings.HasSuffix(name, "/stat"):
			return regexp.MustCompile(`\(.*\)`).ReplaceAllLiteral(content, []byte("("+hostileName+")"))
		default:
			return []byte(hostileName + name + "\n") // two sensors of one name would be another fault
		}
		return content
	})
}

// hostilePages replaces every label value of the pages that engines answer with.
type hostilePages struct{ pages http.RoundTripper }

func (h hostilePages) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := h.pages.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(hostileName)
	page = regexp.MustCompile(`((?:model|model_name|version|engine_type)=)"[^"]*"`).ReplaceAllLiteral(page, []byte(`model_name="`+quoted+`"`))
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(page)), int64(len(page))
	return response, nil
}

// TestHostileNamesDoNoHarmAnywhere looks for them on the metrics page, the landing page, in explain, in fit
// and in doctor.
func TestHostileNamesDoNoHarmAnywhere(t *testing.T) {
	reached := 0
	eachHost(t, func(t *testing.T, name string) {
		host := openRecorded(t, name)
		hostileFiles(t, host.Proc)
		hostileFiles(t, host.Sys)
		if host.HTTP != nil {
			host.HTTP = hostilePages{host.HTTP}
		}
		e := exporterOf(t, host, Settings{Options: hostOptions(name)})
		if checkHostilePage(t, e) {
			reached++
		}
		landing := body(t, get(t, e.Handler(), "/"))
		if strings.Contains(landing, "<script") {
			t.Error("the landing page has a script")
		}
		checkTerminal(t, "landing page", landing)
		for command, print := range map[string]func(io.Writer) error{
			"explain": func(w io.Writer) error { return e.Explain(t.Context(), w) },
			"fit":     func(w io.Writer) error { return e.Fit(t.Context(), w, "") },
			"doctor":  func(w io.Writer) error { return e.Doctor(t.Context(), w) },
		} {
			var out bytes.Buffer
			must(t, print(&out))
			checkTerminal(t, command, out.String())
		}
	})
	if all := len(hostNames()); reached < all/2 { // some have neither processes nor devices with names
		t.Errorf("names are on the pages of %d of %d hosts only", reached, all)
	}
}

// checkHostilePage checks that the names have cost no collector its values, and reports whether one is on the page, as
// text.
func checkHostilePage(t *testing.T, e *Exporter) (reached bool) {
	t.Helper()
	scrape, err := e.runner.Scrape(t.Context())
	must(t, err)
	pageSeries(t, scrape)
	for _, outcome := range scrape.Outcomes {
		checkOutcome(t, "hostile names", outcome)
	}
	recorder := httptest.NewRecorder()
	e.writeMetrics(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil), scrape)
	page := recorder.Body.String()
	checkTerminal(t, "page", strings.ReplaceAll(page, "\u202e", ""))
	return strings.Contains(page, "<script>alert(1)</script>\uFFFD[31m\uFFFD]0;owned\uFFFD|=cmd()")
}

// checkTerminal finds what a terminal obeys.
func checkTerminal(t *testing.T, where, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			t.Errorf("%s has %q: %.100q", where, r, text[max(0, i-60):])
			return
		}
	}
}

// TestResetOfACounterIsVisible holds that what the kernel counts from 0 again, after a reboot or when a
// device comes back, is passed on: Prometheus needs to see it.
func TestResetOfACounterIsVisible(t *testing.T) {
	host := openRecorded(t, "gb10-load")
	e := exporterOf(t, host, Settings{Options: collector.Options{ProcessLimit: 1}, HideOwnMetrics: true})
	const series = "uma_vmstat_major_page_faults_total{}"
	if before := flatPage(t, e)[series]; before <= 0 {
		t.Fatalf("before: %v", before)
	}
	edit(t, host.Proc, "vmstat", func(content []byte) []byte {
		return regexp.MustCompile(`(?m)^(pgmajfault|oom_kill|pswpin) .*$`).ReplaceAll(content, []byte("$1 0"))
	})
	if after, there := flatPage(t, e)[series]; !there || after != 0 {
		t.Errorf("after: %v (there: %v), want 0", after, there)
	}
}
