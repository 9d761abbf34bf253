package demo

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collector"
	hostsim "github.com/umascope/umascope/exporter/sim"
)

// scrapedMachine is a simulated Spark whose clock stands still until the test moves it, seen by the project's exporter.
type scrapedMachine struct {
	*hostsim.Host
	seen   collector.Host
	target scrapeTarget
}

// newMachine starts one that has been on for an hour.
func newMachine(t testing.TB, name string, now time.Time) *scrapedMachine {
	t.Helper()
	const uptime = time.Hour
	host, err := hostsim.New(hostsim.Config{Seed: 1, Start: now.Add(-uptime), SwapBytes: 16 * gib, RailSensors: true})
	if err != nil {
		t.Fatal(err)
	}
	host.Advance(uptime)
	seen := host.Collect()
	t.Cleanup(func() { seen.Close(); host.Close() })
	e, err := exporter.New(seen, exporter.Settings{Options: collector.Options{ProcessLimit: 50}})
	if err != nil {
		t.Fatal(err)
	}
	return &scrapedMachine{Host: host, seen: seen, target: scrapeTarget{
		Handler: e.Handler(), Path: exporter.DefaultTelemetryPath, Job: "uma-exporter", Host: name,
	}}
}

// leave has a process take memory until so much is available.
func (m *scrapedMachine) leave(t testing.TB, hog *hostsim.Process, bytes int64) {
	t.Helper()
	hog.Demand(hostsim.Demand{AnonBytes: max(0, hog.Status().AnonBytes+m.AvailableBytes()-bytes)})
}

// alertRules returns the rule files as they are shipped.
func alertRules(t testing.TB) []ruleFile {
	t.Helper()
	rules, err := shippedRules()
	if err != nil || len(rules) < 9 {
		t.Fatalf("%d files of rules, %v", len(rules), err)
	}
	return rules
}

