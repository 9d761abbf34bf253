package exporter

import (
	"fmt"
	"io"
	"strings"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/fit"
	"github.com/umascope/umascope/exporter/metric"
)

// allocatableTitle is the title of allocatableSteps.
const allocatableTitle = "What CUDA reports, and what can be allocated"

// allocatableSteps leads from what CUDA reports as free to what fit grants. The steps after the second add up to the last.
func allocatableSteps(can collector.Allocatable, whyReserve string) []spec.Step {
	return append([]spec.Step{step("CUDA reports free (MemFree: page cache does not count)", can.CUDAFree)}, grantedSteps(can, whyReserve)...)
}

// grantedSteps leads from what can be allocated to what fit grants.
func grantedSteps(can collector.Allocatable, whyReserve string) []spec.Step {
	upTo := "up to this if page cache is given up (MemAvailable; not tried on a GB10)"
	if can.FreeCMA > 0 {
		upTo = fmt.Sprintf("up to this if page cache is given up (MemAvailable, without %s free in CMA; not tried on a GB10)", gib(can.FreeCMA))
	}
	return []spec.Step{step(upTo, can.UpTo), step("reserve: "+whyReserve, -can.Reserve), step("fit grants, for one engine with everything that it allocates", can.Granted())}
}

// whyReserved explains the default reserve.
func whyReserved() string {
	return "below it alert MemoryAvailableLow can fire (" + metric.AlertThresholds().AvailableWarning.String() + ")"
}

// floorText names the floor of the reserve and its source. It is a line of its own before the last step.
func floorText() string {
	died := metric.AlertThresholds().Died
	return fmt.Sprintf("floor: a Spark died with about %s available (%s)", died, died.Source)
}

// sizedSentence names the engines that size their KV cache by the first figure.
func sizedSentence(engines spec.Engines) string {
	var byFree, otherwise []string
	for _, s := range fit.Sizing(engines) {
		if s.Sizing.CUDAFree {
			byFree = append(byFree, s.Release())
		} else {
			otherwise = append(otherwise, s.Release())
		}
	}
	return "Engines that size their KV cache by what CUDA reports as free: " + strings.Join(byFree, ", ") + ". By other figures: " + strings.Join(otherwise, ", ") + "."
}

// allocatableRow is a line of the way to what fit grants.
type allocatableRow struct{ GiB, Text string }

// rowsOf are the steps with the floor before the last, which fit grants.
func rowsOf(steps []spec.Step) []allocatableRow {
	var rows []allocatableRow
	for i, s := range steps {
		if i == len(steps)-1 {
			rows = append(rows, allocatableRow{Text: floorText()})
		}
		rows = append(rows, allocatableRow{gib(s.Bytes.Low), s.Name})
	}
	return rows
}

// AllocatableRows are the steps as the page shows them.
func (m *memoryAccount) AllocatableRows() []allocatableRow { return rowsOf(m.AllocatableSteps()) }

// AllocatableSteps leads from what CUDA reports as free to what fit grants; none for a GPU with memory of its own.
func (m *memoryAccount) AllocatableSteps() []spec.Step {
	if m.Allocatable == nil {
		return nil
	}
	return allocatableSteps(*m.Allocatable, whyReserved())
}

// AllocatableNotes are sentences beside the steps, or why there are none.
func (m *memoryAccount) AllocatableNotes() []string {
	notes := []string{m.CUDA}
	if m.Allocatable != nil {
		notes = []string{sizedSentence(m.known)}
	}
	if m.Handover != "" {
		notes = append(notes, m.Handover)
	}
	return notes
}

// printAllocatable writes what CUDA reports, what can be allocated and what fit grants.
func (m *memoryAccount) printAllocatable(out io.Writer) {
	rows, unit := m.AllocatableRows(), ""
	if len(rows) > 0 {
		unit = ", GiB"
	}
	fmt.Fprintf(out, "\n%s%s\n", allocatableTitle, unit)
	for _, row := range rows {
		fmt.Fprintf(out, "  %9s  %s\n", row.GiB, row.Text)
	}
	for _, note := range m.AllocatableNotes() {
		fmt.Fprintf(out, "  %s\n", printable(note))
	}
}

// Memory that kexec handover put into CMA: what it costs, and how to get it back.
const (
	handoverCost = "a driver cannot pin it, so that cudaMalloc and RDMA fail while it still counts as free; fit leaves it out"
	handoverFix  = "boot with kho=off (add it to GRUB_CMDLINE_LINUX in /etc/default/grub, sudo update-grub, reboot); " +
		"reports: https://github.com/NVIDIA/NV-Kernels/pull/591 and https://github.com/MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark/issues/259"
)

// handoverFinding states how much free memory kexec handover put into CMA; "" where CmaFree does not exceed CmaTotal.
func handoverFinding(reading collector.MemoryReading) string {
	if reading.HandoverBytes() == 0 {
		return ""
	}
	return fmt.Sprintf("%s GiB of free memory are in CMA, for which %s GiB were reserved (CmaFree > CmaTotal): kexec handover (KHO), as in kernel 7.0.0-1019",
		gib(reading.Meminfo["CmaFree"]), gib(reading.Meminfo["CmaTotal"]))
}

// handoverSentence is the finding with cost and fix.
func handoverSentence(reading collector.MemoryReading) string {
	finding := handoverFinding(reading)
	if finding == "" {
		return ""
	}
	return finding + "; " + handoverCost + ". Fix: " + handoverFix + "."
}
