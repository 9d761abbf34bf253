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
	See                             []string // figures to look for, in lines of a comment
	Program, Stage                  string   // the program that starts in place of the engine, and the URL where it asks for its arm
	Engine, Telemetry               string   // URLs
	Arms                            []string
	Drops                           bool
	Requests                        int // in each run
	InputTokens, OutputTokens       int
	Iterations, Slots               int
	Seed                            uint64
	Validity                        []string
	Speed                           float64
	Interval, OfMachine             time.Duration
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
		Title: c.Title, Name: c.name, Host: m.name, Order: c.order, Model: modelName, See: c.see(), Program: program, Stage: stageURL,
		Engine: m.engineURL(), Telemetry: m.exporterURL(), Arms: arms, Drops: c.dropsCaches,
		Requests: pace.requests, InputTokens: pace.inputTokens, OutputTokens: pace.outputTokens, Iterations: c.iterations, Slots: len(arms) * c.iterations,
		Seed: o.seed, Validity: laptopValidity(), Speed: pace.speed, Interval: sampling, OfMachine: pace.ofMachine(sampling),
	})
	return text.Bytes(), err
}

// see returns the figures that a reader should look for in the runs.
func (c *shownCampaign) see() []string {
	switch {
	case c.dropsCaches:
		return []string{
			"What to see: every start finds the page cache empty. What is left of the difference is what the container reads on",
			"top and its shared memory, nearly the same in every run.",
		}
	case c.order == orderABBA:
		return []string{
			"What to see: both arms find what the other one has left in the page cache. The difference of the blocks is hardly",
			"there any more, though nothing but the order has changed.",
		}
	default:
		return []string{
			"What to see: the first run in the container finds the page cache full of what the native runs have read. So little is",
			"free then that its KV cache is small, and from run to run that passes. Arm and time are one here, and compare says so.",
			"It is one possible cause of what was published: the published data cannot tell it from others.",
		}
	}
}

// quoted returns a text in quotes of YAML, of which JSON is a subset.
func quoted(text string) (string, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(text)
	return strings.TrimSpace(b.String()), err
}
