// Package grafana reads a dashboard file as Grafana reads it: its variables and their options, the queries of its
// panels, their time ranges and steps, so that tests and the preview send a query exactly as Grafana would.
//
// The preview shows dashboards without a Grafana: it queries one Prometheus and draws pages, which show that they are a
// preview. It is no substitute for Grafana. It only reads, connects to the configured Prometheus only, and its pages
// load nothing from other servers.
//
// The rules are those of Grafana 12 and 13, from its documentation and its public source; each comment names its
// source, and any difference that is on purpose. The package supports the classic schema (v1), the Prometheus data
// source, and of both what the dashboards of this project use; a variable of another kind is an error.
package grafana

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Dashboard is the content of a dashboard file, as far as it is visible.
type Dashboard struct {
	UID, Title, Description string
	Tags                    []string
	// From and To are the time range as written, such as now-30m and now.
	From, To string
	// Panels are all panels from top to bottom, including those of collapsed rows, without the rows.
	Panels []Panel
	// Rows are the titles between the panels.
	Rows        []Row
	Variables   []Variable
	Annotations []Annotation
	Links       []Link
}

// Row is a line across the dashboard that titles the panels below it.
type Row struct {
	Title string
	Place Place
	// Collapsed reports that its panels are neither shown nor queried until it is opened.
	Collapsed bool
}

// Place is the position and size of a panel, in grid units: a dashboard is 24 wide.
type Place struct{ X, Y, W, H int }

// Panel is one panel. Settings that only affect drawing are kept as raw JSON.
type Panel struct {
	ID          int
	Type        string
	Title       string
	Description string
	// Row is the title of the row that the panel belongs to, "" above the first.
	Row     string
	Place   Place `json:"gridPos"`
	Targets []Target
	// MaxDataPoints is the panel's own resolution, 0 for its width.
	MaxDataPoints   int
	Links           []Link
	FieldConfig     json.RawMessage
	Options         json.RawMessage
	Transformations json.RawMessage
}

// Target is one query of a panel.
type Target struct {
	RefID        string
	Expr         string
	LegendFormat string
	// Format is time_series, table or heatmap; "" is time_series.
	Format string
	// Instant queries the end of the range only.
	Instant bool
}

// Annotation marks times by a query.
type Annotation struct {
	Name        string
	Enable      bool
	IconColor   string
	Expr        string
	TitleFormat string
	TextFormat  string
}

// Link leads to other dashboards by tags, or from a panel to an address.
type Link struct {
	Title, URL            string
	Tags                  []string
	KeepTime, IncludeVars bool
}

// file is the JSON of a dashboard.
type file struct {
	UID, Title, Description string
	Tags                    []string
	Time                    struct{ From, To string }
	SchemaVersion           int
	Panels                  []filePanel
	Templating              struct{ List []fileVariable }
	Annotations             struct{ List []Annotation }
	Links                   []Link
}

type filePanel struct {
	Panel
	Collapsed bool
	Panels    []Panel
}

// Read reads a dashboard of the classic schema.
func Read(content []byte) (Dashboard, error) {
	var f file
	if err := json.Unmarshal(content, &f); err != nil {
		return Dashboard{}, fmt.Errorf("not a dashboard: %w", err)
	}
	if f.UID == "" || f.Title == "" || f.SchemaVersion == 0 {
		return Dashboard{}, errors.New("not a dashboard of the classic schema: no uid, title or schemaVersion")
	}
	d := Dashboard{
		UID: f.UID, Title: f.Title, Description: f.Description, Tags: f.Tags,
		From: f.Time.From, To: f.Time.To, Links: f.Links, Annotations: f.Annotations.List,
	}
	d.lay(f.Panels)
	for _, v := range f.Templating.List {
		variable, err := v.variable()
		if err != nil {
			return Dashboard{}, err
		}
		d.Variables = append(d.Variables, variable)
	}
	return d, nil
}

// shown reports whether a panel is shown: its row is open, or among those that were opened.
func (d *Dashboard) shown(p Panel, opened []string) bool {
	return !slices.ContainsFunc(d.Rows, func(r Row) bool {
		return r.Collapsed && r.Title == p.Row && !slices.Contains(opened, r.Title)
	})
}

// lay takes the panels out of their rows. An open row is followed by its panels, a collapsed
// one holds them.
func (d *Dashboard) lay(panels []filePanel) {
	row := ""
	for _, p := range panels {
		if p.Type != "row" {
			p.Row = row
			d.Panels = append(d.Panels, p.Panel)
			continue
		}
		row = p.Title
		d.Rows = append(d.Rows, Row{Title: p.Title, Place: p.Place, Collapsed: p.Collapsed})
		for _, inside := range p.Panels {
			inside.Row = row
			d.Panels = append(d.Panels, inside)
		}
	}
}
