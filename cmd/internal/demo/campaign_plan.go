package demo

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"strings"
	"text/template"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

// planTemplate is the plan of a campaign. Its own marks are [[ and ]], since {{ and }} are those of plans.
//
//go:embed plan.yaml.tmpl
var planTemplate string

// planTexts holds the values in which the plans of the campaigns differ, and the addresses of the machines of this
// demo.
type planTexts struct {
	Title, Name, Host, Order, Model string
	Program, Stage                  string // the program that starts in place of the engine, and the URL where it asks for its arm
	Engine, Telemetry               string // URLs
	Arms                            []string
	Drops                           bool
	Requests                        int // in each run
	InputTokens, OutputTokens       int
	Iterations, Slots               int
	Seed                            uint64
	Validity                        []string
	Interval                        time.Duration
}

// planOf returns the plan file of a campaign on a machine whose arms are started through stageURL.
func planOf(c *shownCampaign, m *machine, stageURL string, sampling time.Duration, o showOptions) ([]byte, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	parsed, err := template.New("plan").Delims("[[", "]]").Funcs(template.FuncMap{"quote": quoted}).Parse(planTemplate)
	if err != nil {
		return nil, err
	}
	pace := paceOf(o)
	arms := []string{metric.ArmNative, metric.ArmContainer}
	var text bytes.Buffer
	err = parsed.Execute(&text, planTexts{
		Title: c.title, Name: c.name, Host: m.name, Order: c.order, Model: modelName, Program: program, Stage: stageURL,
		Engine: m.engineURL(), Telemetry: m.exporterURL(), Arms: arms, Drops: c.dropsCaches,
		Requests: pace.requests, InputTokens: pace.inputTokens, OutputTokens: pace.outputTokens, Iterations: c.iterations, Slots: len(arms) * c.iterations,
		Seed: o.seed, Validity: laptopValidity(), Interval: sampling,
	})
	return text.Bytes(), err
}

// quoted returns a text in quotes of YAML, of which JSON is a subset.
func quoted(text string) (string, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(text)
	return strings.TrimSpace(b.String()), err
}
