package dashboards

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// rendered is what the checks read of a dashboard: the JSON that Grafana gets, not our own types.
type rendered struct {
	UID, Title, Description string
	SchemaVersion           int
	Editable                bool
	Tags                    []string
	Time                    struct{ From, To string }
	Refresh                 string
	Inputs                  any `json:"__inputs"`
	// Panels are all panels with the titles of rows, those of collapsed rows after their title; Opened are those that
	// are on the page when it is opened.
	Panels, Opened []renderedPanel
	Links          []struct {
		Type                  string
		Tags                  []string
		KeepTime, IncludeVars bool
		Placement             *string
	}
	Templating struct {
		List []struct {
			Name, Type, Label string
			Query             any
			Refresh           int
			AllValue          string
			IncludeAll, Multi bool
			Datasource        *renderedSource
			Current           any
		}
	}
	Annotations struct {
		List []struct {
			Name, Expr string
			Enable     bool
			Datasource renderedSource
			Placement  *string
		}
	}
}

type renderedSource struct{ Type, UID string }

type renderedPanel struct {
	ID                       int
	Type, Title, Description string
	Collapsed                bool
	Panels                   []renderedPanel
	GridPos                  struct{ X, Y, W, H int }
	Datasource               renderedSource
	Targets                  []struct {
		RefID, Expr, LegendFormat, Format string
		Instant, Range                    bool
		Datasource                        renderedSource
	}
	FieldConfig struct {
		Defaults struct {
			Unit, NoValue string
			Thresholds    struct{ Steps []struct{ Value *float64 } }
			Custom        struct {
				MinWidth float64

				WrapText, WrapHeaderText bool

				Stacking struct{ Mode string }
			}
		}
		Overrides []renderedOverride
	}
	Transformations []struct {
		ID      string
		Options struct {
			RenameByName  map[string]string
			ExcludeByName map[string]bool
			Sort          []struct{ Field string }
		}
	}
	Options struct {
		Legend        *struct{ ShowLegend bool }
		Tooltip       *struct{ Mode, Sort string }
		ReduceOptions *struct{ Calcs []string }
		GraphMode     string
		Stacking      string
		SortBy        []struct{ DisplayName string }
	}
}

type renderedOverride struct {
	Matcher    struct{ ID, Options string }
	Properties json.RawMessage
}

// columns are the titles that a table gives its columns.
func (p renderedPanel) columns() []string {
	var titles []string
	for _, t := range p.Transformations {
		titles = slices.AppendSeq(titles, maps.Values(t.Options.RenameByName))
	}
	return titles
}

func renderAll(t *testing.T) map[string]rendered {
	t.Helper()
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no dashboards")
	}
	all := map[string]rendered{}
	for _, f := range files {
		var d rendered
		if err := json.Unmarshal(f.Content, &d); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		d.Opened, d.Panels = d.Panels, nil
		for _, p := range d.Opened {
			d.Panels = append(append(d.Panels, p), p.Panels...)
		}
		all[f.Name] = d
	}
	return all
}

// forPanels calls check with every panel that is no row.
func forPanels(t *testing.T, check func(t *testing.T, p renderedPanel)) {
	for name, d := range renderAll(t) {
		count := 0
		for _, p := range d.Panels {
			if p.Type == "row" {
				continue
			}
			count++
			t.Run(name+"/"+p.Title, func(t *testing.T) { check(t, p) })
		}
		if count == 0 {
			t.Errorf("%s has no panels", name)
		}
	}
}

func TestADashboardIsFindableReadOnlyAndProvisionable(t *testing.T) {
	uids := map[string]string{}
	for name, d := range renderAll(t) {
		if other := uids[d.UID]; other != "" || d.UID == "" || len(d.UID) > 40 {
			t.Errorf("%s: uid %q, also of %q", name, d.UID, other)
		}
		uids[d.UID] = name
		if d.Title == "" || d.Description == "" || d.Time.From == "" || d.SchemaVersion != 42 || d.Editable || !slices.Contains(d.Tags, tag) {
			t.Errorf("%s: title %q, description %q, time %v, schema %d, editable %v, tags %v", name, d.Title, d.Description, d.Time, d.SchemaVersion, d.Editable, d.Tags)
		}
		if d.Inputs != nil {
			t.Errorf("%s has __inputs, which provisioning does not fill in", name)
		}
	}
}

