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

// problem is the error object of the OpenAI API with its status.
type problem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`

	status int
	bare   bool // the error is the message alone, as a text instead of an object
	long   bool // the prompt alone is too long
}

func newProblem(status int, kind, param, code, message string) *problem {
	return &problem{Message: message, Type: kind, Param: orNull(param), Code: orNull(code), status: status}
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

const (
	badRequest = "invalid_request_error"
	serverSide = "server_error"
)

// invalid returns the problem of a request that cannot be answered; param names the invalid field, if there is one.
func invalid(param, format string, values ...any) *problem {
	return newProblem(http.StatusBadRequest, badRequest, param, "", fmt.Sprintf(format, values...))
}

func tooLong(format string, values ...any) *problem {
	return newProblem(http.StatusBadRequest, badRequest, "", "context_length_exceeded", fmt.Sprintf(format, values...))
}

// promptTooLong returns the problem of a prompt that is too long for every worker, with any length of answer.
func promptTooLong(tokens, limit int) *problem {
	p := tooLong("the prompt has %d tokens, more than the %d that one prompt may have", tokens, limit)
	p.long = true
	return p
}

func unknownModel(name string) *problem {
	const shown = 200 // the name is the client's; do not send a megabyte back
	return newProblem(http.StatusNotFound, badRequest, "model", "model_not_found",
		fmt.Sprintf("the model %s does not exist", strconv.QuoteToGraphic(name[:min(len(name), shown)])))
}

func tooLarge(limit int64) *problem {
	return newProblem(http.StatusRequestEntityTooLarge, badRequest, "", "", fmt.Sprintf("the body is larger than %d bytes", limit))
}

func unknownPath(path string) *problem {
	return newProblem(http.StatusNotFound, badRequest, "", "", fmt.Sprintf("there is nothing at %.200q", path))
}

func wrongMethod(method, allowed string) *problem {
	return newProblem(http.StatusMethodNotAllowed, badRequest, "", "", fmt.Sprintf("method %.20q is not %s", method, allowed))
}

// broken returns the error of a simulated fault.
func broken() *problem {
	return newProblem(http.StatusInternalServerError, serverSide, "", "", "an error that was asked for")
}

// stopped returns the error of requests while the engine does not run, or if it stops while they wait.
func stopped() *problem {
	return newProblem(http.StatusServiceUnavailable, serverSide, "", "", "the simulated engine is not running")
}

// flatProblem is the error object without an enclosing object, as TensorRT-LLM writes it.
type flatProblem struct {
	Object  string  `json:"object"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`
}

// written returns the problem in the format of a vendor, to be encoded.
func (v vendor) written(p *problem) any {
	switch {
	case p.bare:
		return map[string]string{"error": p.Message}
	case v.flatErrors:
		return flatProblem{"error", p.Message, "BadRequestError", p.Param, p.status}
	}
	return wrapped{p}
}

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
	var errors []string
	for _, f := range unknown[:min(len(unknown), shownForbidden)] {
		where := "'body'"
		for _, name := range f.path {
			where += ", " + pythonText(name)
		}
		errors = append(errors, fmt.Sprintf("{'type': 'extra_forbidden', 'loc': (%s), 'msg': 'Extra inputs are not permitted', 'input': %s}",
			where, pythonText(string(f.value))))
	}
	p := newProblem(http.StatusBadRequest, badRequest, unknown[0].path[0], "", "["+strings.Join(errors, ", ")+"]")
	p.bare = true
	return p
}

// pythonText quotes a client's text, bounded and without control characters.
func pythonText(text string) string {
	quoted := strconv.QuoteToASCII(text[:min(len(text), shownBytes)])
	return "'" + strings.ReplaceAll(quoted[1:len(quoted)-1], "'", `\'`) + "'"
}