// testTimeline makes a store that ends with the test.
func testTimeline(t testing.TB, rules ...ruleFile) *timeline {
	t.Helper()
	// The stack evaluates as often as it scrapes.
	config := timelineConfig{Dir: filepath.Join(t.TempDir(), "timeline"), Rules: rules, Interval: 5 * time.Second}
	s, err := openTimeline(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Times that no wall clock shows: simulated ones may be in the past as well as in the future of it.
var epochs = map[string]time.Time{
	"long ago":       time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC),
	"in a long time": time.Date(2101, 2, 3, 4, 5, 6, 0, time.UTC),
}

// TestAlertsKeepTheTimesOfTheirRules: memory is taken up at 60 s and given back at 180 s. The critical rule waits
// 15 s, the warning a minute, and both keep firing for 5 minutes from the first evaluation that finds nothing.
func TestAlertsKeepTheTimesOfTheirRules(t *testing.T) {
	for name, epoch := range epochs {
		t.Run(name, func(t *testing.T) {
			s, m := testTimeline(t, alertRules(t)...), newMachine(t, "spark", epoch)
			hog, err := m.Start(hostsim.Program{Comm: "notebook", Cgroup: "/user.slice"})
			if err != nil {
				t.Fatal(err)
			}
			for at := time.Duration(0); at <= 9*time.Minute; at += 5 * time.Second {
				if at == 180*time.Second {
					hog.Stop()
				} else if at >= 60*time.Second && at < 180*time.Second {
					m.leave(t, hog, 2*gib)
				}
				m.Advance(epoch.Add(at).Sub(m.Now()))
				scrape(t, s, m.target, epoch.Add(at))
				if at%(15*time.Second) == 0 {
					evaluate(t, s, epoch.Add(at))
				}
			}
			after := func(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
			var found []firing
			for _, f := range s.Firings() {
				if f.Alert == "Watchdog" {
					continue // it is of the stack, and always there
				}
				if f.Labels["host"] != "spark" || f.Labels["mode"] != "simulated" || f.Summary == "" ||
					!strings.HasPrefix(f.Description, "spark (simulated source, no live machine): 2GiB available") {
					t.Errorf("%+v", f)
				}
				found = append(found, firing{Alert: f.Alert, Severity: f.Severity, Pending: f.Pending, From: f.From, Until: f.Until})
			}
			want := []firing{
				{Alert: "MemoryAvailableLow", Severity: "critical", Pending: after(60), From: after(75), Until: after(480)},
				{Alert: "MemoryAvailableLow", Severity: "warning", Pending: after(60), From: after(120), Until: after(480)},
			}
			if !reflect.DeepEqual(found, want) {
				t.Errorf("alerts\n%v\nwant\n%v", found, want)
			}
			states(t, s, epoch)
		})
	}
}

// states looks at what the alerts have left in the store, which dashboards show.
func states(t *testing.T, s *timeline, epoch time.Time) {
	t.Helper()
	marks, err := s.Range(t.Context(), `ALERTS{alertname="MemoryAvailableLow", severity="warning"}`, epoch, epoch.Add(9*time.Minute), 15*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, series := range marks {
		first, last := series.Points[0].At, series.Points[len(series.Points)-1].At
		got[series.Labels["alertstate"]] = first.Sub(epoch).String() + " to " + last.Sub(epoch).String()
	}
	want := map[string]string{"pending": "1m0s to 1m45s", "firing": "2m0s to 7m45s"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("ALERTS is %v, want %v", got, want)
	}
}

func scrape(t testing.TB, s *timeline, from scrapeTarget, at time.Time) {
	t.Helper()
	if err := s.Scrape(t.Context(), from, at); err != nil {
		t.Fatal(err)
	}
}

func evaluate(t testing.TB, s *timeline, at time.Time) {
	t.Helper()
	if err := s.Evaluate(t.Context(), at); err != nil {
		t.Fatal(err)
	}
}

// TestMachinesWhoseClocksDifferLoseNothing: four machines are scraped at once, each at its own time.
func TestMachinesWhoseClocksDifferLoseNothing(t *testing.T) {
	const rounds = 20
	epoch, s := epochs["long ago"], testTimeline(t)
	apart := []time.Duration{0, -7 * time.Second, 3 * time.Second, -50 * time.Minute}
	var scraping sync.WaitGroup
	for i, offset := range apart {
		m := newMachine(t, fmt.Sprint("spark-", i), epoch.Add(offset))
		scraping.Go(func() {
			for range rounds {
				m.Advance(5 * time.Second)
				if err := s.Scrape(t.Context(), m.target, m.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	scraping.Wait()
	for _, name := range []string{"up", "uma_memory_available_bytes"} {
		for i, offset := range apart {
			end := epoch.Add(offset).Add(rounds * 5 * time.Second)
			counts, err := s.Range(t.Context(), fmt.Sprintf(`count_over_time(%s{host="spark-%d"}[5m])`, name, i), end, end, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if len(counts) != 1 || counts[0].Points[0].Value != rounds {
				t.Errorf("%s of the machine that is %s apart: %v, want %d samples", name, offset, counts, rounds)
			}
		}
	}
}

// BenchmarkFourMachines is what four machines cost: to move on by 5 s, to be scraped, and to have all rules evaluated.
func BenchmarkFourMachines(b *testing.B) {
	epoch, s := epochs["long ago"], testTimeline(b, alertRules(b)...)
	var machines []*scrapedMachine
	for i := range 4 {
		machines = append(machines, newMachine(b, fmt.Sprint("spark-", i), epoch))
	}
	move := func() {
		for _, m := range machines {
			m.Advance(5 * time.Second)
		}
	}
	take := func() {
		for _, m := range machines {
			scrape(b, s, m.target, m.Now())
		}
	}
	b.Run("move", func(b *testing.B) {
		for b.Loop() {
			move()
		}
	})
	b.Run("move and scrape", func(b *testing.B) {
		for b.Loop() {
			move()
			take()
		}
	})
	b.Run("move and scrape and evaluate", func(b *testing.B) {
		for b.Loop() {
			move()
			take()
			evaluate(b, s, machines[0].Now())
		}
	})
}
