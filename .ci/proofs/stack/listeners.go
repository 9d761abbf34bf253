package main

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// listener is a TCP socket that waits for connections in the network namespace of the machine.
type listener netip.AddrPort

func (l listener) String() string { return netip.AddrPort(l).String() }

// ours reports that it belongs to the proof itself.
func (l listener) ours(p *proof) bool { return p.inbox != nil && l.String() == p.inbox.address }

// everywhere reports that other machines can reach it, on any network.
func (l listener) everywhere() bool { return netip.AddrPort(l).Addr().IsUnspecified() }

// listeners lists them, sorted.
func listeners() ([]listener, error) {
	var all []listener
	for _, path := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Scan() // titles
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			const listening = "0A"
			if len(fields) < 4 || fields[3] != listening {
				continue
			}
			l, err := parseListener(fields[1])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, l)
		}
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b listener) int { return netip.AddrPort(a).Compare(netip.AddrPort(b)) })
	return all, nil
}

// parseListener reads an address as the kernel writes it: words of 32 bits in the order of this machine's bytes.
func parseListener(text string) (listener, error) {
	words, port, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(words)
	number, err2 := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || err2 != nil || len(raw) != 4 && len(raw) != 16 {
		return listener{}, fmt.Errorf("%q is no address with a port", text)
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	address, _ := netip.AddrFromSlice(raw) // of 4 or 16 bytes, as was asked above
	return listener(netip.AddrPortFrom(address.Unmap(), uint16(number))), nil
}

// nothingEverywhere lists the listeners, and fails if one is open to all networks.
func nothingEverywhere() (string, error) {
	all, err := listeners()
	if err != nil {
		return "", err
	}
	var at []string
	for _, l := range all {
		at = append(at, l.String())
		if l.everywhere() {
			err = fmt.Errorf("something listens at %s", l)
		}
	}
	return "listeners: " + strings.Join(at, ", "), err
}
