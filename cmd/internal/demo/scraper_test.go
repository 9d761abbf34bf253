//go:build proof

package demo

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/umascope/umascope/alerts"

	"github.com/umascope/umascope/exporter/metric"
)

// startScraper has two machines of one speed written down until the test ends it.
func startScraper(t *testing.T, speed float64, r rhythm) (c *scraper, end func()) {
	t.Helper()
	machines := []*machine{{name: "spark-quiet", stage: play(t, speed)}, {name: "spark-busy", stage: play(t, speed)}}
	var mu sync.Mutex
	var problems []string
	c, err := openScraper(filepath.Join(t.TempDir(), "timeline"), machines, speed, r, func(what string) {
		mu.Lock()
		defer mu.Unlock()
		problems = append(problems, what)
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(ctx)
	}()
	end = sync.OnceFunc(func() {
		stop()
		<-done
	})
	t.Cleanup(func() {
		end()
		if err := c.close(); err != nil {
			t.Error(err)
		}
		if len(problems) > 0 {
			t.Errorf("problems: %v", problems)
		}
	})
	return c, end
}

// TestTheRulesFindWhatIsDoneToAMachine: at the time of its clock, which is not the wall clock's, of that machine and of
// no other, and with the label that says what it is.
func TestTheRulesFindWhatIsDoneToAMachine(t *testing.T) {
	c, end := startScraper(t, testSpeed, usualRhythm())
	busy := c.machines[1].stage
	if err := busy.wait(t.Context(), 30*time.Second); err != nil { // a time in which all is well
		t.Fatal(err)
	}
	began := busy.host.Now()
	e := eventOf(t, "MemoryAvailableLow")
	if err := e.play(t.Context(), busy); err != nil {
		t.Fatal(err)
	}
	ended := busy.host.Now()
	end()
	i := slices.IndexFunc(c.firings(), func(f firing) bool { return f.Alert == e.alert && f.Severity == metric.SeverityCritical })
	if i < 0 {
		t.Fatalf("%s has not fired; alerts: %+v", e.alert, c.firings())
	}
	f := c.firings()[i]
	if f.Labels["host"] != "spark-busy" || f.Labels["mode"] != metric.ModeSimulated || !strings.HasPrefix(f.Description, "spark-busy (simulated source") {
		t.Errorf("%+v", f)
	}
	if f.Pending.Before(began) || f.From.Before(f.Pending.Add(15*time.Second)) || f.From.After(ended) || !f.Until.IsZero() {
		t.Errorf("from %s (condition since %s) to %s though it keeps firing for minutes, where memory was short from %s to %s", f.From, f.Pending, f.Until, began, ended)
	}
	for _, f := range c.firings() {
		if f.Labels["host"] == "spark-quiet" || f.Severity == string(alerts.None) {
			t.Errorf("%+v", f)
		}
	}
	for _, m := range c.machines {
		ups, err := c.store.Range(t.Context(), `min_over_time(up{host="`+m.name+`"}[10m])`, c.store.Newest(), c.store.Newest(), time.Second)
		if err != nil || len(ups) != 1 || ups[0].Points[0].Value != 1 {
			t.Errorf("%s was down: %v %v", m.name, ups, err)
		}
	}
}

// TestTheQuickDemoSeesTheHeat: with the fewer samples and evaluations that it has, and as what it is.
func TestTheQuickDemoSeesTheHeat(t *testing.T) {
	pace := paceOf(showOptions{quick: true})
	c, end := startScraper(t, pace.speed, pace.rhythm)
	hot := c.machines[1].stage
	began := hot.host.Now()
	if err := heat(t.Context(), hot, func() bool { return c.fires(heatAlert, "spark-busy") }); err != nil {
		t.Fatal(err)
	}
	if err := hot.wait(t.Context(), cooling); err != nil {
		t.Fatal(err)
	}
	end()
	seen := map[string]bool{}
	for _, f := range c.firings() {
		seen[f.Alert] = true
		if f.Labels["host"] != "spark-busy" || !f.From.After(began) {
			t.Errorf("%+v", f)
		}
	}
	if !seen[heatAlert] || !seen["GPUThermalThrottling"] || seen["GPUStuckLowPower"] {
		t.Errorf("alerts %v, want those of heat", seen)
	}
}

// TestEnginesThatComeAndGoAreNoAlert: arms are begun one after the other, with a time between them in which no engine is
// there, and that is nothing to tell anybody of. That the limit of a container does not count what the GPU holds is so
// of every container with a limit, and an information.
func TestEnginesThatComeAndGoAreNoAlert(t *testing.T) {
	c, end := startScraper(t, testSpeed, usualRhythm())
	busy := c.machines[1].stage
	for _, a := range []arm{nativeArm(), containerArm()} {
		busy.ready(t, a)
		if err := busy.wait(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		busy.end()
		if err := busy.wait(t.Context(), 20*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	end()
	for _, f := range c.firings() {
		if f.Alert != "ContainerLimitUncovered" || f.Severity != metric.SeverityInfo || f.Labels["host"] != "spark-busy" {
			t.Errorf("%+v", f)
		}
	}
}

// TestAnErrorOfTheScraperIsReportedOnce: rounds come many times a second.
func TestAnErrorOfTheScraperIsReportedOnce(t *testing.T) {
	m := &machine{name: "spark", stage: play(t, testSpeed)}
	var problems []string
	c, err := openScraper(filepath.Join(t.TempDir(), "timeline"), []*machine{m}, testSpeed, usualRhythm(), func(what string) { problems = append(problems, what) })
	if err != nil {
		t.Fatal(err)
	}
	if err := c.close(); err != nil { // nothing can be kept any more
		t.Fatal(err)
	}
	for range 3 {
		c.scrape(t.Context())
		c.judge(t.Context())
	}
	slices.Sort(problems)
	if len(problems) != 2 || !strings.HasPrefix(problems[0], "timeline: ") {
		t.Errorf("%q, want one line of the machine and one of the rules", problems)
	}
}

func TestAMachineWhoseClockStoppedIsScrapedOnce(t *testing.T) {
	m := &machine{name: "standing", stage: play(t, 0.001)} // ten milliseconds of it take ten seconds
	c, err := openScraper(filepath.Join(t.TempDir(), "timeline"), []*machine{m}, 1, usualRhythm(), func(what string) { t.Error(what) })
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for range 3 {
		c.scrape(t.Context())
		c.judge(t.Context())
	}
}
