package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Format is an output format of the hosts.
type Format string

// The formats.
const (
	Table      Format = "table"
	MPI        Format = "mpi"
	Prometheus Format = "prometheus"
	JSON       Format = "json"
)

// Formats returns all formats.
func Formats() []Format { return []Format{Table, MPI, Prometheus, JSON} }

// Mark returns the first line of a file that uma-load wrote in that format; it must not replace a file without it.
func Mark(f Format) string {
	return "# Written by uma-load hosts --format " + string(f) + ", which replaces it: keep what is yours in another file."
}

// errForeign means that another program wrote the file.
var errForeign = errors.New("was not written by uma-load hosts in this format and is left as it is; name another file, or remove it")

// isOurs reports whether a file may be replaced: its text begins with the mark of the format, or is empty.
func isOurs(text []byte, f Format) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return len(text) == 0 || string(bytes.TrimRight(line, "\r")) == Mark(f)
}

// hostfile returns the hosts in Open MPI's format.
func hostfile(hosts []Host, slots int) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, Mark(MPI))
	for _, h := range hosts {
		if addr, is := h.MPI(); is {
			fmt.Fprintf(&b, "# %s\n%s slots=%d\n", h.Name, addr, slots)
		}
	}
	return b.Bytes()
}

// Target is a machine in Prometheus's target list.
type Target struct {
	Host string
	At   netip.AddrPort
}

// targetsOf returns the hosts as Prometheus targets.
func targetsOf(hosts []Host, port int) []Target {
	var all []Target
	for _, h := range hosts {
		if addr, is := h.Target(); is {
			all = append(all, Target{h.Name, netip.AddrPortFrom(addr, uint16(port))})
		}
	}
	return all
}

// discovery returns targets in the format of Prometheus's file-based discovery (file_sd_configs). Every value is
// quoted: a host may be called 7 or true.
func discovery(targets []Target) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, Mark(Prometheus))
	for _, t := range targets {
		fmt.Fprintf(&b, "- targets: [%s]\n  labels: {host: %s}\n", strconv.Quote(t.At.String()), strconv.Quote(t.Host))
	}
	if len(targets) == 0 {
		fmt.Fprintln(&b, "[]")
	}
	return b.Bytes()
}

// parseDiscovery reads the output of discovery, which people may have edited. An entry such as
//
//   - targets: ["192.168.1.20:10420"]
//     labels: {host: "spark-1"}
//
// has one target (an address and a port) and no label but host.
func parseDiscovery(text []byte) ([]Target, error) {
	var entries []struct {
		Targets []string          `yaml:"targets"`
		Labels  map[string]string `yaml:"labels"`
	}
	if err := yaml.Unmarshal(text, &entries); err != nil {
		return nil, err
	}
	var all []Target
	for i, e := range entries {
		name := e.Labels["host"]
		if len(e.Targets) != 1 || len(e.Labels) != 1 || !plainName.MatchString(name) {
			return nil, fmt.Errorf("entry %d: want one target, and the label host alone", i+1)
		}
		at, err := netip.ParseAddrPort(e.Targets[0])
		if err != nil || at.Port() == 0 || at.Addr().Zone() != "" || !at.Addr().IsPrivate() && !at.Addr().IsLinkLocalUnicast() {
			return nil, fmt.Errorf("entry %d: %+q is not a private address with a port", i+1, e.Targets[0])
		}
		all = append(all, Target{name, at})
	}
	return all, nil
}

// keepWritten adds to the found targets those of the file that are neither found nor replaced, so that a machine that
// is off stays in the alerts. It also returns these alone.
func keepWritten(found, written []Target) (all, kept []Target) {
	all = slices.Clone(found)
	for _, w := range written {
		replaced := slices.ContainsFunc(all, func(t Target) bool {
			return strings.EqualFold(t.Host, w.Host) || t.At == w.At
		})
		if !replaced {
			all, kept = append(all, w), append(kept, w)
		}
	}
	slices.SortStableFunc(all, func(a, b Target) int { return strings.Compare(strings.ToLower(a.Host), strings.ToLower(b.Host)) })
	return all, kept
}

// loginLines returns the commands that let this machine log in to the others; people run them, uma-load distributes no
// keys.
func loginLines(hosts []Host, user string) []string {
	var lines []string
	for _, h := range hosts {
		if addr, is := h.MPI(); is && !h.Self {
			port := ""
			if h.Port != 0 && h.Port != 22 {
				port = fmt.Sprintf("-p %d ", h.Port)
			}
			lines = append(lines, fmt.Sprintf("ssh-copy-id %s%s@%s   # %s", port, user, addr, h.Name))
		}
	}
	return lines
}
