//go:build proof

package hostile

import (
	"fmt"
	"strings"
)

// get is the line that most requests begin with; AT is where a page is served, PATH is the page.
const get = "GET PATH HTTP/1.1\r\nHost: AT\r\n"

// kind is a kind of hostile request, with the answers that it may get: 0 is an end of the connection without one.
type kind struct {
	name    string
	request func(i int) string
	want    []int
	// unread: the answer is not read. held: the connections are kept until all of the kind are there.
	unread, held bool
}

// always sends the same.
func always(request string) func(int) string { return func(int) string { return request } }

// oneOf sends one after the other.
func oneOf(format string, parts ...string) func(int) string {
	return func(i int) string { return strings.ReplaceAll(format, "PART", parts[i%len(parts)]) }
}

// kinds of hostile requests, by what they try.
func kinds() []kind {
	return []kind{
		{name: "foreign Host", want: []int{403}, request: oneOf("GET PATH HTTP/1.1\r\nHost: PART\r\n\r\n", "evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "xn--lcalhost-qbb", "0x7f000001", "127.1", "[evil]", "metadata")},
		{name: "foreign absolute URI", want: []int{403}, request: oneOf("GET http://PARTPATH HTTP/1.1\r\nHost: AT\r\n\r\n", "evil.example", "evil.example:1", "user@evil.example")},
		{name: "own absolute URI", want: []int{200}, request: always("GET http://ATPATH HTTP/1.1\r\nHost: AT\r\n\r\n")},
		{name: "no Host", want: []int{400}, request: always("GET PATH HTTP/1.1\r\n\r\n")},
		{name: "two Hosts", want: []int{400}, request: always(get + "Host: evil.example\r\n\r\n")},
		{name: "HTTP/1.0", want: []int{200}, request: always("GET PATH HTTP/1.0\r\n\r\n")},
		{name: "HTTP/0.9, other versions", want: []int{400, 505}, request: oneOf("GET PATH PART\r\nHost: AT\r\n\r\n", "", "HTTP/3.0", "HTTP/1", "HTTP/9.9", "ICY/1.1")},
		{name: "preface of HTTP/2", want: []int{400, 505}, request: always("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")},
		{name: "TLS", want: []int{400}, request: always("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00\x00\x00\x00\r\n\r\n")},
		{name: "headers too long", want: []int{431}, request: always(get + "X: " + strings.Repeat("x", 100<<10) + "\r\n\r\n")},
		{name: "too many headers", want: []int{431}, request: always(get + strings.Repeat("X: y\r\n", 20000) + "\r\n")},
		{name: "request line too long", want: []int{431}, request: always("GET PATH?" + strings.Repeat("x", 100<<10) + " HTTP/1.1\r\nHost: AT\r\n\r\n")},
		{name: "odd headers", want: []int{400}, request: oneOf(get+"PART\r\n\r\n", "X: a\x00b", "X\x00: a", "X: a\x07b", " folded: a", "X : a", ": a", "no colon", "X\xff: a", "Content-Length: x", "Content-Length: -1")},
		{name: "null bytes in a path", want: []int{301, 307, 400, 404, 500}, request: oneOf("GET PART HTTP/1.1\r\nHost: AT\r\n\r\n", "/\x00", "/%00", "PATH%00", "/metrics\x00.html", "/%00/../metrics")},
		{name: "path traversal", want: []int{301, 307, 400, 404}, request: oneOf("GET PART HTTP/1.1\r\nHost: AT\r\n\r\n", "/../../../../etc/passwd", "/../etc/passwd", "/./../../etc/passwd", "//etc/passwd", "/files/../../../etc/passwd", "../etc/passwd", "file:///etc/passwd")},
		{name: "encoded path traversal", want: []int{301, 302, 307, 400, 404, 500}, request: oneOf("GET PART HTTP/1.1\r\nHost: AT\r\n\r\n", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%252e%252e/etc/passwd", "/..%5c..%5cetc/passwd", "/%c0%ae%c0%ae/etc/passwd", "/files/%2e%2e/%2e%2e/etc/passwd", "/d/%2e%2e%2f%2e%2e%2fetc%2fpasswd")},
		{name: "other methods", want: []int{400, 404, 405, 501}, request: oneOf("PART PATH HTTP/1.1\r\nHost: AT\r\nContent-Length: 0\r\n\r\n", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "FOO", "get", "G\x00T", "CONNECT")},
		{name: "POST of another site", want: []int{403, 405}, request: always("POST PATH HTTP/1.1\r\nHost: AT\r\nOrigin: http://evil.example\r\nSec-Fetch-Site: cross-site\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\na=b")},
		{name: "GET of another site", want: []int{200}, request: always(get + "Origin: http://evil.example\r\n\r\n")},
		{name: "preflight of another site", want: []int{405}, request: always("OPTIONS PATH HTTP/1.1\r\nHost: AT\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: GET\r\nAccess-Control-Request-Private-Network: true\r\n\r\n")},
		{name: "huge body", want: []int{0, 405}, request: always("POST PATH HTTP/1.1\r\nHost: AT\r\nContent-Length: 1073741824\r\n\r\n" + strings.Repeat("x", 1<<20))},
		{name: "body of a GET", want: []int{0, 200}, request: always(get + "Content-Length: 1073741824\r\n\r\n" + strings.Repeat("x", 1<<20))},
		{name: "endless chunks", want: []int{0, 405}, request: always("POST PATH HTTP/1.1\r\nHost: AT\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("ffff\r\n"+strings.Repeat("x", 0xffff)+"\r\n", 8))},
		{name: "bad chunks", want: []int{200, 400}, request: oneOf(get+"Transfer-Encoding: chunked\r\n\r\nPART", "xyz\r\n", "-1\r\n", "ffffffffffffffffff\r\n", "1;"+strings.Repeat("a", 20<<10)+"\r\nx\r\n0\r\n\r\n", "0\r\nX: a\x00b\r\n\r\n", "\n\n")},
		{name: "length and chunks", want: []int{200, 400}, request: always(get + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: evil.example\r\n\r\n")},
		{name: "two lengths", want: []int{400}, request: always(get + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef")},
		{name: "odd encodings", want: []int{400, 501}, request: oneOf(get+"Transfer-Encoding: PART\r\n\r\n0\r\n\r\n", "xchunked", "gzip, chunked", "chunked, identity", "\x0bchunked", "chunked\r\nTransfer-Encoding: identity")},
		{name: "requests in one packet", want: []int{200}, request: always(strings.Repeat(get+"\r\n", 50))},
		{name: "ranges without end", want: []int{200, 206, 416, 431}, request: oneOf(get+"Range: bytes=PART\r\n\r\n", strings.Repeat("0-,", 10000)+"0-", strings.Repeat("0-0,", 5000)+"1-", "-9223372036854775809", "9223372036854775807-", "a-b")},
		{name: "odd expectations", want: []int{100, 200, 417}, request: oneOf(get+"Expect: PART\r\nContent-Length: 5\r\n\r\nabcde", "100-continue", "200-ok", "x")},
		{name: "upgrades", want: []int{200, 400}, request: oneOf(get+"Connection: Upgrade\r\nUpgrade: PART\r\n\r\n", "websocket", "h2c", "TLS/1.0")},
		{name: "odd queries", want: []int{200, 400}, request: oneOf("GET PATH?PART HTTP/1.1\r\nHost: AT\r\n\r\n", strings.Repeat("collect[]=x&", 5000), "collect[]=../../etc/passwd", "%zz=%zz", ";;;", "a=%00", "name[]="+strings.Repeat("y", 50<<10))},
		{name: "odd time-outs", want: []int{200, 503}, request: oneOf(get+"X-Prometheus-Scrape-Timeout-Seconds: PART\r\n\r\n", "NaN", "-1", "1e309", "0", "0.0000001", "Inf", "x")},
		{name: "odd formats", want: []int{200, 406}, request: oneOf(get+"Accept: PART\r\nAccept-Encoding: PART\r\n\r\n", "*/*;q=9e99", strings.Repeat("text/plain;version=0.0.4,", 1000), "application/openmetrics-text;version=99;escaping=x", "gzip;q=NaN, br, zstd", ";;;")},
		{name: "half a request", held: true, want: []int{0}, request: oneOf("PART", "GET PATH HT", "GET PATH HTTP/1.1\r\nHost: AT\r\nX: ", "G", get+"Content-Length: 5\r\n")},
		{name: "nothing sent", held: true, want: []int{0}, request: always("")},
		{name: "answer not read", unread: true, held: true, want: []int{0}, request: always(strings.Repeat(get+"\r\n", 20))},
		{name: "ended at once", unread: true, want: []int{0}, request: always(get + "\r\n")},
	}
}

// statuses writes answers and how many there were of each.
func statuses(counts map[int]int, want []int) string {
	var parts []string
	for _, status := range append([]int{0}, want...) {
		if n := counts[status]; n > 0 && !strings.Contains(strings.Join(parts, ", ")+",", fmt.Sprintf("%d x %s,", n, answerName(status))) {
			parts = append(parts, fmt.Sprintf("%d x %s", n, answerName(status)))
		}
	}
	return strings.Join(parts, ", ")
}

func answerName(status int) string {
	if status == 0 {
		return "no answer"
	}
	return fmt.Sprint(status)
}