func TestEveryPageChoosesItsHostsAndBeginsWithItsSourceAndItsAlerts(t *testing.T) {
	for name, d := range renderAll(t) {
		// Only the fleet adds hosts to each other, and only it and Inference show several.
		want := map[string][2]bool{"fleet.json": {true, true}, "inference.json": {true, false}}[name]
		found := false
		for _, v := range d.Templating.List {
			if v.Label == "Host" || v.Label == "Hosts" {
				found = true
				if (v.Name == "hosts") != want[1] || v.Multi != want[0] || v.IncludeAll != want[1] {
					t.Errorf("%s: variable %s, several: %v, all: %v", name, v.Name, v.Multi, v.IncludeAll)
				}
			}
		}
		if !found {
			t.Errorf("%s: no host is chosen", name)
		}
		// The first panel is row 0's, which is a title.
		var top strings.Builder
		for _, p := range d.Panels {
			if p.GridPos.Y == d.Panels[1].GridPos.Y {
				for _, q := range p.Targets {
					top.WriteString(q.Expr)
				}
			}
		}
		for what, series := range map[string]metric.Definer{"source": metric.ExporterMode, "alerts": metric.Alerts} {
			if !strings.Contains(top.String(), series.Def().Name+"{") {
				t.Errorf("%s does not begin with its %s", name, what)
			}
		}
	}
}

// A Prometheus whose jobs set other labels than host has all series, and every page would be empty.
func TestAPageWhoseHostLabelIsMissingSaysSoInItsFirstRow(t *testing.T) {
	for mode, want := range map[string]int{`mode="live",job="node"`: 1, `mode="live",host="h"`: 0} {
		a := stored(t, map[string]string{"host": "", "hosts": ".+"}, "uma_exporter_mode{"+mode+"} 1x40")
		for name, d := range renderAll(t) {
			answers := 0
			for _, q := range d.Opened[1].Targets {
				if q.LegendFormat == filled(noHostLabel, expr.Names{}) {
					answers += len(a.vector(t, q.Expr, 5*time.Minute))
				}
			}
			if answers != want {
				t.Errorf("%s: %s has %d times %q with %s", name, d.Opened[1].Title, answers, filled(noHostLabel, expr.Names{}), mode)
			}
		}
	}
}

func TestIDsAreUniqueAndPanelsNeitherOverlapNorOverflow(t *testing.T) {
	for name, d := range renderAll(t) {
		ids, titles := map[int]bool{}, map[string]bool{}
		for _, p := range d.Panels {
			if titles[p.Title] {
				t.Errorf("%s: two panels are called %s", name, p.Title)
			}
			titles[p.Title] = true
			if p.ID == 0 || ids[p.ID] {
				t.Errorf("%s: %s has id %d, which is none or taken", name, p.Title, p.ID)
			}
			ids[p.ID] = true
		}
		free(t, name, d.Opened)
		for _, row := range d.Opened {
			free(t, name+", "+row.Title, row.Panels)
		}
	}
}

