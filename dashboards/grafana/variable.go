package grafana

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Kinds of variables.
const (
	KindDatasource = "datasource"
	KindQuery      = "query"
	KindCustom     = "custom"
	KindTextbox    = "textbox"
	KindConstant   = "constant"
	KindInterval   = "interval"
)

// All is the value for every option, as it is written into files and addresses.
const All = "$__all"

// allText is how that value is shown.
const allText = "All"

// Orders of options, by Grafana's numbers (VariableSort in its schema).
const (
	sortNone = iota
	sortAlphabetical
	sortAlphabeticalDescending
	sortNumerical
	sortNumericalDescending
	sortFolded
	sortFoldedDescending
	sortNatural
	sortNaturalDescending
)

// Variable is a variable as declared.
type Variable struct {
	Name, Kind, Label, Description string
	// Query is the query of a query variable, the options of a custom or interval variable, the value of a constant,
	// the first value of a text box.
	Query string
	Regex string
	Sort  int
	// Refresh is 0 for never, 1 for when the page is loaded, 2 for when the time range changes.
	Refresh           int
	Multi, IncludeAll bool
	AllValue          string
	// Hide is 0 for shown, 1 for shown without its label, 2 for hidden.
	Hide        int
	SkipURLSync bool
	// Current is the value that was stored with the file.
	Current    []string
	Datasource Datasource
}

type fileVariable struct {
	Name, Type, Label, Description string
	Query                          json.RawMessage
	Definition, Regex              string
	Sort, Refresh, Hide            int
	Multi, IncludeAll, SkipURLSync bool
	AllValue                       *string
	Current                        struct{ Value json.RawMessage }
	Datasource                     json.RawMessage
}

func (f fileVariable) variable() (Variable, error) {
	v := Variable{
		Name: f.Name, Kind: f.Type, Label: f.Label, Description: f.Description, Regex: f.Regex, Sort: f.Sort,
		Refresh: f.Refresh, Multi: f.Multi, IncludeAll: f.IncludeAll, Hide: f.Hide, SkipURLSync: f.SkipURLSync,
	}
	if f.AllValue != nil {
		v.AllValue = *f.AllValue
	}
	if json.Unmarshal(f.Datasource, &v.Datasource) != nil { // older files give a name, which is ignored here
		v.Datasource = Datasource{}
	}
	v.Query = text(f.Query)
	if v.Query == "" {
		v.Query = f.Definition
	}
	v.Current = texts(f.Current.Value)
	switch v.Kind {
	case KindDatasource, KindQuery, KindCustom, KindTextbox, KindConstant, KindInterval:
		return v, nil
	}
	return v, fmt.Errorf("variable %q is of the kind %q, which is not known here", v.Name, v.Kind)
}

// text reads a query: a text, or an object in which the text is called query.
func text(raw json.RawMessage) string {
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		return plain
	}
	var object struct{ Query string }
	if json.Unmarshal(raw, &object) == nil {
		return object.Query
	}
	return ""
}

// texts reads a value: a text or a list of texts.
func texts(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		if one == "" {
			return nil
		}
		return []string{one}
	}
	var many []string
	if json.Unmarshal(raw, &many) == nil {
		return many
	}
	return nil
}

// Option is a possible value of a variable, with its text for display.
type Option struct{ Text, Value string }

var (
	listItem   = regexp.MustCompile(`(?:\\,|[^,])+`)
	namedValue = regexp.MustCompile(`^(.+)\s:\s(.+)$`)
)

// listed reads the options of a custom or interval variable: separated by commas; \, is a comma that does not separate;
// "text : value" names a value (Grafana's documentation, "Add a custom variable").
func listed(query string) []Option {
	var options []Option
	for _, item := range listItem.FindAllString(query, -1) {
		item = strings.TrimSpace(strings.ReplaceAll(item, `\,`, ","))
		if match := namedValue.FindStringSubmatch(item); match != nil {
			options = append(options, Option{strings.TrimSpace(match[1]), strings.TrimSpace(match[2])})
		} else if item != "" {
			options = append(options, Option{item, item})
		}
	}
	return options
}
