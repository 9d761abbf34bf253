package snapshot

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// pages answers requests with the entries below http/, such as http/127.0.0.1:6880/metrics: status 200 and the content
// as it is. A JSON text is recognized by its first byte. Other addresses refuse the connection. The network cannot be
// part of a recording, so TLS, queries and other methods make no difference.
type pages struct{ archive *Archive }

// RoundTrip implements http.RoundTripper.
func (p pages) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		request.Body.Close()
	}
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	if len(p.archive.below(pageRoot+"/"+request.URL.Host)) == 0 {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	body, err := p.archive.content(pageRoot + "/" + request.URL.Host + request.URL.EscapedPath())
	if err != nil {
		return response(request, http.StatusNotFound, "text/plain; charset=utf-8", nil), nil
	}
	kind := "text/plain; version=0.0.4; charset=utf-8"
	if text := bytes.TrimSpace(body); bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[")) {
		kind = "application/json"
	}
	return response(request, http.StatusOK, kind, body), nil
}

func response(request *http.Request, status int, kind string, body []byte) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {kind}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(string(body))), Request: request,
	}
}
