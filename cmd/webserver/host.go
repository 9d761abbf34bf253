package webserver

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// hostName is a DNS name, or a label of one.
var hostName = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)

const longestHostName = 253 // RFC 1035, as text

// parseHost reads a host name of the command line: without scheme, port or path.
func parseHost(text string) (string, error) {
	name := plain(text)
	if len(name) > longestHostName || !hostName.MatchString(name) {
		return "", fmt.Errorf("%q is no host name; want one without scheme and port, such as metrics.example.org", text)
	}
	return name, nil
}

// checkHost rejects requests by foreign host names. The owner of a web page can let one of their names resolve to
// 127.0.0.1, so that a browser on this machine reads these pages for them (DNS rebinding); the Host header has that
// name. IP addresses need no name service, and localhost is always this machine.
//
// As in Jupyter and Ollama, only a server on a loopback address checks: a server on another address is open to the
// network already, under any name. Names that are allowed explicitly are the only ones on any address.
func checkHost(address net.Addr, allowed []string, next http.Handler) http.Handler {
	if len(allowed) == 0 && !isLoopback(address) {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := plain(withoutPort(r.Host))
		if isLocal(name) || slices.Contains(allowed, name) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close")
		if _, err := parseHost(name); err != nil {
			name = "NAME"
		}
		http.Error(w, "this host name is not answered; --"+AllowHost+" "+name+" allows it", http.StatusForbidden)
	})
}

// isLocal reports whether a host is an IP address or localhost. HTTP/1.0 has requests without a host, browsers do not.
func isLocal(name string) bool {
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil || name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost")
}

func isLoopback(address net.Addr) bool {
	tcp, is := address.(*net.TCPAddr)
	return is && tcp.IP.IsLoopback()
}

// plain is a name as it is compared: in lower case, without the dot that ends a full one.
func plain(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }

func withoutPort(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}
