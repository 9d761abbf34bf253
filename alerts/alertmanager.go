package alerts

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/exporter/metric"
)

const (
	alertmanagerName = "alertmanager.yml" // Prometheus reads every .yaml here as rules
	// receiverFile holds the address that people are told at, a secret and nothing else.
	receiverFile = "/run/secrets/alert-receiver"

	receiverNone   = "none"
	receiverPeople = "people"
)

// How long Alertmanager waits.
const (
	groupWait     = 15 * time.Second // for the critical rule of an alert, which mutes its warning
	groupInterval = 5 * time.Minute
	repeatState   = 4 * time.Hour
	// A finished run does not change: to be told of it every four hours teaches to look away. Alertmanager
	// forgets what it told after five days.
	repeatResult = 72 * time.Hour
)

// The configuration of Alertmanager, as far as we use it; our own structs because its own ones bring its
// whole server.
type (
	routing struct {
		Route        route     `yaml:"route"`
		InhibitRules []inhibit `yaml:"inhibit_rules"`
		Receivers    []receive `yaml:"receivers"`
	}
	route struct {
		Receiver       string   `yaml:"receiver"`
		GroupBy        []string `yaml:"group_by,omitempty"`
		GroupWait      string   `yaml:"group_wait,omitempty"`
		GroupInterval  string   `yaml:"group_interval,omitempty"`
		RepeatInterval string   `yaml:"repeat_interval,omitempty"`
		Matchers       []string `yaml:"matchers,omitempty"`
		Routes         []route  `yaml:"routes,omitempty"`
	}
	inhibit struct {
		SourceMatchers []string `yaml:"source_matchers"`
		TargetMatchers []string `yaml:"target_matchers"`
		Equal          []string `yaml:"equal"`
	}
	receive struct {
		Name           string    `yaml:"name"`
		WebhookConfigs []webhook `yaml:"webhook_configs,omitempty"`
	}
	webhook struct {
		URLFile      string `yaml:"url_file"`
		SendResolved bool   `yaml:"send_resolved"`
	}
)

// alertmanager renders the configuration.
func alertmanager(groups []Group) ([]byte, error) {
	alerts := alertsOf(groups)
	content, err := yaml.Dump(routing{
		Route:        routes(alerts),
		InhibitRules: inhibitions(alerts),
		Receivers:    []receive{{Name: receiverNone}, {Name: receiverPeople, WebhookConfigs: []webhook{{receiverFile, true}}}},
	}, yaml.WithV4Defaults(), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, err
	}
	return append([]byte(generated), content...), nil
}

// alertsOf lists the alerts of all groups.
func alertsOf(groups []Group) []Alert {
	var all []Alert
	for _, group := range groups {
		all = append(all, group.Alerts...)
	}
	return all
}

// routes says who is told what. Nobody is, unless a route says so: an alert of an unknown severity is another
// project's, which has routes of its own. A machine that is replayed, constructed or simulated wakes
// nobody; an alert without a mode is of the monitoring itself, or of something whose mode is not known.
func routes(alerts []Alert) route {
	toPeople := matchOneOf(metric.LabelSeverity, string(Warning), string(Critical))
	return route{
		Receiver: receiverNone, GroupBy: labelNames(metric.LabelAlertName, metric.LabelHost),
		GroupWait: duration(groupWait), GroupInterval: duration(groupInterval), RepeatInterval: duration(repeatState),
		Routes: []route{
			{Receiver: receiverNone, Matchers: []string{matchNot(metric.LabelMode, ""), matchNot(metric.LabelMode, metric.ModeLive)}},
			{Receiver: receiverPeople, Matchers: []string{toPeople, matchOneOf(metric.LabelAlertName, named(alerts, Alert.repeats)...)}, RepeatInterval: duration(repeatResult)},
			{Receiver: receiverPeople, Matchers: []string{toPeople}},
		},
	}
}

// repeats says whether people are told of the alert again after days only, because it is about a result.
func (a Alert) repeats() bool {
	told := func(r Rule) bool { return r.Severity == Warning || r.Severity == Critical }
	return (a.About == AboutRun || a.About == AboutComparison) && slices.ContainsFunc(a.Rules, told)
}

// inhibitions says what is not told while something else fires. Where a label that must be equal is missing on both
// sides Alertmanager takes it for equal, so that a source of no host would mute every alert of no host:
// sources must have one.
func inhibitions(alerts []Alert) []inhibit {
	hasHost := matchNot(metric.LabelHost, "")
	lesser := matchOneOf(metric.LabelSeverity, string(Warning), string(Info))
	rules := []inhibit{{
		SourceMatchers: []string{match(metric.LabelSeverity, string(Critical)), hasHost},
		TargetMatchers: []string{lesser},
		// One host name may be that of a live and of a simulated source, and one GPU or drive be critical beside
		// another.
		Equal: labelNames(metric.LabelAlertName, metric.LabelHost, metric.LabelMode, metric.LabelUUID, metric.LabelController),
	}}
	for _, source := range alerts {
		rule := inhibit{SourceMatchers: []string{match(metric.LabelAlertName, source.Name), hasHost}, Equal: labelNames(metric.LabelHost)}
		switch source.Mutes {
		case MutesHost:
			rule.TargetMatchers = []string{matchNot(metric.LabelAlertName, source.Name)}
			rules = append(rules, rule)
		case MutesExpected:
			expected := func(a Alert) bool { return a.ExpectedInRuns }
			rule.TargetMatchers = []string{matchOneOf(metric.LabelAlertName, named(alerts, expected)...), lesser}
			rules = append(rules, rule.byWhatIsReal()...)
		}
	}
	return rules
}

// byWhatIsReal keeps what is simulated from muting what is live: a simulated engine fills no memory and works no GPU.
func (i inhibit) byWhatIsReal() []inhibit {
	actual, simulated := i, i
	actual.SourceMatchers = append(slices.Clone(i.SourceMatchers), matchNot(metric.LabelMode, metric.ModeSimulated))
	simulated.SourceMatchers = append(slices.Clone(i.SourceMatchers), match(metric.LabelMode, metric.ModeSimulated))
	simulated.TargetMatchers = append(slices.Clone(i.TargetMatchers), matchNot(metric.LabelMode, metric.ModeLive))
	return []inhibit{actual, simulated}
}

// named are the names of alerts, in the order of the groups.
func named(alerts []Alert, wanted func(Alert) bool) []string {
	var names []string
	for _, a := range alerts {
		if wanted(a) {
			names = append(names, a.Name)
		}
	}
	return names
}

func match(label metric.Label, value string) string { return string(label) + `="` + value + `"` }

func matchNot(label metric.Label, value string) string { return string(label) + `!="` + value + `"` }

// matchOneOf matches values that are words of ours: there is nothing in them to escape.
func matchOneOf(label metric.Label, values ...string) string {
	return string(label) + `=~"` + strings.Join(values, "|") + `"`
}

func labelNames(labels ...metric.Label) []string {
	names := make([]string, len(labels))
	for i, label := range labels {
		names[i] = string(label)
	}
	return names
}
