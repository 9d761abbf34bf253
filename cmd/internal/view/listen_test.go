package view

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestAStatedAddressIsTakenOrFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()

	var stderr strings.Builder
	_, err = listen(address, false, &stderr)
	if !errors.As(err, &inputError{}) || !strings.Contains(err.Error(), "--web.listen-address "+address+": address already in use") {
		t.Errorf("stated: %v", err)
	}
	next, err := listen(address, true, &stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if want := address + " is in use, listening on " + next.Addr().String() + " instead"; !strings.Contains(stderr.String(), want) {
		t.Errorf("default: %q, want %q", stderr.String(), want)
	}
	const nowhere = "203.0.113.1:10430" // of no network (RFC 5737): a link may bring it, so the unit is to try again
	if _, err := listen(nowhere, false, &stderr); err == nil || errors.As(err, &inputError{}) {
		t.Errorf("not there yet: %v", err)
	}
}

func TestTunnel(t *testing.T) {
	at := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 10430} }
	for _, test := range []struct {
		address          net.Addr
		connection, user string
		want             string
	}{
		{at("127.0.0.1"), "10.0.0.9 50000 10.0.0.5 22", "ada", "ssh -L 10430:127.0.0.1:10430 ada@10.0.0.5, then http://127.0.0.1:10430 "},
		{at("127.0.0.1"), "10.0.0.9 50000 10.0.0.5 22", "", "ssh -L 10430:127.0.0.1:10430 10.0.0.5, "},
		{at("127.0.0.1"), "2001:db8::9 50000 2001:db8::5 2222", "ada", "ssh -L 10430:127.0.0.1:10430 -p 2222 ada@2001:db8::5, "},
		{at("::1"), "fe80::9%eth0 50000 fe80::5%eth0 22", "ada", "ssh -L 10430:[::1]:10430 ada@fe80::5%eth0, "},
		{at("10.0.0.5"), "10.0.0.9 50000 10.0.0.5 22", "ada", ""}, // reached without a tunnel
		{at("127.0.0.1"), "", "ada", ""},
		{at("127.0.0.1"), "10.0.0.9 50000", "ada", ""},
	} {
		if got := tunnel(test.address, "http", test.connection, test.user); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%v, %q: %q, want %q", test.address, test.connection, got, test.want)
		}
	}
}

// TestOnlyAtATerminalADefaultAddressGivesWay: who asks a service at its address gets its answers, or none.
func TestOnlyAtATerminalADefaultAddressGivesWay(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if o := (options{}); !o.nextPort(terminal) || o.nextPort(&strings.Builder{}) {
		t.Errorf("a default address gives way at a terminal: %v, in a service: %v", o.nextPort(terminal), o.nextPort(&strings.Builder{}))
	}
	if (options{explicit: true}).nextPort(terminal) {
		t.Error("a stated address gives way")
	}
}
