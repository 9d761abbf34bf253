package hostfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// maxListenerBytes is how much of one table of a network namespace is read: some 7,000 listeners.
const maxListenerBytes = 1 << 20

// Listener is a TCP socket that accepts connections.
type Listener struct {
	// Address is where it listens, in the network namespace of its process; an IPv4 address in an IPv6 socket is IPv4.
	Address netip.AddrPort
	// UID is the user who made the socket, and Inode its number, as in socket:[26411] of a descriptor.
	UID   uint32
	Inode uint64
}

// Listeners lists the listening TCP sockets in the network namespace of a process, from /proc/<pid>/net/tcp and tcp6
// (Documentation/networking/proc_net_tcp.rst), which any user may read. They list the whole namespace: OpenFiles tells
// which sockets are the process's own.
//
//	0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 26411 1 ...
//
// The kernel lists listeners first (tcp_seq_start in net/ipv4/tcp_ipv4.c), so that the connections of a busy server,
// which follow, are not read. procfs reads them, and only in the reader's own namespace.
func Listeners(proc Dir, pid uint32) ([]Listener, error) {
	var all []Listener
	for _, table := range []string{"net/tcp", "net/tcp6"} {
		name := processFile(pid, table)
		var malformed error
		whole, err := proc.scanLines(name, maxListenerBytes, func(line string) bool {
			one, listens, err := parseListener(line)
			if listens {
				all = append(all, one)
			}
			malformed = err
			return err == nil && (listens || isTableHead(line))
		})
		switch {
		case table == "net/tcp6" && IsMissing(err): // a kernel without IPv6
		case err != nil:
			return nil, err
		case malformed != nil:
			return nil, fmt.Errorf("%s: %w", proc.shown(name), malformed)
		case !whole:
			return all, fmt.Errorf("%s: %w: %d bytes", proc.shown(name), ErrTooLong, maxListenerBytes)
		}
	}
	return all, nil
}

// isTableHead reports whether a line names the columns.
func isTableHead(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "sl ") }

// Columns of /proc/net/tcp, and the number of the state LISTEN (include/net/tcp_states.h).
const (
	tcpLocal  = 1
	tcpState  = 3
	tcpUID    = 7
	tcpInode  = 9
	tcpListen = "0A"
)

// parseListener reads one line; listens is false for the line of another socket and for the head of the table.
func parseListener(line string) (one Listener, listens bool, err error) {
	fields := strings.Fields(line)
	switch {
	case isTableHead(line):
		return Listener{}, false, nil
	case len(fields) <= tcpInode:
		return Listener{}, false, fmt.Errorf("%w: %s", errMalformed, excerpt(line))
	case fields[tcpState] != tcpListen:
		return Listener{}, false, nil
	}
	address, addressErr := parseSocketAddress(fields[tcpLocal])
	uid, uidErr := strconv.ParseUint(fields[tcpUID], 10, 32)
	inode, inodeErr := parseUint(fields[tcpInode])
	if errors.Join(addressErr, uidErr, inodeErr) != nil {
		return Listener{}, false, fmt.Errorf("%w: %s", errMalformed, excerpt(line))
	}
	return Listener{address, uint32(uid), inode}, true, nil
}

// parseSocketAddress reads address and port in hexadecimal digits. The kernel prints an address as numbers of 32 bits
// in the byte order of the machine, whose memory has them in network order.
func parseSocketAddress(text string) (netip.AddrPort, error) {
	digits, portDigits, _ := strings.Cut(text, ":")
	port, err := strconv.ParseUint(portDigits, 16, 16)
	if err != nil || len(digits) != 8 && len(digits) != 32 {
		return netip.AddrPort{}, errMalformed
	}
	var bytes []byte
	for word := range slices.Chunk([]byte(digits), 8) {
		number, err := strconv.ParseUint(string(word), 16, 32)
		if err != nil {
			return netip.AddrPort{}, errMalformed
		}
		bytes = binary.NativeEndian.AppendUint32(bytes, uint32(number))
	}
	address, _ := netip.AddrFromSlice(bytes)
	return netip.AddrPortFrom(address.Unmap(), uint16(port)), nil
}

