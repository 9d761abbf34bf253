package server

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// statusError is an answer with a status other than 200.
type statusError struct {
	request string
	status  int
}

func (e statusError) Error() string { return fmt.Sprintf("%s answered %d", e.request, e.status) }

// advised adds to the error of a request the way to fix it, if there is one for that error.
func advised(url string, err error) error {
	if advice := advice(url, err); advice != "" {
		return fmt.Errorf("--url: %s: %w; %s", url, err, advice)
	}
	return fmt.Errorf("--url: %s: %w", url, err)
}

func advice(url string, err error) string {
	answered, _ := errors.AsType[statusError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	lookup, _ := errors.AsType[*net.DNSError](err)
	_, silent := errors.AsType[silentError](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: start the server, or correct the address"
	case lookup != nil && lookup.IsNotFound:
		return "is the name right? An address such as 192.168.1.5 does as well"
	case silent:
		return "it hangs, or still starts: restart it, or uma-load run --wait-ready 10m"
	case unknown:
		return "--ca-file names the certificate of the authority that signed"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "it speaks http://" + strings.TrimPrefix(url, "https://")
	case answered.status == http.StatusUnauthorized, answered.status == http.StatusForbidden:
		return "the server wants a key: --api-key-file, or the variable OPENAI_API_KEY"
	case answered.status == http.StatusNotFound:
		return "no OpenAI-compatible API is there: is it the engine's own address, such as http://127.0.0.1:8000? --model names the model of a server without a list"
	case answered.status == http.StatusServiceUnavailable, answered.status == http.StatusBadGateway:
		return "it is not ready: try again, or uma-load run --wait-ready 10m"
	}
	return ""
}
