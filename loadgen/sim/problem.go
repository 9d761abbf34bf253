package sim

import (
	"fmt"
	"net/http"
	"strconv"
)

// problem is the error object of the OpenAI interface and the status that goes with it.
type problem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`

	status int
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

// invalid is a request that cannot be answered; param names the field at fault, if it is one.
func invalid(param, format string, values ...any) *problem {
	return newProblem(http.StatusBadRequest, badRequest, param, "", fmt.Sprintf(format, values...))
}

func tooLong(format string, values ...any) *problem {
	return newProblem(http.StatusBadRequest, badRequest, "", "context_length_exceeded", fmt.Sprintf(format, values...))
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

// stopped is what requests get when the engine does not run, or ceases to while they wait.
func stopped() *problem {
	return newProblem(http.StatusServiceUnavailable, serverSide, "", "", "the simulated engine is not running")
}