// NetworkNamespace returns a number that the processes of one network namespace share: the inode number of the
// namespace's own table of sockets. Its link ns/net would need the right to inspect the process.
func NetworkNamespace(proc Dir, pid uint32) (uint64, error) {
	return networkNamespace(proc, processFile(pid, "net/tcp"))
}

// OwnNetworkNamespace is the network namespace of the reader.
func OwnNetworkNamespace(proc Dir) (uint64, error) { return networkNamespace(proc, "self/net/tcp") }

func networkNamespace(proc Dir, table string) (uint64, error) {
	info, err := proc.Stat(table)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: %w: no inode number", proc.shown(table), errMalformed)
	}
	return stat.Ino, nil
}

// LocalAddresses lists the IPv4 addresses of the network namespace of a process, from /proc/<pid>/net/fib_trie:
//
//	|-- 172.17.0.2
//	   /32 host LOCAL
func LocalAddresses(proc Dir, pid uint32) ([]netip.Addr, error) {
	return localAddresses(proc, processFile(pid, "net/fib_trie"))
}

// OwnAddresses lists the IPv4 addresses of the network namespace of the reader.
func OwnAddresses(proc Dir) ([]netip.Addr, error) { return localAddresses(proc, "self/net/fib_trie") }

func localAddresses(proc Dir, table string) ([]netip.Addr, error) {
	var all []netip.Addr
	var leaf netip.Addr
	_, err := proc.scanLines(table, maxListenerBytes, func(line string) bool {
		text := strings.TrimLeft(line, " ")
		if address, is := strings.CutPrefix(text, "|-- "); is {
			leaf, _ = netip.ParseAddr(address)
		} else if text == "/32 host LOCAL" && leaf.IsValid() && !slices.Contains(all, leaf) {
			all = append(all, leaf)
		}
		return true
	})
	return all, err
}

// PublishedPort is a TCP port of a container that Docker has mapped to one of the machine.
type PublishedPort struct{ Machine, Container netip.AddrPort }

// DockerProxyName is the short name of the process that carries connections to a published port.
const DockerProxyName = "docker-proxy"

// ReadPublishedPort reads the port that a docker-proxy carries from its arguments, in /proc/<pid>/cmdline:
//
//	docker-proxy -proto tcp -host-ip 0.0.0.0 -host-port 8000 -container-ip 172.17.0.2 -container-port 8000
//
// A proxy of another protocol is an error.
func ReadPublishedPort(proc Dir, pid uint32) (PublishedPort, error) {
	return parseFile(proc, processFile(pid, "cmdline"), parsePublishedPort)
}

// parsePublishedPort takes the last of arguments that occur twice, as package flag does.
func parsePublishedPort(arguments string) (PublishedPort, error) {
	given := map[string]string{}
	words := strings.Split(arguments, "\x00")
	for i := 0; i+1 < len(words); i++ {
		if name, is := strings.CutPrefix(words[i], "-"); is {
			given[strings.TrimPrefix(name, "-")] = words[i+1]
		}
	}
	if given["proto"] != "tcp" {
		return PublishedPort{}, fmt.Errorf("%w arguments: no port of TCP", errMalformed)
	}
	machine, machineErr := parseAddressPort(given["host-ip"], given["host-port"])
	container, containerErr := parseAddressPort(given["container-ip"], given["container-port"])
	if errors.Join(machineErr, containerErr) != nil {
		return PublishedPort{}, fmt.Errorf("%w arguments: %s", errMalformed, excerpt(arguments))
	}
	return PublishedPort{machine, container}, nil
}

func parseAddressPort(address, port string) (netip.AddrPort, error) {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return netip.AddrPortFrom(parsed.Unmap(), uint16(number)), err
}
