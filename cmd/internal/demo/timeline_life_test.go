package demo

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestAFolderThatIsInUseIsRefused(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{folder, file, filepath.Join(file, "below")} {
		s, err := openTimeline(timelineConfig{Dir: dir})
		if err == nil {
			s.Close()
			t.Fatalf("%s was taken", dir)
		}
		if !strings.Contains(err.Error(), "timeline in "+dir+": ") || strings.Count(err.Error(), folder) != 1 {
			t.Errorf("error %q does not name %s once", err, dir)
		}
	}
}

func TestRulesThatCannotBeReadAreNamed(t *testing.T) {
	const good = "groups: [{name: g, rules: [{record: 'a:b', expr: a}]}]"
	for name, test := range map[string]struct {
		files []string
		want  string
	}{
		"an expression": {[]string{"groups: [{name: g, rules: [{alert: A, expr: 'a +'}]}]"}, "0.yaml: "},
		"a field":       {[]string{"groups: [{name: g, rulez: []}]"}, "0.yaml: "},
		"no YAML":       {[]string{good, "\t"}, "1.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			config := timelineConfig{Dir: filepath.Join(t.TempDir(), "timeline")}
			for i, content := range test.files {
				config.Rules = append(config.Rules, ruleFile{Name: fmt.Sprint(i, ".yaml"), Content: []byte(content)})
			}
			s, err := openTimeline(config)
			if err == nil {
				s.Close()
				t.Fatal("the rules were taken")
			}
			if !strings.HasPrefix(err.Error(), "rules "+test.want) {
				t.Errorf("error %q, want one of rules %s", err, test.want)
			}
		})
	}
	twice := ruleFile{Name: "rules.yaml", Content: []byte(good)}
	s, err := openTimeline(timelineConfig{Dir: filepath.Join(t.TempDir(), "timeline"), Rules: []ruleFile{twice, twice}})
	if err == nil {
		s.Close()
		t.Error("two files of one name were taken")
	}
}

// slots has three groups: one that records, one that uses the record, and one that has an interval of its own.
const slots = `groups:
- name: second
  rules: [{record: "twice:a", expr: "a * 2"}]
- name: first
  rules: [{record: "again:a", expr: "twice:a + 1"}, {record: "when:a", expr: "time()"}]
- name: slow
  interval: 1m
  rules: [{record: "slow:a", expr: "time()"}]
`

