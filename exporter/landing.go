package exporter

import (
	_ "embed"
	"html/template"
	"net/http"

	"github.com/umascope/umascope/exporter/collector"
)

//go:embed landing.html
var landingText string

// landing is the data of the template.
type landing struct {
	explanation
	Outcomes      []collector.Outcome
	Build         string
	ModeSentence  string
	Live          bool
	TelemetryPath string
	Records       bool // there is a recorder
}

// parseLanding runs once, so that a fault in the page shows when the exporter is made.
func parseLanding() (*template.Template, error) {
	return template.New("landing").Funcs(template.FuncMap{
		"gib": gib[int64], "gibF": gib[float64], "gibU": gib[uint64], "gibOr": gibOr, "printable": printable, "round": rounded,
		"percent": func(share float64) float64 { return 100 * share }, "share": (*memoryAccount).share,
		"allocatableTitle": func() string { return allocatableTitle },
	}).Parse(landingText)
}

// writeLanding shows the states of the collectors, the ledger, and what is missing and why.
func (e *Exporter) writeLanding(w http.ResponseWriter, _ *http.Request, scrape *collector.Scrape) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := e.landing.Execute(w, landing{
		explanation: e.explained(scrape), Outcomes: scrape.Outcomes, Build: readBuild().String(), ModeSentence: modeSentence(scrape.Mode, thisMachine),
		Live: scrape.Mode == collector.Live, TelemetryPath: e.settings.TelemetryPath, Records: e.recorder != nil,
	}); err != nil {
		e.settings.Logger.Error("page", "problem", err.Error())
	}
}
