package exporter

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
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
	_, err := listen([]string{"127.0.0.1:0", address}, false, &bytes.Buffer{})
	var input inputError
	if !errors.As(err, &input) {
		t.Fatalf("got %v, want a bad input", err)
	}
	if want := "--web.listen-address " + address + ": address already in use; port 0 takes one that is free"; err.Error() != want {
		t.Errorf("says %q, want %q", err, want)
	}
}

func TestADefaultAddressInUseGivesWayWithAWarning(t *testing.T) {
	address := taken(t)
	var stderr bytes.Buffer
	listeners, err := listen([]string{address}, true, &stderr)
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
	_, err := listen([]string{nowhere}, false, &bytes.Buffer{})
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

// TestOnlyAtATerminalADefaultAddressGivesWay: who asks a service at its address gets its answers, or none.
func TestOnlyAtATerminalADefaultAddressGivesWay(t *testing.T) {
	l, err := parse([]string{"serve"}, io.Discard, io.Discard)
	must(t, err)
	*l.web.WebListenAddresses = []string{taken(t)}
	var input inputError
	if _, err := l.listeners(&bytes.Buffer{}); !errors.As(err, &input) || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("in a service: %v, want a bad input", err)
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	defer terminal.Close()
	listeners, err := l.listeners(terminal)
	must(t, err)
	closeAll(listeners)
	l.explicitAddress = true
	if _, err := l.listeners(terminal); !errors.As(err, &input) {
		t.Errorf("a stated address at a terminal: %v, want a bad input", err)
	}
}
