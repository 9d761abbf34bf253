package loadgen

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/umascope/umascope/loadgen/live"
	"github.com/umascope/umascope/loadgen/option"
	"github.com/umascope/umascope/loadgen/scene"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/witness"
	"github.com/umascope/umascope/loadgen/workload"
)

// DefaultAddress is where the live metrics of a run are served unless a flag says otherwise.
const DefaultAddress = "127.0.0.1:10421"

// defaultArm is the label arm of a run that has none.
const defaultArm = "default"

// settings are the flags of run: of what is asked, what is sent, and what is kept of it.
type settings struct {
	target server.Target
	workload.Settings
	sharing sharing

	keeping

	expect  witness.Expectation
	slo     summary.SLO
	results results
	verbose bool
	// engineLog is a file that the engine writes its log to; empty is none.
	engineLog string
}

// keeping is what is kept of a run, whatever its load is.
type keeping struct {
	labels   []label
	scene    scene.Settings
	validity []string
	out      string
	runID    string
	web      live.Address
	linger   time.Duration // how long live metrics are served after the end of the run
	logLevel string
}

type label struct{ name, value string }

// resolve fills what depends on other settings and refuses what contradicts itself.
func (s *settings) resolve(host string) error {
	var err error
	if s.Place, err = s.sharing.place(); err != nil {
		return err
	}
	if err := s.Settings.Resolve(s.target.Endpoint); err != nil {
		return err
	}
	if latency := s.slo.NeedsStream(); s.NoStream && latency != "" {
		return fmt.Errorf("--slo: answers of --no-stream do not show their %s, only their e2e", latency)
	}
	if err := checkEngineLog(s.engineLog); err != nil {
		return err
	}
	return s.keeping.resolve(host)
}

// resolve makes sure of the labels that every run has, and refuses what contradicts itself.
func (s *keeping) resolve(host string) error {
	if err := s.scene.Check(); err != nil {
		return err
	}
	if err := s.resolveLabels(host); err != nil {
		return err
	}
	if s.runID != "" && !option.PlainName(s.runID) {
		return fmt.Errorf("--run-id: %q: want letters, digits, . _ and -, not beginning with a dot, at most 128", s.runID)
	}
	return nil
}

// resolveLabels makes sure of the labels that every run has.
func (s *keeping) resolveLabels(host string) error {
	for i, l := range s.labels {
		if slices.ContainsFunc(s.labels[:i], func(other label) bool { return other.name == l.name }) {
			return fmt.Errorf("--label: %s is given twice", l.name)
		}
	}
	if first := s.scene.Elsewhere(host); first != "" {
		host = first
	}
	for _, l := range []label{{"arm", defaultArm}, {"host", host}} {
		if s.label(l.name) == "" {
			s.labels = append(s.labels, l)
		}
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

func (s *keeping) labelMap() map[string]string {
	labels := map[string]string{}
	for _, l := range s.labels {
		labels[l.name] = l.value
	}
	return labels
}

// hosts are the machines that are measured: the one of the label, and all others whose telemetry was asked for. An
// engine that lies on several has an exporter named for each.
func (s *keeping) hosts() []string {
	all := []string{s.label("host")}
	for _, source := range s.scene.Telemetry {
		if !slices.Contains(all, source.Name) {
			all = append(all, source.Name)
		}
	}
	return all
}

func labelName(s string) bool {
	return regexp.MustCompile(`^[a-z_][a-z0-9_]{0,63}$`).MatchString(s)
}

func parseLabel(s string) (label, error) {
	name, value, err := option.Pair(s, "=", labelName)
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

// facts are what the live page says of a run from its beginning.
func (s *keeping) facts(run, scenario string, phases []string) live.Facts {
	b := buildVersion()
	return live.Facts{
		Run: run, Hosts: s.hosts(), Arm: s.label("arm"), Scenario: scenario, Phases: phases,
		Version: b.Version, Revision: b.Revision, GoVersion: b.GoVersion,
	}
}

// wanted is what requests are to have that not every server takes.
func (s *settings) wanted() server.Wanted {
	return server.Wanted{
		Seed: s.RequestSeed, Stop: s.Stop, IgnoreEOS: s.IgnoreEOS, Stream: !s.NoStream, Extra: s.ExtraBody,
		CacheSalt: s.NeedsSalt(),
	}
}