// TestGroupsAreEvaluatedOnTheirOwnTimes, however late the caller comes, and in the order of the file.
func TestGroupsAreEvaluatedOnTheirOwnTimes(t *testing.T) {
	s, p := testTimeline(t, ruleFile{Name: "slots.yaml", Content: []byte(slots)}), &fixedPage{}
	times := map[string][]string{}
	for second := 0; second <= 130; second += 5 {
		p.text = fmt.Sprintf("a %d\n", second)
		scrape(t, s, p.target(), epoch.Add(time.Duration(second)*time.Second))
		switch second {
		case 10, 20, 35, 36, 125, 130: // a caller that is not on time
			evaluate(t, s, epoch.Add(time.Duration(second)*time.Second))
		}
	}
	for _, name := range []string{"again:a", "slow:a"} {
		found, err := s.Range(t.Context(), "timestamp("+name+") - "+fmt.Sprint(epoch.Unix()), epoch, epoch.Add(130*time.Second), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, series := range found {
			for i, point := range series.Points {
				if text := fmt.Sprint(point.Value); i == 0 || text != fmt.Sprint(series.Points[i-1].Value) {
					times[name] = append(times[name], text)
				}
			}
		}
	}
	want := map[string][]string{"slow:a": {"10", "70", "130"}}
	for second := 10; second <= 130; second += 5 {
		want["again:a"] = append(want["again:a"], fmt.Sprint(second))
	}
	if !reflect.DeepEqual(times, want) {
		t.Errorf("evaluated at %v, want %v", times, want)
	}
	for _, second := range []int{10, 60, 130} { // of a time between two calls, too: the samples are there
		when := epoch.Add(time.Duration(second) * time.Second)
		expect(t, fmt.Sprint("again at ", second), at(t, s, "again:a", when),
			map[string]float64{"__name__=again:a job=job host=spark instance=spark": float64(2*second + 1)})
	}
}

// TestAPauseIsNotMadeUpFor: after hours in which nobody has evaluated, the last one is, and on the times of the group.
func TestAPauseIsNotMadeUpFor(t *testing.T) {
	const rules = "groups: [{name: g, interval: 1m, rules: [{record: 'when:a', expr: 'vector(time())'}]}]"
	s, p := testTimeline(t, ruleFile{Name: "rules.yaml", Content: []byte(rules)}), &fixedPage{text: "a 1\n"}
	scrape(t, s, p.target(), epoch)
	evaluate(t, s, epoch)
	now := epoch.Add(10*time.Hour + 20*time.Second)
	scrape(t, s, p.target(), now)
	evaluate(t, s, now)
	expect(t, "the first", at(t, s, fmt.Sprint("min_over_time(when:a[12h]) - ", epoch.Unix()), now), map[string]float64{"": 0})
	expect(t, "how many", at(t, s, "count_over_time(when:a[12h])", now), map[string]float64{"": 1 + 60})
	expect(t, "the last", at(t, s, fmt.Sprint("when:a - ", epoch.Unix()), now), map[string]float64{"": 10 * 3600})
}

// TestTextsOfAlertsAskAtTheTimeOfTheAlert, and not at that of the wall clock.
func TestTextsOfAlertsAskAtTheTimeOfTheAlert(t *testing.T) {
	const rules = `groups:
- name: g
  rules:
  - alert: A
    expr: a > 1
    annotations:
      description: '{{ with query "b" }}{{ . | first | value }}{{ end }} at {{ with query "time()" }}{{ . | first | value | printf "%.0f" }}{{ end }}'
`
	s, p := testTimeline(t, ruleFile{Name: "rules.yaml", Content: []byte(rules)}), &fixedPage{text: "a 2\nb 7\n"}
	scrape(t, s, p.target(), epoch)
	evaluate(t, s, epoch)
	firings := s.Firings()
	if want := fmt.Sprint("7 at ", epoch.Unix()); len(firings) != 1 || firings[0].Description != want {
		t.Errorf("%+v, want a description of %q", firings, want)
	}
}

// TestAnAlertThatComesBackIsASecondOne, and one that has not ended has no end.
func TestAnAlertThatComesBackIsASecondOne(t *testing.T) {
	const rules = "groups: [{name: g, rules: [{alert: A, expr: a > 1, labels: {severity: warning}}]}]"
	s, p := testTimeline(t, ruleFile{Name: "rules.yaml", Content: []byte(rules)}), &fixedPage{}
	for i, value := range []int{0, 2, 2, 0, 0, 2} {
		p.text = fmt.Sprintf("a %d\n", value)
		when := epoch.Add(time.Duration(i) * 5 * time.Second)
		scrape(t, s, p.target(), when)
		evaluate(t, s, when)
	}
	var got []string
	for _, f := range s.Firings() {
		until := "still"
		if !f.Until.IsZero() {
			until = f.Until.Sub(epoch).String()
		}
		got = append(got, fmt.Sprint(f.Alert, " ", f.Severity, " ", f.From.Sub(epoch), " to ", until))
	}
	if want := []string{"A warning 5s to 15s", "A warning 25s to still"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestARuleThatFailsDoesNotStopTheOthers: it is said, with its name.
func TestARuleThatFailsDoesNotStopTheOthers(t *testing.T) {
	const rules = `groups: [{name: g, rules: [{record: "bad:a", expr: "a * on (host) b"}, {record: "good:a", expr: "count(a)"}]}]`
	s, p := testTimeline(t, ruleFile{Name: "rules.yaml", Content: []byte(rules)}), &fixedPage{text: "a{x=\"1\"} 1\na{x=\"2\"} 1\nb 1\n"}
	scrape(t, s, p.target(), epoch)
	if err := s.Evaluate(t.Context(), epoch); err == nil || !strings.Contains(err.Error(), "rule bad:a of g at 2101-02-03T04:05:06") {
		t.Errorf("error %v", err)
	}
	expect(t, "the other", at(t, s, "good:a", epoch), map[string]float64{"__name__=good:a": 2})
}

func TestAnEvaluationThatIsCancelledIsMadeUpFor(t *testing.T) {
	const rules = `groups: [{name: g, rules: [{record: "again:a", expr: "a"}]}]`
	s, p := testTimeline(t, ruleFile{Name: "rules.yaml", Content: []byte(rules)}), &fixedPage{text: "a 1\n"}
	scrape(t, s, p.target(), epoch)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Evaluate(ctx, epoch); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("error %v", err)
	}
	expect(t, "nothing yet", at(t, s, "again:a", epoch), map[string]float64{})
	evaluate(t, s, epoch)
	expect(t, "made up for", at(t, s, "again:a", epoch), map[string]float64{"__name__=again:a job=job host=spark instance=spark": 1})
}

// TestClosingLeavesNothingRunning: no goroutine and no open file, whatever was asked meanwhile, and every later question
// is answered with an error.
func TestClosingLeavesNothingRunning(t *testing.T) {
	before, folder := runtime.NumGoroutine(), filepath.Join(t.TempDir(), "timeline")
	s, err := openTimeline(timelineConfig{Dir: folder, Rules: alertRules(t), Interval: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	p := &fixedPage{text: "a 1\n"}
	busy := make(chan struct{})
	go func() {
		defer close(busy)
		for i := range 10_000 {
			when := epoch.Add(time.Duration(i) * time.Second)
			if s.Scrape(t.Context(), p.target(), when) != nil || s.Evaluate(t.Context(), when) != nil {
				return
			}
		}
		t.Error("the store was not closed")
	}()
	for len(s.Firings()) == 0 {
		runtime.Gosched()
	}
	if len(openFiles(t, folder)) == 0 {
		t.Error("no file is open while the store is: this test looks at the wrong place")
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	<-busy
	if left := openFiles(t, folder); len(left) > 0 {
		t.Errorf("open: %v", left)
	}
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
	if err := s.Scrape(t.Context(), p.target(), epoch.Add(time.Hour)); err == nil {
		t.Error("a scrape after the end")
	}
	if _, err := s.Range(t.Context(), "a", epoch, epoch, time.Second); err == nil {
		t.Error("a question after the end")
	}
	answer := httptest.NewRecorder()
	s.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/v1/query?query=a", nil))
	if answer.Code != http.StatusServiceUnavailable {
		t.Errorf("a question by HTTP after the end: %d %s", answer.Code, answer.Body)
	}
}

// openFiles are those of a folder that this process has open.
func openFiles(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		if name, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.HasPrefix(name, folder) {
			found = append(found, name)
		}
	}
	return found
}
