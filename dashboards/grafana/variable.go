package grafana

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kinds of variables.
const (
	KindDatasource = "datasource"
	KindQuery      = "query"
)

// All is the value for every option, as it is written into files and addresses.
const All = "$__all"

// allText is how that value is shown.
const allText = "All"

// Orders of options, by Grafana's numbers (VariableSort in its schema).
const (
	sortNone              = 0
	sortNatural           = 7
	sortNaturalDescending = 8
)

// Variable is a variable as declared.
type Variable struct {
	Name, Kind, Label string
	// Query is the query of a query variable.
	Query string
	// Regex is applied to every text of the answer; nil takes the whole text.
	Regex             *regexp.Regexp
	Sort              int
	Multi, IncludeAll bool
	AllValue          string
	// Hide is 0 for shown, 1 for shown without its label, 2 for hidden.
	Hide int
	// Current is the value that was stored with the file.
	Current []string
	// Datasource is the uid of the data source, which may be a variable.
	Datasource string
}

type fileVariable struct {
	Name, Type, Label, Query, Regex, AllValue string
	Sort, Hide                                int
	Multi, IncludeAll                         bool
	Current                                   struct{ Value json.RawMessage }
	Datasource                                struct{ UID string }
}

// slashed is a regular expression as files have it, without flags (stringToJsRegex in Grafana's data library).
var slashed = regexp.MustCompile(`(?s)^/(.*)/$`)

func (f fileVariable) variable() (Variable, error) {
	v := Variable{
		Name: f.Name, Kind: f.Type, Label: f.Label, Query: f.Query, Sort: f.Sort, Multi: f.Multi, IncludeAll: f.IncludeAll,
		AllValue: f.AllValue, Hide: f.Hide, Current: texts(f.Current.Value), Datasource: f.Datasource.UID,
	}
	if v.Kind != KindDatasource && v.Kind != KindQuery {
		return v, fmt.Errorf("variable %q is of the kind %q, which is not read here", v.Name, v.Kind)
	}
	if !slices.Contains([]int{sortNone, sortNatural, sortNaturalDescending}, v.Sort) {
		return v, fmt.Errorf("variable %q has its options in the order %d, which is not known here", v.Name, v.Sort)
	}
	if f.Regex == "" {
		return v, nil
	}
	parts := slashed.FindStringSubmatch(f.Regex)
	if parts == nil {
		return v, fmt.Errorf("variable %q: regular expression %s: want one between slashes, without flags", v.Name, f.Regex)
	}
	var err error
	if v.Regex, err = regexp.Compile(strings.ReplaceAll(parts[1], `\/`, "/")); err != nil {
		return v, fmt.Errorf("variable %q: regular expression %s: %w", v.Name, f.Regex, err)
	}
	return v, nil
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

// options applies the variable's regular expression to every text of an answer: an option is its first group, else the
// whole text (metricNamesToVariableValues in scenes). They are in the variable's order.
func (v Variable) options(found []string) []string {
	var options []string
	for _, text := range found {
		if v.Regex != nil {
			match := v.Regex.FindStringSubmatch(text)
			if match == nil {
				continue
			}
			if len(match) > 1 {
				text = match[1]
			}
		}
		if !slices.Contains(options, text) {
			options = append(options, text)
		}
	}
	if v.Sort != sortNone {
		slices.SortStableFunc(options, natural)
	}
	if v.Sort == sortNaturalDescending {
		slices.Reverse(options)
	}
	return options
}

// natural compares texts with their numbers by size and letters without their case, as the
// browser's collator with the option numeric does for plain names.
func natural(a, b string) int {
	for a != "" && b != "" {
		na, nb := leadingNumber(a), leadingNumber(b)
		if na != "" && nb != "" {
			if c := compareNumbers(na, nb); c != 0 {
				return c
			}
			a, b = a[len(na):], b[len(nb):]
			continue
		}
		ra, sizeA := utf8.DecodeRuneInString(a)
		rb, sizeB := utf8.DecodeRuneInString(b)
		if c := int(unicode.ToLower(ra)) - int(unicode.ToLower(rb)); c != 0 {
			return c
		}
		a, b = a[sizeA:], b[sizeB:]
	}
	return len(a) - len(b)
}

// leadingNumber returns the digits, of any number, with which a text begins.
func leadingNumber(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
}

// compareNumbers compares rows of digits of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
