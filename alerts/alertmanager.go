package alerts

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

const (
	alertmanagerName = "alertmanager.yml" // Prometheus reads every .yaml file here as rules
	// receiverFile holds the address of the receiver, a secret, as its only content.
	receiverFile = "/run/secrets/alert-receiver"

	// heartbeatFile holds the address that is called while everything works: a dead man's switch, which tells people when the
	// calls end. Without it, each call is a line in Alertmanager's log.
	heartbeatFile = "/run/secrets/alert-heartbeat"

	receiverNone      = "none"
	receiverPeople    = "people"
	receiverHeartbeat = "heartbeat"

	watchdogName = "Watchdog"
)

// Alertmanager's waiting times.
const (
	groupWait     = 15 * time.Second // for the critical rule of an alert, which mutes its warning
	groupInterval = 5 * time.Minute
	repeatState   = 4 * time.Hour
	// A finished run does not change: a repeat every four hours would make people ignore it. Alertmanager forgets its
	// notifications after five days.
	repeatResult = 72 * time.Hour
	// The heartbeat goes out with each look at its group, every groupInterval: services that wait for it are usually set to
	// ten minutes.
	repeatHeartbeat = groupInterval - time.Minute
)

// The configuration of Alertmanager, as far as this project uses it; these structs are our own because Alertmanager's
// would import its whole server.
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
		Matchers       matchers `yaml:"matchers,omitempty"`
		Routes         []route  `yaml:"routes,omitempty"`
	}
	inhibit struct {
		SourceMatchers matchers `yaml:"source_matchers"`
		TargetMatchers matchers `yaml:"target_matchers"`
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
func alertmanager(groups []Group, n expr.Names) ([]byte, error) {
	content, err := yaml.Dump(newRouting(groups, n), yaml.WithV4Defaults(), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, err
	}
	return append([]byte(generated), content...), nil
}

func newRouting(groups []Group, n expr.Names) routing {
	alerts := alertsOf(groups)
	return routing{
		Route:        routes(alerts, n),
		InhibitRules: inhibitions(alerts, n),
		Receivers: []receive{{Name: receiverNone}, {Name: receiverPeople, WebhookConfigs: []webhook{{receiverFile, true}}},
			{Name: receiverHeartbeat, WebhookConfigs: []webhook{{heartbeatFile, false}}}},
	}
}

// alertsOf returns the alerts of all groups.
func alertsOf(groups []Group) []Alert {
	var all []Alert
	for _, group := range groups {
		all = append(all, group.Alerts...)
	}
	return all
}

// routes returns the routing tree. The default is no receiver: an alert of an unknown severity belongs to another
// project, which has routes of its own. Alerts of replayed, constructed or simulated machines are not sent; an alert
// without a mode is about the monitoring itself, or about something whose mode is unknown.
func routes(alerts []Alert, n expr.Names) route {
	toPeople := matchOneOf(metric.LabelSeverity, string(Warning), string(Critical))
	return route{
		Receiver: receiverNone, GroupBy: labelNames(n, metric.LabelAlertName, metric.LabelHost),
		GroupWait: duration(groupWait), GroupInterval: duration(groupInterval), RepeatInterval: duration(repeatState),
		Routes: []route{
			{Receiver: receiverHeartbeat, Matchers: matchers{match(metric.LabelAlertName, watchdogName)}, RepeatInterval: duration(repeatHeartbeat)},
			{Receiver: receiverNone, Matchers: matchers{matchNot(metric.LabelMode, ""), matchNot(metric.LabelMode, metric.ModeLive)}},
			{Receiver: receiverPeople, Matchers: matchers{toPeople, matchOneOf(metric.LabelAlertName, named(alerts, Alert.repeats)...)}, RepeatInterval: duration(repeatResult)},
			{Receiver: receiverPeople, Matchers: matchers{toPeople}},
		},
	}
}

// repeats reports whether the alert is repeated after days only, because it is about a result.
func (a Alert) repeats() bool {
	notifies := func(r Rule) bool { return r.Severity == Warning || r.Severity == Critical }
	return (a.About == AboutCell || a.About == AboutComparison) && slices.ContainsFunc(a.Rules, notifies)
}

// inhibitions returns the inhibition rules. Alertmanager takes a label in "equal" as equal if it is missing on both
// sides, so a source without a host would mute every alert without a host: sources must have one.
func inhibitions(alerts []Alert, n expr.Names) []inhibit {
	hasHost := matchNot(metric.Label(n.Label(metric.LabelHost)), "")
	lesser := matchOneOf(metric.LabelSeverity, string(Warning), string(Info))
	rules := []inhibit{{
		SourceMatchers: matchers{match(metric.LabelSeverity, string(Critical)), hasHost},
		TargetMatchers: matchers{lesser},
		// A live and a simulated source may have the same host name, and on one host one GPU or drive may be critical
		// and another not.
		Equal: labelNames(n, metric.LabelAlertName, metric.LabelHost, metric.LabelMode, metric.LabelUUID, metric.LabelController),
	}}
	for _, source := range alerts {
		rule := inhibit{SourceMatchers: matchers{match(metric.LabelAlertName, source.Name), hasHost}, Equal: labelNames(n, metric.LabelHost)}
		switch source.Mutes {
		case MutesHost:
			rule.TargetMatchers = matchers{matchNot(metric.LabelAlertName, source.Name)}
			rules = append(rules, rule)
		case MutesExpected:
			expected := func(a Alert) bool { return a.ExpectedInRuns }
			rule.TargetMatchers = matchers{matchOneOf(metric.LabelAlertName, named(alerts, expected)...), lesser}
			rules = append(rules, rule.byWhatIsReal()...)
		}
	}
	return rules
}

// byWhatIsReal keeps simulated alerts from muting live ones: a simulated engine fills no memory and uses no GPU.
func (i inhibit) byWhatIsReal() []inhibit {
	actual, simulated := i, i
	actual.SourceMatchers = append(slices.Clone(i.SourceMatchers), matchNot(metric.LabelMode, metric.ModeSimulated))
	simulated.SourceMatchers = append(slices.Clone(i.SourceMatchers), match(metric.LabelMode, metric.ModeSimulated))
	simulated.TargetMatchers = append(slices.Clone(i.TargetMatchers), matchNot(metric.LabelMode, metric.ModeLive))
	return []inhibit{actual, simulated}
}

// named returns the names of the wanted alerts, in the order of the groups.
func named(alerts []Alert, wanted func(Alert) bool) []string {
	var names []string
	for _, a := range alerts {
		if wanted(a) {
			names = append(names, a.Name)
		}
	}
	return names
}

func labelNames(n expr.Names, labels ...metric.Label) []string {
	names := make([]string, len(labels))
	for i, label := range labels {
		names[i] = n.Label(label)
	}
	return names
}
