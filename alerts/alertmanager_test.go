package alerts

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// This reads the configuration as Alertmanager does, for the few features that it uses. amtool checks the
// rendered file, and a real Alertmanager is told of alerts in another test.

// set is the labels of an alert.
type set map[string]string

func (s set) with(name, value string) set {
	more := maps.Clone(s)
	more[name] = value
	return more
}

// written is the configuration as it is written.
type written struct {
	Routing
	Route struct {
		Receiver string
		Routes   []struct {
			Receiver string
			Matchers []string
		}
	}
	InhibitRules []struct {
		SourceMatchers []string `yaml:"source_matchers"`
		TargetMatchers []string `yaml:"target_matchers"`
		Equal          []string
	} `yaml:"inhibit_rules"`
	Receivers []struct {
		Name           string
		WebhookConfigs []any `yaml:"webhook_configs"`
	}
}

func rendered(t *testing.T, groups []Group) written {
	t.Helper()
	text, err := alertmanager(groups, expr.Names{})
	if err != nil {
		t.Fatal(err)
	}
	c := written{Routing: Routing{newRouting(groups, expr.Names{})}}
	if err := yaml.Load(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// matches says whether all matchers hold; a label that is missing is empty.
func (s set) matches(t *testing.T, matchers []string) bool {
	t.Helper()
	for _, text := range matchers {
		parts := regexp.MustCompile(`^([a-z]+)(=~|!~|!=|=)"(.*)"$`).FindStringSubmatch(text)
		if parts == nil {
			t.Fatalf("matcher %s", text)
		}
		operator := map[string]labels.MatchType{"=": labels.MatchEqual, "!=": labels.MatchNotEqual, "=~": labels.MatchRegexp, "!~": labels.MatchNotRegexp}[parts[2]]
		m, err := labels.NewMatcher(operator, parts[1], parts[3])
		if err != nil {
			t.Fatal(err)
		}
		if !m.Matches(s[m.Name]) {
			return false
		}
	}
	return true
}

// receiver is that of the first route that matches. Routing has to agree.
func (c written) receiver(t *testing.T, s set) string {
	t.Helper()
	found := c.routed(t, s)
	if repeat := c.Repeat(s); (repeat > 0) != (found == receiverPeople) {
		t.Errorf("%v goes to %s, and is repeated after %v", s, found, repeat)
	}
	return found
}

func (c written) routed(t *testing.T, s set) string {
	t.Helper()
	for _, r := range c.Route.Routes {
		if s.matches(t, r.Matchers) {
			return r.Receiver
		}
	}
	return c.Route.Receiver
}

// muted reports whether no notice of a target is sent while the source fires. Routing has to agree.
func (c written) muted(t *testing.T, target, source set) bool {
	t.Helper()
	is := c.inhibited(t, target, source)
	if c.Mutes(source, target) != is {
		t.Errorf("%v mutes %v: %v", source, target, !is)
	}
	return is
}

func (c written) inhibited(t *testing.T, target, source set) bool {
	t.Helper()
	for _, rule := range c.InhibitRules {
		both := func(s set) bool { return s.matches(t, rule.SourceMatchers) && s.matches(t, rule.TargetMatchers) }
		equal := !slices.ContainsFunc(rule.Equal, func(name string) bool { return target[name] != source[name] })
		if source.matches(t, rule.SourceMatchers) && target.matches(t, rule.TargetMatchers) && equal && !(both(source) && both(target)) {
			return true
		}
	}
	return false
}

func labelled(name string, severity Severity, host, mode string) set {
	s := set{"alertname": name, "severity": string(severity)}
	if host != "" {
		s["host"] = host
	}
	if mode != "" {
		s["mode"] = mode
	}
	return s
}

// everyRule calls with each rule of each alert.
func everyRule(each func(Alert, Rule)) {
	for _, a := range alertsOf(Groups()) {
		for _, r := range a.Rules {
			each(a, r)
		}
	}
}

func TestUrgentAlertsOfLiveMachinesAreSentToPeople(t *testing.T) {
	c := rendered(t, Groups())
	everyRule(func(a Alert, r Rule) {
		for _, mode := range append(metric.Modes(), "", "unheard_of") {
			want := receiverNone
			if (r.Severity == Warning || r.Severity == Critical) && (mode == metric.ModeLive || mode == "") {
				want = receiverPeople
			}
			if a.Name == watchdogName {
				want = receiverHeartbeat
			}
			if got := c.receiver(t, labelled(a.Name, r.Severity, "spark", mode)); got != want {
				t.Errorf("%s as %s, mode %q: %s is told, want %s", a.Name, r.Severity, mode, got, want)
			}
		}
	})
	if got := c.receiver(t, set{"alertname": "SomebodyElses"}); got != receiverNone {
		t.Errorf("an alert without severity: %s", got)
	}
}

func TestEveryRouteLeadsToAReceiver(t *testing.T) {
	c := rendered(t, Groups())
	var names []string
	for _, r := range c.Receivers {
		names = append(names, r.Name)
		if isNotified := len(r.WebhookConfigs) > 0; isNotified != (r.Name != receiverNone) {
			t.Errorf("receiver %s: %v", r.Name, r.WebhookConfigs)
		}
	}
	chosen := []string{c.Route.Receiver}
	for _, r := range c.Route.Routes {
		chosen = append(chosen, r.Receiver)
	}
	for _, name := range chosen {
		if !slices.Contains(names, name) {
			t.Errorf("no receiver %s", name)
		}
	}
}

// TestACriticalPartDoesNotHideAnotherOne: a drive that fails is no reason not to tell of the one beside it.
func TestACriticalPartDoesNotHideAnotherOne(t *testing.T) {
	c := rendered(t, Groups())
	for label, name := range map[string]string{"uuid": "GPUHot", "controller": "NVMeHot"} {
		critical := labelled(name, Critical, "spark", metric.ModeLive).with(label, "first")
		warning := labelled(name, Warning, "spark", metric.ModeLive)
		if !c.muted(t, warning.with(label, "first"), critical) {
			t.Errorf("%s: the warning about the same part is told too", name)
		}
		if c.muted(t, warning.with(label, "second"), critical) {
			t.Errorf("%s: the warning about another part is hidden", name)
		}
	}
}

// TestEveryNameInTheConfigurationIsThatOfAnAlert, because Alertmanager would not miss it.
func TestEveryNameInTheConfigurationIsThatOfAnAlert(t *testing.T) {
	text, err := alertmanager(Groups(), expr.Names{})
	if err != nil {
		t.Fatal(err)
	}
	known := named(alertsOf(Groups()), func(Alert) bool { return true })
	matchers := regexp.MustCompile(`alertname[=!~]+"(.*)"`).FindAllStringSubmatch(string(text), -1)
	for _, m := range matchers {
		for _, name := range strings.Split(m[1], "|") {
			if !slices.Contains(known, name) {
				t.Errorf("%s names no alert: %q", m[0], name)
			}
		}
	}
	if len(matchers) == 0 {
		t.Error("no alert is named")
	}
}

func TestTheCriticalRuleMutesTheOthersOfItsAlertAndHost(t *testing.T) {
	c := rendered(t, Groups())
	critical := labelled("MemoryAvailableLow", Critical, "spark", metric.ModeLive)
	warning := labelled("MemoryAvailableLow", Warning, "spark", metric.ModeLive)
	for name, c2 := range map[string]struct {
		target set
		want   bool
	}{
		"its warning":          {warning, true},
		"its information":      {warning.with("severity", "info"), true},
		"itself":               {critical, false},
		"another host":         {warning.with("host", "thor"), false},
		"another alert":        {warning.with("alertname", "MemoryPressure"), false},
		"a simulated source":   {warning.with("mode", metric.ModeSimulated), false},
		"what is for machines": {warning.with("severity", "none"), false},
	} {
		if got := c.muted(t, c2.target, critical); got != c2.want {
			t.Errorf("%s: muted %v", name, got)
		}
	}
}

// TestWhatHasNoHostMutesNothing: Alertmanager takes labels that both lack for equal.
func TestWhatHasNoHostMutesNothing(t *testing.T) {
	c := rendered(t, Groups())
	everyRule(func(source Alert, r Rule) {
		everyRule(func(target Alert, r2 Rule) {
			if c.muted(t, labelled(target.Name, r2.Severity, "", ""), labelled(source.Name, r.Severity, "", "")) {
				t.Errorf("%s mutes %s", source.Name, target.Name)
			}
		})
	})
}

func TestARunMutesWhatItBringsAboutAndNothingElse(t *testing.T) {
	c := rendered(t, Groups())
	run := labelled("RunInProgress", None, "spark", "").with("run", "r1")
	muted := 0
	everyRule(func(a Alert, r Rule) {
		target := labelled(a.Name, r.Severity, "spark", metric.ModeLive)
		want := a.ExpectedInRuns && r.Severity != Critical
		if got := c.muted(t, target, run); got != want {
			t.Errorf("%s as %s: muted %v", a.Name, r.Severity, got)
		}
		if c.muted(t, target.with("host", "thor"), run) {
			t.Errorf("%s of another host is muted", a.Name)
		}
		if want {
			muted++
		}
	})
	if muted == 0 {
		t.Error("a run mutes nothing")
	}
}

// TestARunOfASimulatedEngineMutesNothingOfALiveMachine: it fills no memory and works no GPU, so that what happens there
// has another cause.
func TestARunOfASimulatedEngineMutesNothingOfALiveMachine(t *testing.T) {
	c := rendered(t, Groups())
	warning := labelled("MemoryAvailableLow", Warning, "spark", metric.ModeLive)
	run := labelled("RunInProgress", None, "spark", "").with("run", "r1")
	for name, c2 := range map[string]struct {
		target, source set
		want           bool
	}{
		"a live machine, an engine":              {warning, run, true},
		"a live machine, a simulated engine":     {warning, run.with("mode", metric.ModeSimulated), false},
		"a simulated machine, as its engine":     {warning.with("mode", metric.ModeSimulated), run.with("mode", metric.ModeSimulated), true},
		"a constructed machine, as no engine is": {warning.with("mode", metric.ModeConstructed), run.with("mode", metric.ModeSimulated), true},
	} {
		if got := c.muted(t, c2.target, c2.source); got != c2.want {
			t.Errorf("%s: muted %v", name, got)
		}
	}
}

// TestHeatIsNeverExpected: a run that throttles is invalid, and somebody should know.
func TestHeatIsNeverExpected(t *testing.T) {
	everyRule(func(a Alert, r Rule) {
		for _, d := range r.Expr.Metrics() {
			if a.ExpectedInRuns && (d.Unit == metric.Celsius || d.Name == metric.GPUThermalThrottleRatio5m.Def().Name) {
				t.Errorf("%s is muted in runs and reads %s", a.Name, d.Name)
			}
		}
	})
}

// TestWhatARunBringsAboutIsMutedUntilItHasCeased: alerts stay for a while after what they tell of, and
// would else be told when the run is over.
func TestWhatARunBringsAboutIsMutedUntilItHasCeased(t *testing.T) {
	stays := runInProgress().Rules[0].KeepFiringFor
	everyRule(func(a Alert, r Rule) {
		if a.ExpectedInRuns && r.KeepFiringFor+groupInterval > stays {
			t.Errorf("%s stays for %s, a run for %s", a.Name, r.KeepFiringFor, stays)
		}
	})
}

func TestAHostThatIsGoneIsReportedOnce(t *testing.T) {
	down := Alert{Name: "HostGone", Mutes: MutesHost}
	c := rendered(t, []Group{{Alerts: []Alert{down, oomKill()}}})
	source := labelled(down.Name, Critical, "spark", metric.ModeLive)
	for name, c2 := range map[string]struct {
		target set
		want   bool
	}{
		"another alert":             {labelled("OOMKill", Critical, "spark", metric.ModeLive), true},
		"one without a mode":        {labelled("OOMKill", Critical, "spark", ""), true},
		"itself":                    {source, false},
		"itself as seen before":     {source.with("mode", metric.ModeReplay), false},
		"another host":              {labelled("OOMKill", Critical, "thor", metric.ModeLive), false},
		"the same of another host":  {source.with("host", "thor"), false},
		"what is of no host at all": {labelled("OOMKill", Critical, "", ""), false},
	} {
		if got := c.muted(t, c2.target, source); got != c2.want {
			t.Errorf("%s: muted %v", name, got)
		}
	}
}

func TestAResultIsRepeatedAfterDaysAndAStateAfterHours(t *testing.T) {
	r := NewRouting()
	everyRule(func(a Alert, rule Rule) {
		want := repeatState
		if a.repeats() {
			want = repeatResult
		}
		if rule.Severity != Warning && rule.Severity != Critical {
			want = 0
		}
		if got := r.Repeat(labelled(a.Name, rule.Severity, "spark", metric.ModeLive)); got != want {
			t.Errorf("%s as %s: %v, want %v", a.Name, rule.Severity, got, want)
		}
	})
}
