package webserver

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// portsTried is how many ports after the given one are tried.
const portsTried = 100

// Listen opens an address. With next, which is for an address that the user has not chosen, it takes the next free port
// if that of the address is in use.
func Listen(address string, next bool) (net.Listener, error) {
	return ListenOn(net.Listen, address, next)
}

// ListenOn is Listen on another network than the machine's.
func ListenOn(listen func(network, address string) (net.Listener, error), address string, next bool) (net.Listener, error) {
	listener, err := listen("tcp", address)
	if !next || !errors.Is(err, syscall.EADDRINUSE) {
		return listener, err
	}
	host, first, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(first)
	if err != nil {
		return nil, err
	}
	for n := 1; n <= portsTried; n++ {
		listener, err = listen("tcp", net.JoinHostPort(host, strconv.Itoa(port+n)))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return listener, err
		}
	}
	return nil, fmt.Errorf("this port and the %d after it are in use: %w", portsTried, err)
}

// ListenCause drops the words that net puts before the reason, for a message that already names the address.
func ListenCause(err error) error {
	var op *net.OpError
	if !errors.As(err, &op) {
		return err
	}
	var number syscall.Errno
	if errors.As(op.Err, &number) {
		return number
	}
	return op.Err
}
