package exporter

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// portsTried is how many ports after the default one are tried.
const portsTried = 100

// listen opens every address. An address from the command line that is taken is an error; the default address falls
// back to the next free port, with a warning on stderr.
func listen(addresses []string, explicit bool, stderr io.Writer) ([]net.Listener, error) {
	var open []net.Listener
	for _, address := range addresses {
		listener, err := net.Listen("tcp", address)
		if errors.Is(err, syscall.EADDRINUSE) && !explicit {
			listener, err = listenNext(address)
		}
		if err != nil {
			closeAll(open)
			if errors.Is(err, syscall.EADDRNOTAVAIL) { // the link may bring the address later: the supervisor should try again
				return nil, fmt.Errorf("--web.listen-address %s: this machine has no such address, or not yet", address)
			}
			return nil, badInput("--web.listen-address %s: %w%s", address, cause(err), addressAdvice(address, err))
		}
		if actual := listener.Addr().String(); !explicit && actual != address {
			fmt.Fprintf(stderr, "uma-exporter: warning: %s is in use, listening on %s instead\n", address, actual)
		}
		open = append(open, listener)
	}
	return open, nil
}

// addressAdvice is the remedy for an address that cannot be listened on.
func addressAdvice(address string, err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "; port 0 takes one that is free"
	case !strings.Contains(address, ":"):
		return "; want HOST:PORT, such as 127.0.0.1:10420, or :10420 for all addresses"
	case errors.Is(err, fs.ErrPermission):
		return "; ports below 1024 are root's"
	}
	return ""
}

// listenNext tries the ports after that of address.
func listenNext(address string) (net.Listener, error) {
	host, first, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(first)
	if err != nil {
		return nil, err
	}
	for next := port + 1; next <= port+portsTried; next++ {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(next)))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return listener, err
		}
	}
	return nil, fmt.Errorf("this port and the %d after it are in use", portsTried)
}

// firstPassed is the first file descriptor that systemd passes (SD_LISTEN_FDS_START).
const firstPassed = 3

// passedSockets are the listening sockets that systemd opened before it started the program: LISTEN_FDS of them, from
// file descriptor 3 on, if LISTEN_PID is this process (man 3 sd_listen_fds). They are taken here and not by the toolkit
// for the same reason that each listener has a server of its own.
func passedSockets() ([]net.Listener, error) {
	count, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil || count < 1 || os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, badInput("--web.systemd-socket: no socket was passed to this process: it must be started by a .socket unit")
	}
	var passed []net.Listener
	for fd := firstPassed; fd < firstPassed+count; fd++ {
		file := os.NewFile(uintptr(fd), "LISTEN_FD_"+strconv.Itoa(fd))
		listener, err := net.FileListener(file) // a copy
		file.Close()
		if err != nil {
			closeAll(passed)
			return nil, badInput("--web.systemd-socket: file descriptor %d: %w", fd, cause(err))
		}
		passed = append(passed, listener)
	}
	return passed, nil
}

// cause drops the words that net puts before the reason: the message already names the address.
func cause(err error) error {
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

func closeAll(listeners []net.Listener) {
	for _, listener := range listeners {
		listener.Close()
	}
}
