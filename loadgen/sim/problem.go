package sim

import (
	"fmt"
	"net/http"
	"strconv"
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

// flatProblem is the error object without an enclosing object, as TensorRT-LLM and SGLang write it.
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
