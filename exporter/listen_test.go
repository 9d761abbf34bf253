package exporter

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"
)

// taken returns an address that is in use.
func taken(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

func TestExplicitAddressInUseIsRefusedInOneLine(t *testing.T) {
	address := taken(t)
	_, err := listen([]string{"127.0.0.1:0", address}, true, &bytes.Buffer{})
	var input inputError
	if !errors.As(err, &input) {
		t.Fatalf("got %v, want a bad input", err)
	}
	if want := "--web.listen-address " + address + ": address already in use; port 0 takes one that is free"; err.Error() != want {
		t.Errorf("says %q, want %q", err, want)
	}
}

func TestDefaultAddressInUseGivesWayWithAWarning(t *testing.T) {
	address := taken(t)
	var stderr bytes.Buffer
	listeners, err := listen([]string{address}, false, &stderr)
	must(t, err)
	defer closeAll(listeners)
	actual := listeners[0].Addr().String()
	if actual == address || !strings.Contains(stderr.String(), address) || !strings.Contains(stderr.String(), actual) {
		t.Errorf("listens on %s, says %q", actual, stderr.String())
	}
}

// TestAnAddressThatALinkBringsLaterIsNoBadInput: a service that ends with bad input is not started again, and after a
// boot the link to another machine may be later than the service.
func TestAnAddressThatALinkBringsLaterIsNoBadInput(t *testing.T) {
	const nowhere = "203.0.113.1:10420" // of no network (RFC 5737)
	_, err := listen([]string{nowhere}, true, &bytes.Buffer{})
	var input inputError
	if err == nil || errors.As(err, &input) || !strings.Contains(err.Error(), "--web.listen-address "+nowhere) {
		t.Errorf("got %v", err)
	}
}

func TestAddressThatIsNoneIsABadInput(t *testing.T) {
	_, err := listen([]string{"no port here"}, false, &bytes.Buffer{})
	var input inputError
	if !errors.As(err, &input) || !strings.Contains(err.Error(), "--web.listen-address no port here") {
		t.Errorf("got %v", err)
	}
}
