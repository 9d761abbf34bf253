package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// checkFields refuses fields that a strict vendor does not accept, all of them at once. It ignores a body that is not a
// JSON object, which its readers refuse.
func (v vendor) checkFields(to endpoint, text []byte) *problem {
	known := v.fields(to)
	if known == nil {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return nil
	}
	var unknown []forbidden
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, name) {
			unknown = append(unknown, forbidden{[]string{name}, fields[name]})
		}
	}
	var options map[string]json.RawMessage
	if json.Unmarshal(fields["stream_options"], &options) == nil {
		for _, name := range slices.Sorted(maps.Keys(options)) {
			if !slices.Contains(v.streamFields, name) {
				unknown = append(unknown, forbidden{[]string{"stream_options", name}, options[name]})
			}
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return notPermitted(unknown)
}

// forbidden is an unknown field, with its path inside the body.
type forbidden struct {
	path  []string
	value json.RawMessage
}

const (
	shownForbidden = 4
	shownBytes     = 60
)

// notPermitted returns the answer of a FastAPI server that passes on Pydantic's error text, as trtllm-serve does:
// status 400 and the list of errors, in Python's notation, as one text.
func notPermitted(unknown []forbidden) *problem {
	var said []string
	for _, f := range unknown[:min(len(unknown), shownForbidden)] {
		where := "'body'"
		for _, name := range f.path {
			where += ", " + pythonText(name)
		}
		said = append(said, fmt.Sprintf("{'type': 'extra_forbidden', 'loc': (%s), 'msg': 'Extra inputs are not permitted', 'input': %s}",
			where, pythonText(string(f.value))))
	}
	p := newProblem(http.StatusBadRequest, badRequest, unknown[0].path[0], "", "["+strings.Join(said, ", ")+"]")
	p.bare = true
	return p
}

// pythonText quotes a client's text, bounded and without control characters.
func pythonText(text string) string {
	quoted := strconv.QuoteToASCII(text[:min(len(text), shownBytes)])
	return "'" + strings.ReplaceAll(quoted[1:len(quoted)-1], "'", `\'`) + "'"
}
