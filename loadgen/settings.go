package loadgen

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/prompt"
	"github.com/umascope/umascope/loadgen/report"
	"github.com/umascope/umascope/loadgen/schedule"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// DefaultAddress is where the live metrics of a run are served unless a flag says otherwise.
const DefaultAddress = "127.0.0.1:10421"

// Defaults of settings whose zero value means that they were not given.
const (
	defaultRequests    = 64
	defaultConcurrency = 1
	defaultArm         = "default"
)

// settings are the flags of run.
type settings struct {
	target target

	scenario       scenario
	prompts        string // a set's name or a file
	file           *prompt.File
	inputTokens    *prompt.Lengths
	maxInputTokens int
	tokenMargin    int
	clip           bool
	sharedTokens   int
	outputTokens   prompt.Lengths
	template       *prompt.Template
	templateName   string
	templateFlag   string
	ignoreEOS      bool
	temperature    float64
	topP           float64
	stop           []string
	requestSeed    *int64
	extraBody      map[string]any
	noStream       bool

	arrival     schedule.Arrival
	concurrency int
	rate        float64
	burstiness  float64
	stages      []schedule.Stage
	tracePath   string
	trace       *schedule.Trace
	clients     int
	active      int
	maxTurns    int
	sampling    string
	requests    int
	duration    time.Duration
	warmup      schedule.Limit
	grace       time.Duration
	seed        uint64
	sizes       []size
	fitPressure float64
	force       bool
	sets        *sets // of scenarios that send sets of prompts, once resolved
	bursts      bursts

	requestTimeout, firstTokenTimeout, chunkTimeout time.Duration

	// What was said on the command line and is not the default's.
	promptsGiven, outputGiven, samplingGiven, concurrencyGiven, requestsGiven bool

	labels            []label
	telemetry         []telemetry.Source
	scrape            []telemetry.Source
	container         string
	captures          []capture
	telemetryInterval time.Duration
	expect            kvExpectation
	slo               report.SLO
	validity          []string

	out         string
	runID       string
	saveOutputs bool
	results     results
	web         web
	logLevel    string
}

// target is the server under test and how to talk to it: what run and check have in common.
type target struct {
	url              string // without /v1
	model            string
	endpoint         chat.Endpoint
	engine           string
	headers          []header
	caFile           string
	apiKeyFile       string
	waitReady        time.Duration
	readyConsecutive int
}

// web is where live metrics are served, and how long after the end of the run.
type web struct {
	address  string
	explicit bool
	linger   time.Duration
}

type label struct{ name, value string }

type header struct{ name, value string }

// resolve fills what depends on other settings and refuses what contradicts itself.
func (s *settings) resolve(host string) error {
	for _, resolve := range []func() error{s.resolveArrival, s.resolvePrompts, s.resolveScenario, s.resolveTelemetry, s.resolveCaptures, func() error { return s.resolveLabels(host) }} {
		if err := resolve(); err != nil {
			return err
		}
	}
	if s.firstTokenTimeout == 0 {
		s.firstTokenTimeout = s.requestTimeout
	}
	if s.runID != "" && !plainName(s.runID) {
		return fmt.Errorf("--run-id: %q: want letters, digits, . _ and -, not beginning with a dot, at most 128", s.runID)
	}
	return nil
}

func (s *settings) resolveTelemetry() error {
	for i, source := range s.telemetry {
		if named(s.telemetry[:i], source.Name) {
			return fmt.Errorf("--telemetry: %s is given twice; each source needs a name of its own", source.Name)
		}
	}
	for i, page := range s.scrape {
		if named(s.scrape[:i], page.Name) || named(s.telemetry, page.Name) {
			return fmt.Errorf("--scrape: %s is given twice; each source needs a name of its own", page.Name)
		}
	}
	return nil
}

func (s *settings) resolveCaptures() error {
	for i, c := range s.captures {
		if slices.ContainsFunc(s.captures[:i], func(other capture) bool { return other.name == c.name }) {
			return fmt.Errorf("--capture: %s is given twice; each command needs a name of its own", c.name)
		}
	}
	return nil
}

func named(sources []telemetry.Source, name string) bool {
	return slices.ContainsFunc(sources, func(s telemetry.Source) bool { return s.Name == name })
}

// resolveLabels makes sure of the labels that every run has.
func (s *settings) resolveLabels(host string) error {
	for i, l := range s.labels {
		if slices.ContainsFunc(s.labels[:i], func(other label) bool { return other.name == l.name }) {
			return fmt.Errorf("--label: %s is given twice", l.name)
		}
	}
	for _, l := range []label{{"arm", defaultArm}, {"host", host}} {
		if s.label(l.name) == "" {
			s.labels = append(s.labels, l)
		}
	}
	return nil
}

func (s *settings) label(name string) string {
	for _, l := range s.labels {
		if l.name == name {
			return l.value
		}
	}
	return ""
}

func (s *settings) labelMap() map[string]string {
	labels := map[string]string{}
	for _, l := range s.labels {
		labels[l.name] = l.value
	}
	return labels
}

func plainName(s string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$`).MatchString(s)
}

func labelName(s string) bool {
	return regexp.MustCompile(`^[a-z_][a-z0-9_]{0,63}$`).MatchString(s)
}

func headerName(s string) bool {
	return regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$").MatchString(s)
}

func parseLabel(s string) (label, error) {
	name, value, err := pair(s, "=", labelName)
	if err == nil && (value == "" || len(value) > 256 || strings.ContainsFunc(value, unicode.IsControl)) {
		err = fmt.Errorf("%s has no value, a long one or control characters", name)
	}
	return label{name, value}, err
}

// parseHeader does not repeat the text in its errors: it may hold a key.
func parseHeader(s string) (header, error) {
	name, value, err := pair(s, ":", headerName)
	if err == nil && strings.ContainsFunc(value, unicode.IsControl) {
		err = fmt.Errorf("the value of %s has control characters", name)
	}
	return header{name, strings.TrimSpace(value)}, err
}

func parseSource(s string) (telemetry.Source, error) {
	name, where, err := pair(s, "=", plainName)
	if err != nil {
		return telemetry.Source{}, err
	}
	url, err := address(where)
	return telemetry.Source{Name: name, URL: url}, err
}

// parseWarmup reads a number of requests or a duration.
func parseWarmup(s string) (schedule.Limit, error) {
	if n, err := atLeast(0)(s); err == nil {
		return schedule.Limit{Requests: n}, nil
	}
	if d, err := duration(s); err == nil {
		return schedule.Limit{Duration: d}, nil
	}
	return schedule.Limit{}, fmt.Errorf("%q is neither a number of requests nor a duration", s)
}

func parseListenAddress(s string) (string, error) {
	if _, _, err := net.SplitHostPort(s); err != nil {
		return "", fmt.Errorf("%q is not HOST:PORT", s)
	}
	return s, nil
}

// oneScenario accepts the scenarios that there are.
func oneScenario(s string) (scenario, error) {
	for _, known := range scenarios() {
		if known.name == s {
			return known, nil
		}
	}
	return scenario{}, fmt.Errorf("%q is not in this version; it knows %s", s, strings.Join(scenarioNames(), ", "))
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	return names
}

// parseExtra reads the further fields of requests.
func parseExtra(s string) (map[string]any, error) {
	extra, err := jsonObject(s)
	if err == nil {
		err = chat.CheckExtra(extra)
	}
	return extra, err
}

// parseURL accepts the URL of a server under test.
func parseURL(s string) (string, error) {
	base, err := chat.ParseBase(s)
	if err != nil {
		return "", err
	}
	return base.String(), nil
}
