package loadgen

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/umascope/umascope/cmd/terminal"

	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/summary"
)

// DefaultAddress is the default address where the live metrics of a run are served.
const DefaultAddress = "127.0.0.1:10421"

// defaultArm is the label arm of a run that sets none.
const defaultArm = "default"

// settings holds the flags of run: the load, what is kept of the run, and the additional files.
type settings struct {
	runner.Load
	keeping
	sharing  sharing
	results  results
	progress runner.ProgressFormat
}

// keeping holds the settings that do not depend on the load: what is kept of a run and how it is shown while it runs.
type keeping struct {
	runner.Keep
	labels []label // as the flags gave them
	web    runner.ListenAddress
	linger time.Duration // how long live metrics are served after the end of the run
	log    terminal.Log
}

type label struct{ name, value string }

// resolve sets the values that depend on other settings and refuses settings that contradict each other.
func (s *settings) resolve(host string) error {
	if s.Target.URL == "" {
		return errNoURL
	}
	var err error
	if s.Place, err = s.sharing.place(); err != nil {
		return err
	}
	s.StartAt = s.sharing.startAt
	if err := s.FindRepeated(s.Out); err != nil {
		return err
	}
	if err := s.Settings.Resolve(s.Target.Endpoint); err != nil {
		return err
	}
	s.Target.RequestTimeout, s.Target.FirstTokenTimeout = s.RequestTimeout, s.FirstTokenTimeout
	if latency := s.SLO.NeedsStream(); s.NoStream && latency != "" {
		return fmt.Errorf("--slo: answers of --no-stream do not show their %s, only their e2e", latency)
	}
	if err := s.checkReplicas(); err != nil {
		return err
	}
	if err := runner.CheckEngineLog(s.EngineLog); err != nil {
		return err
	}
	if err := s.addScenarioLabels(); err != nil {
		return err
	}
	s.Capture.Server, s.Capture.Replicas = s.Target.URL, s.Replicas
	return s.keeping.resolve(host)
}

// checkReplicas refuses what can be measured of one server only.
func (s *settings) checkReplicas() error {
	if len(s.Replicas) == 0 {
		return nil
	}
	for _, one := range []struct {
		flag  string
		given bool
	}{
		{"--scenario " + s.Scenario.Name, s.OneServer()}, {"--expect", s.Expect != ""}, {"--engine-log", s.EngineLog != ""},
		{"--container", s.Capture.Container != ""}, {"--world", !s.Place.Alone()},
	} {
		if one.given {
			return fmt.Errorf("%s: it is for one server, and --url names %d", one.flag, 1+len(s.Replicas))
		}
	}
	return nil
}

// addScenarioLabels adds the labels that the scenario gives a run.
func (s *settings) addScenarioLabels() error {
	for name, value := range s.ScenarioLabels() {
		switch given := s.label(name); given {
		case value:
		case "":
			s.labels = append(s.labels, label{name, value})
		default:
			return fmt.Errorf("--label: %s=%s: --scenario %s has the value %s", name, given, s.Scenario.Name, value)
		}
	}
	return nil
}

// resolve sets the labels that every run has and refuses settings that contradict each other.
func (s *keeping) resolve(host string) error {
	if err := s.Capture.Check(); err != nil {
		return err
	}
	if err := s.resolveLabels(host); err != nil {
		return err
	}
	if s.RunID != "" && !terminal.PlainName(s.RunID) {
		return fmt.Errorf("--run-id: %q: want letters, digits, . _ and -, not beginning with a dot, at most 128", s.RunID)
	}
	var err error
	if s.Limits, err = summary.ParseLimits(s.Validity); err != nil {
		return fmt.Errorf("--validity: %w", err)
	}
	return nil
}

// resolveLabels sets the labels that every run has.
func (s *keeping) resolveLabels(host string) error {
	for i, l := range s.labels {
		if slices.ContainsFunc(s.labels[:i], func(other label) bool { return other.name == l.name }) {
			return fmt.Errorf("--label: %s is given twice", l.name)
		}
	}
	if first := s.Capture.Elsewhere(host); first != "" {
		host = first
	}
	for _, l := range []label{{"arm", defaultArm}, {"host", host}} {
		if s.label(l.name) == "" {
			s.labels = append(s.labels, l)
		}
	}
	s.Labels = map[string]string{}
	for _, l := range s.labels {
		s.Labels[l.name] = l.value
	}
	return nil
}

func (s *keeping) label(name string) string {
	for _, l := range s.labels {
		if l.name == name {
			return l.value
		}
	}
	return ""
}

func labelName(s string) bool {
	return regexp.MustCompile(`^[a-z_][a-z0-9_]{0,63}$`).MatchString(s)
}

func parseLabel(s string) (label, error) {
	name, value, err := terminal.Pair(s, "=", labelName)
	if err != nil {
		return label{}, fmt.Errorf("%w, such as arm=native", err)
	}
	if value == "" || len(value) > 256 || strings.ContainsFunc(value, unicode.IsControl) {
		err = fmt.Errorf("%s has no value, a long one or control characters", name)
	}
	return label{name, value}, err
}

func parseListenAddress(s string) (string, error) {
	if _, _, err := net.SplitHostPort(s); err != nil {
		return "", fmt.Errorf("%q is not HOST:PORT", s)
	}
	return s, nil
}
