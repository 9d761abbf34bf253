package exporter

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

const (
	barWidth = 36 // characters for the whole pool

	// shortID is how many digits of a container's id are shown beside its name, as docker ps does.
	shortID = 12
)

// print writes the explanation as text: the answer, the ledger as a table, the holders of GPU memory, what is charged
// to their cgroups, what CUDA reports as free and what can be allocated, and which figures are missing.
func (x *explanation) print(out io.Writer) {
	x.printHeader(out)
	for _, g := range x.GPUs {
		fmt.Fprintf(out, "GPU %d: %s, memory %s\n", g.Index, printable(g.Name), placeOf(g.Architecture))
	}
	if x.Memory != nil {
		x.Memory.print(out)
	}
	for i, path := range x.Cached {
		if i == 0 {
			fmt.Fprintf(out, "\nPage cache by path\n  %9s  %s\n", "GiB", "path")
		}
		fmt.Fprintf(out, "  %9s  %s\n", gibOr(path.Bytes), printable(path.Path))
	}
	printOwn(out, x.Own)
	title := "\nEngines\n"
	for _, socket := range x.Sockets {
		if socket.Result != metric.DiscoveryUnknown && socket.Result != metric.DiscoveryNotAsked { // doctor has the others
			fmt.Fprintf(out, "%s  %s\n", title, socket)
			title = ""
		}
	}
	for i, sentence := range x.Unknown {
		if i == 0 {
			fmt.Fprintf(out, "\nNot known\n")
		}
		fmt.Fprintf(out, "  %s\n", printable(sentence))
	}
}

// printHeader writes the answer, and whose figures they are.
func (x *explanation) printHeader(out io.Writer) {
	switch fmt.Fprintln(out, printable(x.Answer)); {
	case x.Exporter != "":
		fmt.Fprintf(out, "%s\nread by the running exporter: %s\n", modeSentence(x.Mode, "the exporter's machine"), x.Exporter)
	case x.Note != "":
		fmt.Fprintf(out, "%s\nread by this command: %s\n", modeSentence(x.Mode, thisMachine), printable(x.Note))
	default:
		fmt.Fprintln(out, modeSentence(x.Mode, thisMachine))
	}
}

// placeOf describes where the memory of a GPU is.
func placeOf(a nvml.Architecture) string {
	switch {
	case a.InPool():
		return string(a) + ": it comes out of the pool"
	case a == nvml.CoherentNUMA:
		return string(a) + ": its own, which the pool contains as a NUMA node (by the driver's source; not measured yet)"
	case a == nvml.Discrete || a == nvml.CoherentDriver:
		return string(a) + ": its own, beside the pool"
	default:
		return "unknown"
	}
}

func (m *memoryAccount) print(out io.Writer) {
	fmt.Fprintf(out, "\nMemory pool  %s GiB\n  %-20s %9s %8s\n", gib(m.PoolBytes), "line", "GiB", "share")
	for _, line := range m.Lines {
		if line.Unknown {
			fmt.Fprintf(out, "  %-20s %9s\n", printable(ledger.Named(line.Name).Title), "unknown")
			continue
		}
		share := m.share(line.Bytes)
		row := fmt.Sprintf("  %-20s %9s %7.1f%%  %s", printable(ledger.Named(line.Name).Title), gib(line.Bytes), 100*share, bar(share))
		fmt.Fprintln(out, strings.TrimRight(row, " "))
	}
	m.printNodes(out)
	m.printHolders(out)
	m.printAllocatable(out)
}

// share of the pool, signed.
func (m *memoryAccount) share(bytes float64) float64 {
	if m.PoolBytes == 0 {
		return 0
	}
	return bytes / float64(m.PoolBytes)
}

// bar draws a share; a negative share, which only a remainder can have, in another stroke.
func bar(share float64) string {
	stroke := "█"
	if share < 0 {
		stroke = "░"
	}
	return strings.Repeat(stroke, int(min(barWidth, math.Round(math.Abs(share)*barWidth))))
}

// printNodes shows the nodes that have memory: a pool of several memories can be short of one while another is free.
func (m *memoryAccount) printNodes(out io.Writer) {
	for i, node := range m.Nodes {
		if i == 0 {
			fmt.Fprintf(out, "\nMemory by NUMA node\n  %9s %9s  %s\n", "GiB", "free", "node")
		}
		fmt.Fprintf(out, "  %9s %9s  %d\n", gib(node.TotalBytes), gib(node.FreeBytes), node.Node)
	}
}

func (m *memoryAccount) printHolders(out io.Writer) {
	if m.Architecture == "" {
		return
	}
	if len(m.Holders) == 0 {
		fmt.Fprintf(out, "\nWho holds GPU memory\n  no process is listed\n")
		return
	}
	fmt.Fprintf(out, "\nWho holds GPU memory\n  %9s %4s %9s  %-16s %s\n", "GiB", "GPU", "pid", "comm", "cgroup")
	for _, h := range m.Holders {
		fmt.Fprintf(out, "  %9s %4d %9d  %-16s %s\n", gibOr(h.Bytes), h.GPU, h.PID, printable(h.Comm), h.place)
	}
	fmt.Fprintf(out, "\n%s\n  %9s %9s  %s\n", m.GroupTitle(), "charged", "GPU-held", "cgroup")
	for _, g := range m.Groups {
		fmt.Fprintf(out, "  %9s %9s  %s\n", gibOr(g.ChargedBytes), gib(g.HeldBytes), g.place)
	}
}

// GroupTitle describes the two figures of a group on this machine.
func (m *memoryAccount) GroupTitle() string {
	if m.Architecture.InPool() {
		return "Charged and uncharged by cgroup, GiB: GPU-held memory is charged to none, so no limit stops it"
	}
	if m.Architecture == nvml.CoherentNUMA {
		return "Charged and GPU-held by cgroup, GiB: GPU-held memory is of the pool; drivers up to 595 charge it to none, later ones may"
	}
	return "Charged and GPU-held by cgroup, GiB: GPU-held memory is the device's own"
}

// String is the name and the short id of a container with a name, else the path of the cgroup.
func (p place) String() string {
	id := p.containerID()
	if p.Container == "" || id == "" {
		return printable(p.Cgroup)
	}
	return fmt.Sprintf("container %s (%s)", printable(p.Container), id[:shortID])
}

func gibOr(bytes *uint64) string {
	if bytes == nil {
		return "unknown"
	}
	return gib(*bytes)
}
