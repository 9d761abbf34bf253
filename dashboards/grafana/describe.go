package grafana

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// description is the data of a dashboard that the page needs before the answers arrive.
type description struct {
	Kind        string       `json:"kind"`
	UID         string       `json:"uid"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	From        string       `json:"from"`
	To          string       `json:"to"`
	Window      [2]int64     `json:"window"` // milliseconds
	Rows        []rowOf      `json:"rows"`
	Panels      []panelOf    `json:"panels"`
	Variables   []variableOf `json:"variables"`
	Links       []linkOf     `json:"links"`
	Problems    []string     `json:"problems"`
	Source      string       `json:"source"`
}

type rowOf struct {
	Name      string `json:"name"` // as written, by which it is opened
	Title     string `json:"title"`
	Place     Place  `json:"place"`
	Collapsed bool   `json:"collapsed"`
}

type panelOf struct {
	Row             string          `json:"row"` // its name
	ID              int             `json:"id"`
	Type            string          `json:"type"`
	Title           string          `json:"title"`
	Description     string          `json:"description"`
	Place           Place           `json:"place"`
	Links           []linkOf        `json:"links"`
	FieldConfig     json.RawMessage `json:"fieldConfig"`
	Options         json.RawMessage `json:"options"`
	Transformations json.RawMessage `json:"transformations"`
}

type variableOf struct {
	Name    string   `json:"name"`
	Label   string   `json:"label"`
	Kind    string   `json:"kind"`
	Hidden  bool     `json:"hidden"`
	Multi   bool     `json:"multi"`
	All     bool     `json:"all"`
	Options []string `json:"options"`
	Current []string `json:"current"`
	Problem string   `json:"problem"`
}

type linkOf struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// describe fills the variables into all visible texts.
func describe(d Dashboard, all []Dashboard, l look, scope Scope) description {
	out := description{
		Kind: "dashboard", UID: d.UID, Title: scope.Titled(d.Title), Description: d.Description, From: l.from, To: l.to,
		Window: [2]int64{l.window.From.UnixMilli(), l.window.To.UnixMilli()},
		Rows:   []rowOf{}, Panels: []panelOf{}, Variables: []variableOf{}, Links: otherPages(d, all, l, scope), Problems: []string{},
	}
	for _, r := range d.Rows {
		out.Rows = append(out.Rows, rowOf{r.Title, scope.Titled(r.Title), r.Place, r.Collapsed})
	}
	for _, p := range d.Panels {
		out.Panels = append(out.Panels, describePanel(p, scope))
	}
	for _, v := range scope.Variables {
		out.Variables = append(out.Variables, describeVariable(v))
	}
	return out
}

func describePanel(p Panel, scope Scope) panelOf {
	out := panelOf{
		Row: p.Row, ID: p.ID, Type: p.Type, Title: scope.Titled(p.Title), Description: scope.Titled(p.Description), Place: p.Place,
		FieldConfig: filledIn(p.FieldConfig, scope), Options: filledIn(p.Options, scope), Transformations: p.Transformations, Links: []linkOf{},
	}
	if len(out.Transformations) == 0 {
		out.Transformations = json.RawMessage("[]")
	}
	for _, link := range p.Links {
		out.Links = append(out.Links, linkOf{scope.Titled(link.Title), scope.Written(link.URL)})
	}
	return out
}

func describeVariable(v Resolved) variableOf {
	out := variableOf{
		Name: v.Name, Label: v.Label, Kind: v.Kind, Hidden: v.Hide == 2, Multi: v.Multi, All: v.IncludeAll,
		Options: v.Options, Current: v.Current,
	}
	if out.Label == "" {
		out.Label = v.Name
	}
	if out.Options == nil {
		out.Options = []string{}
	}
	if v.Err != nil {
		out.Problem = v.Err.Error()
	}
	return out
}

// filledIn fills the dashboard's variables into the texts of a panel's settings; references that depend on a cell, such
// as its value in a link, are left to the page.
func filledIn(raw json.RawMessage, scope Scope) json.RawMessage {
	var tree any
	if len(raw) == 0 || json.Unmarshal(raw, &tree) != nil {
		return json.RawMessage("{}")
	}
	out, err := json.Marshal(fill(tree, scope))
	if err != nil {
		return json.RawMessage("{}")
	}
	return out
}

func fill(node any, scope Scope) any {
	switch n := node.(type) {
	case string:
		return scope.Written(n)
	case []any:
		for i := range n {
			n[i] = fill(n[i], scope)
		}
	case map[string]any:
		for key := range n {
			n[key] = fill(n[key], scope)
		}
	}
	return node
}

// otherPages returns the links of a dashboard, one to every dashboard that shares a tag, with the time range and the
// variables if the link includes them.
func otherPages(d Dashboard, all []Dashboard, l look, scope Scope) []linkOf {
	links := []linkOf{}
	for _, link := range d.Links {
		parameters := url.Values{}
		if link.IncludeVars {
			parameters = scope.Address()
		}
		if link.KeepTime {
			parameters.Set("from", l.from)
			parameters.Set("to", l.to)
		}
		for _, other := range all {
			if other.UID != d.UID && shareTag(link.Tags, other.Tags) {
				links = append(links, linkOf{other.Title, strings.TrimSuffix("/d/"+url.PathEscape(other.UID)+"?"+parameters.Encode(), "?")})
			}
		}
	}
	return links
}

// shareTag reports whether a dashboard has all tags of a link, as in Grafana's search.
func shareTag(wanted, has []string) bool {
	return !slices.ContainsFunc(wanted, func(tag string) bool { return !slices.Contains(has, tag) })
}
