package view

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/cmd/webserver"
)

// inputError is an error of a flag, or of what it names, that trying again does not mend.
type inputError struct{ error }

// nextPort reports whether another port may take the place of one that is in use. That is of use only to a person who reads
// the warning: what a service is asked for at its address would be answered by another program.
func (o options) nextPort(stderr io.Writer) bool { return !o.explicit && terminal.Is(stderr) }

// listen opens the address of the pages. An address that is taken is an error. With next, the next free port takes its
// place, with a warning.
func listen(address string, next bool, stderr io.Writer) (net.Listener, error) {
	listener, err := webserver.Listen(address, next)
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL): // a link may bring the address later: a supervisor should try again
		return nil, fmt.Errorf("--web.listen-address %s: this machine has no such address, or not yet", address)
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, inputError{fmt.Errorf("--web.listen-address %s: %w; port 0 takes one that is free", address, webserver.ListenCause(err))}
	case err != nil:
		return nil, inputError{fmt.Errorf("--web.listen-address %s: %w", address, webserver.ListenCause(err))}
	}
	if actual := listener.Addr().String(); next && actual != address {
		fmt.Fprintf(stderr, "uma-view: warning: %s is in use, listening on %s instead\n", address, actual)
	}
	return listener, nil
}

// tunnel returns the command that brings pages on loopback to the machine that an SSH session comes from, "" if there is
// no session or the pages can be reached without it. connection is SSH_CONNECTION: client, port, server, port. The address
// of the server is that on its own network, which a client behind a jump host does not reach.
func tunnel(address net.Addr, scheme, connection, user string) string {
	tcp, is := address.(*net.TCPAddr)
	fields := strings.Fields(connection)
	if !is || !tcp.IP.IsLoopback() || len(fields) != 4 {
		return ""
	}
	server, port := fields[2], fields[3]
	if user != "" {
		server = user + "@" + server
	}
	if port != "22" {
		server = "-p " + port + " " + server
	}
	return fmt.Sprintf("from your machine: ssh -L %d:%s %s, then %s://127.0.0.1:%[1]d (with a jump host or a name of its own, the host as you gave it to ssh)", tcp.Port, tcp, server, scheme)
}
