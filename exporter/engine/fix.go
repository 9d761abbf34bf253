package engine

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
)

// whereAccess names where access to a page is given.
const whereAccess = "in the file of --engine.config.file beside its --engine.url, or in its group of --targets.file"

// withFix adds to the error of a page what the operator can do about it: a key, a password, or the authority that has
// signed the server's certificate.
func (e *Endpoint) withFix(err error) error {
	if fix := e.fix(err); fix != "" {
		return fmt.Errorf("%w: %s", err, fix)
	}
	return err
}

func (e *Endpoint) fix(err error) string {
	status, _ := errors.AsType[StatusError](err)
	_, unknownAuthority := errors.AsType[x509.UnknownAuthorityError](err)
	_, otherName := errors.AsType[x509.HostnameError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case (status == http.StatusUnauthorized || status == http.StatusForbidden) && e.hasCredentials():
		return "it refuses the credentials that are given for it"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "it wants a key or a password: give authorization or basic_auth " + whereAccess
	case unknownAuthority:
		return "give the authority that signed its certificate as tls_config with ca_file " + whereAccess
	case otherName:
		return "give the name in its certificate as tls_config with server_name " + whereAccess
	case alert:
		return "if it wants a certificate of this client, give tls_config with cert_file and key_file " + whereAccess
	case noTLS:
		return "it does not speak TLS: begin its URL with http://"
	case e.URL.Scheme == "http" && status == http.StatusBadRequest:
		return "if it speaks TLS, begin its URL with https://"
	}
	return ""
}

func (e *Endpoint) hasCredentials() bool {
	return e.URL.User != nil || e.Access != nil && e.Access.secret != nil
}
