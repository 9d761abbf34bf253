// Package grafana reads a dashboard file as Grafana reads it: which variables it has and what
// they may be, which queries its panels send, over which time and in which steps. Tests and the
// preview use it, so that a query is tried exactly as Grafana would send it.
//
// The rules are facts about Grafana 12 and 13, taken from its documentation and its public
// source; each is named where it is applied. What differs on purpose is said there too. Only
// the classic schema (v1) and the Prometheus data source are known.
package grafana

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Dashboard is what a dashboard file says, as far as it can be seen.
type Dashboard struct {
	UID, Title, Description string
	Tags                    []string
	// From and To are the time range as written, such as now-30m and now.
	From, To string
	// Refresh is the time between two refreshes as written, "" for none.
	Refresh string
	// Panels are all panels from top to bottom, those of collapsed rows included, rows not.
	Panels []Panel
	// Rows are the titles between the panels.
	Rows        []Row
	Variables   []Variable
	Annotations []Annotation
	Links       []Link
}

// Row is a line across the dashboard that titles the panels below it.
type Row struct {
	ID        int
	Title     string
	Place     Place
	Collapsed bool
}

// Place is where a panel is, in grid units: a dashboard is 24 wide.
type Place struct{ X, Y, W, H int }

// Panel is one panel. What only a drawing program needs is kept as it is written.
type Panel struct {
	ID          int
	Type        string
	Title       string
	Description string
	// Row is the title of the row that the panel belongs to, "" above the first.
	Row     string
	Place   Place `json:"gridPos"`
	Targets []Target
	// MaxDataPoints and Interval are the panel's own query options, 0 and "" for none.
	MaxDataPoints int
	Interval      string
	// Repeat is the variable for each of whose values Grafana shows the panel once.
	Repeat          string
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
	Format         string
	Instant, Range bool
	// Interval is the least step of this query, "" for none.
	Interval       string
	IntervalFactor int
	Hide           bool
	Datasource     Datasource
}

// Datasource says who answers; the uid may be a variable.
type Datasource struct{ Type, UID string }

// Annotation marks times by a query.
type Annotation struct {
	Name            string
	Enable, Hide    bool
	IconColor       string
	Expr            string
	Step            string
	TitleFormat     string
	TextFormat      string
	TagKeys         string
	UseValueForTime bool
	Datasource      Datasource
}

// Link leads to other dashboards, by tags or by an address.
type Link struct {
	Title, Type, URL      string
	Tags                  []string
	KeepTime, IncludeVars bool
	AsDropdown            bool
	TargetBlank           bool
}

// file is the JSON of a dashboard.
type file struct {
	UID, Title, Description string
	Tags                    []string
	Time                    struct{ From, To string }
	Refresh                 json.RawMessage // a text, or false
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
	if json.Unmarshal(f.Refresh, &d.Refresh) != nil { // false
		d.Refresh = ""
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
		d.Rows = append(d.Rows, Row{ID: p.ID, Title: p.Title, Place: p.Place, Collapsed: p.Collapsed})
		for _, inside := range p.Panels {
			inside.Row = row
			d.Panels = append(d.Panels, inside)
		}
	}
}
