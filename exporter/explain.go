package exporter

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/nvml"
)

const (
	watchInterval = 2 * time.Second
	barWidth      = 40 // characters for the whole pool

	// clearScreen moves to the top left and clears what is below.
	clearScreen = "\x1b[H\x1b[J"
)

// explain prints the account once, or again and again until ctx ends. It succeeds even if sources are missing.
func (l *commandLine) explain(ctx context.Context, stdout io.Writer) error {
	e, closeHost, err := l.openForPeople()
	if err != nil {
		return err
	}
	defer closeHost()
	if !l.watch {
		return e.Explain(ctx, stdout)
	}
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		var out bytes.Buffer
		out.WriteString(clearScreen)
		if err := e.Explain(ctx, &out); err != nil {
			return err
		}
		if _, err := stdout.Write(out.Bytes()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Explain prints the ledger as a table, the holders of GPU memory, what is charged to their cgroups, why CUDA sees less
// than is available, and which figures are missing.
func (e *Exporter) Explain(ctx context.Context, w io.Writer) error {
	scrape, err := e.runner.Scrape(ctx)
	if err != nil {
		return err
	}
	a := accountFor(scrape)
	var out bytes.Buffer
	fmt.Fprintln(&out, modeSentence(a.Mode))
	for _, device := range a.Devices {
		fmt.Fprintf(&out, "GPU %d: %s, memory %s\n", device.Index, printable(device.Name), placeOf(device.Architecture))
	}
	if a.Memory != nil {
		a.Memory.print(&out)
	}
	printCached(&out, a.Cached)
	for i, sentence := range a.Unknown {
		if i == 0 {
			fmt.Fprintf(&out, "\nNot known\n")
		}
		fmt.Fprintf(&out, "  %s\n", sentence)
	}
	_, err = w.Write(out.Bytes())
	return err
}

func printCached(out io.Writer, paths []collector.CachedPath) {
	for i, path := range paths {
		if i == 0 {
			fmt.Fprintf(out, "\nPage cache by path\n  %9s  %s\n", "GiB", "path")
		}
		size := "unknown"
		if path.Err == nil {
			size = gib(path.Bytes)
		}
		fmt.Fprintf(out, "  %9s  %s\n", size, printable(path.Path))
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
	fmt.Fprintf(out, "\nMemory pool  %s GiB\n  %-18s %9s %8s\n", gib(m.PoolBytes), "line", "GiB", "share")
	for _, line := range m.Lines {
		if !line.Known {
			fmt.Fprintf(out, "  %-18s %9s\n", line.Name, "unknown")
			continue
		}
		row := fmt.Sprintf("  %-18s %9s %7.1f%%  %s", line.Name, gib(line.Bytes), 100*m.share(line.Bytes), bar(m.share(line.Bytes)))
		fmt.Fprintln(out, strings.TrimRight(row, " "))
	}
	m.printNodes(out)
	m.printHolders(out)
	fmt.Fprintf(out, "\nCUDA-visible against available\n  %s\n", m.CUDA)
}

// share of the pool, signed.
func (m *memoryAccount) share(bytes int64) float64 {
	if m.PoolBytes == 0 {
		return 0
	}
	return float64(bytes) / float64(m.PoolBytes)
}

// bar draws a share; a negative share, which only a remainder can have, in another stroke.
func bar(share float64) string {
	stroke := "█"
	if share < 0 {
		stroke = "░"
	}
	return strings.Repeat(stroke, min(barWidth, int(math.Round(math.Abs(share)*barWidth))))
}

// printNodes shows the nodes that have memory: a pool of several memories can be short of one while another is free.
func (m *memoryAccount) printNodes(out io.Writer) {
	for i, node := range m.Nodes {
		if i == 0 {
			fmt.Fprintf(out, "\nMemory by NUMA node\n  %9s %9s  %s\n", "GiB", "free", "node")
		}
		if total := node.Meminfo["MemTotal"]; total > 0 {
			fmt.Fprintf(out, "  %9s %9s  %d\n", gib(total), gib(node.Meminfo["MemFree"]), node.ID)
		}
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
	for _, holder := range m.Holders {
		fmt.Fprintf(out, "  %9s %4d %9d  %-16s %s\n", gibOr(holder.UsedBytes), holder.GPU, holder.PID, printable(holder.Comm), printable(holder.Cgroup))
	}
	fmt.Fprintf(out, "\n%s\n  %9s %9s  %s\n", m.GroupTitle(), "charged", "GPU-held", "cgroup")
	for _, g := range m.Groups {
		fmt.Fprintf(out, "  %9s %9s  %s\n", gibOr(g.ChargedBytes), gib(g.HeldBytes), printable(g.Path))
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

func gibOr(bytes *uint64) string {
	if bytes == nil {
		return "unknown"
	}
	return gib(*bytes)
}
