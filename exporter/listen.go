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

	"github.com/umascope/umascope/cmd/webserver"
)

// listen opens every address. An address that is taken is an error. With next, the next free port takes its place, with a
// warning on stderr.
func listen(addresses []string, next bool, stderr io.Writer) ([]net.Listener, error) {
	var open []net.Listener
	for _, address := range addresses {
		listener, err := webserver.Listen(address, next)
		if err != nil {
			closeAll(open)
			if errors.Is(err, syscall.EADDRNOTAVAIL) { // the link may bring the address later: the supervisor should try again
				return nil, fmt.Errorf("--web.listen-address %s: this machine has no such address, or not yet", address)
			}
			return nil, badInput("--web.listen-address %s: %w%s", address, webserver.ListenCause(err), addressAdvice(address, err))
		}
		if actual := listener.Addr().String(); next && actual != address {
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
			return nil, badInput("--web.systemd-socket: file descriptor %d: %w", fd, webserver.ListenCause(err))
		}
		passed = append(passed, listener)
	}
	return passed, nil
}

func closeAll(listeners []net.Listener) {
	for _, listener := range listeners {
		listener.Close()
	}
}
