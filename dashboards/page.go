// Package dashboards holds the Grafana dashboards, one file per dashboard, rendered to committed JSON that is
// provisioned as it is and never edited in Grafana.
//
// The files are in Grafana's classic schema (v1): file provisioning of Grafana 12 and 13 accepts it, and does not
// accept the newer one.
package dashboards

//lint:file-ignore SA1019 the SDK calls the classic schema deprecated in favour of v2, which Grafana's file provisioning refuses

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// gridWidth is the width of a dashboard in grid columns, rowHeight the height of a row's title.
const (
	gridWidth = 24
	rowHeight = 1
)

// A page is opened on a screen of 1440x900 pixels, where a grid unit takes 30 pixels and the gap after it 8. What is open
// must fit on two screens, the first row, which answers the page's question, on one.
const (
	screenHeight = 900 / (30 + 8)
	openHeight   = 2 * 900 / (30 + 8)
)

// tag is on every dashboard; links between dashboards find them by it.
const tag = "umascope"

// page is one dashboard.
type page struct {
	name        string // of the file and, after "umascope-", the uid
	title       string
	description string
	// of are the hosts that the page is about.
	of hostChoice
	// variables are those after data source, later and host, each after those that its query refers to.
	variables []variable
	// from is how far back the page looks when it is opened, 30 minutes if it is empty.
	from string
	// rows are open when the page is opened, more are collapsed below them: Grafana queries a panel when it is shown.
	rows, more []row
}

// variable is a choice at the top of a page.
type variable = cog.Builder[dashboard.VariableModel]

// row is a titled line of tiles; they flow from left to right and wrap.
type row struct {
	title string
	tiles []tile
}

// tile is a panel with its size in grid units.
type tile struct {
	width, height uint32
	panel         cog.Builder[dashboard.Panel]
}

// build renders the page. It sets positions and ids, since the SDK sets no ids and lets a panel that does not fit run
// over the edge.
func (p page) build() (dashboard.Dashboard, error) {
	built, err := p.frame().Build()
	if err != nil {
		return built, err
	}
	// The SDK sets a placement that hides links and annotations in a menu, and cannot unset it.
	for i := range built.Links {
		built.Links[i].Placement = nil
	}
	for i := range built.Annotations.List {
		built.Annotations.List[i].Placement = nil
	}
	var cursor placer
	for _, r := range p.rows {
		title, panels, err := cursor.row(r)
		if err != nil {
			return built, err
		}
		built.Panels = append(built.Panels, title)
		for _, panel := range panels {
			built.Panels = append(built.Panels, dashboard.PanelOrRowPanel{Panel: &panel})
		}
	}
	for _, r := range p.more {
		title, panels, err := cursor.row(r)
		if err != nil {
			return built, err
		}
		title.RowPanel.Collapsed, title.RowPanel.Panels = true, panels
		built.Panels = append(built.Panels, title)
		// The next title follows this one: Grafana makes room when a row is opened.
		cursor.rowBottom = title.RowPanel.GridPos.Y + rowHeight
	}
	return built, nil
}

// frame returns the dashboard without its panels.
func (p page) frame() *dashboard.DashboardBuilder {
	built := dashboard.NewDashboardBuilder(p.title).
		Uid(tag+"-"+p.name).
		Description(p.description).
		Tags([]string{tag}).
		Readonly().
		Timezone("browser").
		Time(cmp.Or(p.from, "now-30m"), "now").
		Refresh(p.refresh()).
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(datasourceVariable())
	for _, v := range slices.Concat(p.of.variables(), p.variables) {
		built = built.WithVariable(v)
	}
	return built.
		Annotation(runAnnotation(p.of.matcher())).
		Annotation(alertAnnotation(p.of.matcher())).
		Link(otherDashboards())
}

// refresh is how often the page asks again: never of finished runs.
func (p page) refresh() string {
	if p.of == hostOfRuns {
		return ""
	}
	return "10s"
}

// placer finds places on the grid and numbers panels, rows included, from 1.
type placer struct {
	numbered  uint32
	x, y      uint32
	rowBottom uint32
}

// row places a row's title and its tiles.
func (c *placer) row(r row) (dashboard.PanelOrRowPanel, []dashboard.Panel, error) {
	c.x, c.y = 0, c.rowBottom
	title, err := dashboard.NewRowBuilder(r.title).Id(c.nextID()).GridPos(c.place(gridWidth, rowHeight)).Build()
	if err != nil {
		return dashboard.PanelOrRowPanel{}, nil, err
	}
	title.Panels = []dashboard.Panel{} // Grafana wants a list
	var panels []dashboard.Panel
	for _, t := range r.tiles {
		panel, err := t.panel.Build()
		if err != nil {
			return dashboard.PanelOrRowPanel{}, nil, fmt.Errorf("row %s: %w", r.title, err)
		}
		wrap(&panel)
		panel.Id = cog.ToPtr(c.nextID())
		panel.GridPos = cog.ToPtr(c.place(t.width, t.height))
		panels = append(panels, panel)
	}
	return dashboard.PanelOrRowPanel{RowPanel: &title}, panels, nil
}

// nextID is the id of the panel that is placed next; links to single panels use it.
func (c *placer) nextID() uint32 {
	c.numbered++
	return c.numbered
}

// place takes the next place of that size, in a new line if it does not fit into this one.
func (c *placer) place(width, height uint32) dashboard.GridPos {
	if c.x+width > gridWidth {
		c.x, c.y = 0, c.rowBottom
	}
	pos := dashboard.GridPos{X: c.x, Y: c.y, W: width, H: height}
	c.x += width
	c.rowBottom = max(c.rowBottom, c.y+height)
	return pos
}