// free fails if panels that are shown together lie over each other or leave the page.
func free(t *testing.T, name string, together []renderedPanel) {
	t.Helper()
	taken := map[[2]int]string{}
	for _, p := range together {
		g := p.GridPos
		if g.W == 0 || g.H == 0 || g.X+g.W > gridWidth {
			t.Errorf("%s: %s is at %+v", name, p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s: %s lies over %s", name, p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

// bottom is the end of the lowest panel.
func bottom(panels []renderedPanel) int {
	end := 0
	for _, p := range panels {
		end = max(end, p.GridPos.Y+p.GridPos.H)
	}
	return end
}

func TestAPageOpensOnTwoScreensAndItsFirstRowOnOne(t *testing.T) {
	for name, d := range renderAll(t) {
		if end := bottom(d.Opened); end > openHeight {
			t.Errorf("%s is %d units high when it is opened, want at most %d", name, end, openHeight)
		}
		first := d.Opened
		for i, p := range d.Opened {
			if i > 0 && p.Type == "row" {
				first = d.Opened[:i]
				break
			}
		}
		if end := bottom(first); end > screenHeight || len(first) < 4 {
			t.Errorf("%s: the first row has %d panels and is %d units high, want at most %d", name, len(first)-1, end, screenHeight)
		}
	}
}

// Grafana shows what follows an open row as its content, and what a collapsed row holds below its title.
func TestACollapsedRowHoldsItsPanelsBelowItsTitleAndAnOpenOneNone(t *testing.T) {
	for name, d := range renderAll(t) {
		collapsed := false
		for _, p := range d.Opened {
			if p.Type != "row" {
				if collapsed {
					t.Errorf("%s: %s follows a collapsed row", name, p.Title)
				}
				continue
			}
			if collapsed = p.Collapsed; collapsed != (len(p.Panels) > 0) {
				t.Errorf("%s: row %s: collapsed %v, with %d panels", name, p.Title, p.Collapsed, len(p.Panels))
			}
			for _, inside := range p.Panels {
				if inside.GridPos.Y <= p.GridPos.Y {
					t.Errorf("%s: %s is above the title of its row", name, inside.Title)
				}
			}
		}
	}
}

// Grafana's BigValue leaves the curve of a tile out in other shapes. Of a screen of 1440 pixels a column has 59, of a tile its
// title takes 32 and its padding 16.
func TestATileWithACurveHasAShapeInWhichGrafanaDrawsIt(t *testing.T) {
	tiles := 0
	forPanels(t, func(t *testing.T, p renderedPanel) {
		if p.Options.GraphMode != "area" {
			return
		}
		tiles++
		width, height := 59*p.GridPos.W-16, 38*p.GridPos.H-8-32-16
		if wide := 2*width > 5*height && height > 50; !wide && height <= 100 {
			t.Errorf("inside it is %d x %d", width, height)
		}
	})
	if tiles < 10 {
		t.Errorf("%d tiles have a curve", tiles)
	}
}

func TestAPageIsRenewedWhereTimeRunsOnly(t *testing.T) {
	for name, d := range renderAll(t) {
		finished := name == runPageName+".json" || name == comparePageName+".json"
		if (d.Refresh == "") != finished {
			t.Errorf("%s is renewed every %q", name, d.Refresh)
		}
	}
}

func TestEveryPanelDescribesItsFiguresAndSignsOfTrouble(t *testing.T) {
	forPanels(t, func(t *testing.T, p renderedPanel) {
		means, wrong, found := strings.Cut(p.Description, "\n\n**Wrong if** ")
		if p.Title == "" || !found || !strings.HasSuffix(means, ".") || !strings.HasSuffix(wrong, ".") {
			t.Errorf("description %q", p.Description)
		}
		if text := p.FieldConfig.Defaults.NoValue; text == "" || strings.Contains(text, "`") {
			t.Errorf("text for no data %q, which Grafana shows as it is", text)
		}
		if p.FieldConfig.Defaults.Unit == "" {
			t.Error("no unit")
		}
	})
}

func TestQueriesAreNumberedAndUseTheDatasourceVariable(t *testing.T) {
	want := renderedSource{Type: "prometheus", UID: "${datasource}"}
	forPanels(t, func(t *testing.T, p renderedPanel) {
		refs := map[string]bool{}
		if len(p.Targets) == 0 || p.Datasource != want {
			t.Errorf("%d queries, datasource %v", len(p.Targets), p.Datasource)
		}
		for _, q := range p.Targets {
			if q.RefID == "" || refs[q.RefID] || q.Datasource != want || q.Instant == q.Range {
				t.Errorf("query %+v", q)
			}
			refs[q.RefID] = true
			table := p.Type == "table" || p.Type == "barchart"
			overTime := p.Type == "timeseries" || p.Type == "heatmap" || p.Type == "state-timeline" || p.Options.GraphMode == "area"
			if table != (q.Format == "table") || overTime != q.Range || (p.Type == "heatmap") != (q.Format == "heatmap") {
				t.Errorf("a %s panel asks with %+v", p.Type, q)
			}
		}
	})
}

func TestLegendsTooltipsAndThresholdsAreSet(t *testing.T) {
	forPanels(t, func(t *testing.T, p renderedPanel) {
		switch p.Type {
		case "timeseries", "barchart":
			if p.Options.Legend == nil || !p.Options.Legend.ShowLegend || p.Options.Tooltip == nil || p.Options.Tooltip.Mode == "" || p.Options.Tooltip.Sort == "" {
				t.Errorf("legend %+v, tooltip %+v", p.Options.Legend, p.Options.Tooltip)
			}
			for _, q := range p.Targets {
				if q.LegendFormat == "" && q.Format != "table" {
					t.Errorf("query %s has no name in the legend", q.RefID)
				}
			}
		case "heatmap", "state-timeline":
			if p.Options.Tooltip == nil || p.Options.Tooltip.Mode == "" {
				t.Errorf("tooltip %+v", p.Options.Tooltip)
			}
		case "stat":
			if p.Options.ReduceOptions == nil || len(p.Options.ReduceOptions.Calcs) == 0 {
				t.Error("no calculation")
			}
		}
		if steps := p.FieldConfig.Defaults.Thresholds.Steps; len(steps) > 0 && steps[0].Value != nil {
			t.Error("the first threshold is not minus infinity")
		}
	})
}

func TestOverridesMeetASeriesOfTheirPanel(t *testing.T) {
	forPanels(t, func(t *testing.T, p renderedPanel) {
		for _, o := range p.FieldConfig.Overrides {
			meets := false
			for _, q := range p.Targets {
				switch o.Matcher.ID {
				case "byName":
					meets = meets || q.LegendFormat == o.Matcher.Options || slices.Contains(p.columns(), o.Matcher.Options)
				case "byRegexp":
					example := strings.NewReplacer("{{host}}", "spark", "{{mode}}", metric.ModeLive).Replace(q.LegendFormat)
					meets = meets || regexp.MustCompile(strings.Trim(o.Matcher.Options, "/")).MatchString(example)
				}
			}
			if !meets {
				t.Errorf("override %v meets no series", o.Matcher)
			}
		}
	})
}

func TestLinksCarryTimeAndVariablesAndShow(t *testing.T) {
	for name, d := range renderAll(t) {
		if len(d.Links) == 0 || len(d.Annotations.List) == 0 {
			t.Errorf("%s: %d links, %d annotations", name, len(d.Links), len(d.Annotations.List))
		}
		for _, l := range d.Links {
			if !l.KeepTime || !l.IncludeVars || l.Placement != nil || !slices.Contains(l.Tags, tag) {
				t.Errorf("%s: link %+v", name, l)
			}
		}
		for _, a := range d.Annotations.List {
			if a.Placement != nil || !a.Enable || a.Expr == "" || a.Datasource.UID != "${datasource}" {
				t.Errorf("%s: annotation %+v", name, a)
			}
		}
	}
}

// TestOnlyRatesOfCountsShareAnAxis in whatever order they come.
func TestOnlyRatesOfCountsShareAnAxis(t *testing.T) {
	of := func(e expr.Expr) query { return query{"x", e} }
	bytes := of(expr.Select(metric.MemoryPoolBytes))
	stalls := of(expr.Rate(metric.VmstatCompactionStallsTotal, expr.RateInterval))
	faults := of(expr.Rate(metric.VmstatMajorPageFaultsTotal, expr.RateInterval))
	for name, c := range map[string]struct {
		queries []query
		want    string // "" if they are refused
	}{
		"one kind": {[]query{faults, faults}, "suffix: faults/s"}, "two kinds": {[]query{stalls, faults}, mixedCounts}, "two kinds, then one": {[]query{stalls, faults, stalls}, mixedCounts},
		"bytes first": {[]query{bytes, stalls, faults}, ""}, "bytes last": {[]query{stalls, faults, bytes}, ""}, "bytes and a mixture": {[]query{bytes, of(expr.Select(metric.NVMeOperationsPerSecond5m))}, ""},
	} {
		if unit, err := (subject{queries: c.queries}).unit(); unit != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, unit, err)
		}
	}
}

func TestUnitsOfTheVocabularyHaveAGrafanaUnit(t *testing.T) {
	for _, definer := range metric.Everything() {
		unit := expr.Unit{Base: definer.Def().Unit}
		if _, err := grafanaUnit(unit); err != nil {
			t.Error(err)
		}
	}
}

func TestAPanelThatLacksSomethingIsRefused(t *testing.T) {
	good := subject{title: "t", means: "m.", wrong: "w.", noData: "n", queries: []query{{"l", one(metric.MemoryPoolBytes)}}}
	if _, err := series(good).Build(); err != nil {
		t.Fatal(err)
	}
	cases := map[string]func(s *subject){
		"no title":      func(s *subject) { s.title = "" },
		"no meaning":    func(s *subject) { s.means = "" },
		"nothing wrong": func(s *subject) { s.wrong = "" },
		"no no-data":    func(s *subject) { s.noData = "" },
		"no queries":    func(s *subject) { s.queries = nil },
		"two units":     func(s *subject) { s.queries = append(s.queries, query{"x", one(metric.GPUTemperatureCelsius)}) },
		"unknown unit": func(s *subject) {
			s.queries = []query{{"x", one(metric.MemoryPoolBytes).Times(one(metric.GPUPowerWatts))}}
		},
		"refused query":  func(s *subject) { s.queries = []query{{"x", expr.Select(metric.GPUTemperatureCelsius).Sum(byHost())}} },
		"too many":       func(s *subject) { s.queries = slices.Repeat(s.queries, 27) },
		"empty querying": func(s *subject) { s.queries = []query{{}} },
	}
	for name, spoil := range cases {
		s := good
		s.queries = slices.Clone(good.queries)
		spoil(&s)
		if _, err := series(s).Build(); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, err := (page{name: "p", title: "p", rows: []row{{"r", []tile{{24, 8, number(s)}}}}}).build(); err == nil {
			t.Errorf("%s: accepted on a page", name)
		}
	}
}

func TestTilesWrapWhereTheyDoNotFit(t *testing.T) {
	var c placer
	var got []string
	for _, size := range [][2]uint32{{24, 1}, {12, 3}, {12, 5}, {18, 4}, {12, 2}} {
		p := c.place(size[0], size[1])
		got = append(got, fmt.Sprintf("%d,%d", p.X, p.Y))
	}
	if want := "0,0 0,1 12,1 0,6 0,10"; strings.Join(got, " ") != want {
		t.Errorf("places %v, want %s", got, want)
	}
}
