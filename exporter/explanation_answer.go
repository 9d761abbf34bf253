package exporter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/ledger"
)

// answer returns one sentence, in GiB: how much of the memory is occupied, by what, what CUDA reports as free, what can
// be allocated, and what fit grants. What is occupied and what is free add up as they are printed.
func (x *explanation) answer() string {
	label := ""
	if x.Mode != collector.Live {
		label = strings.ToUpper(string(x.Mode)) + ": "
	}
	if x.Memory == nil {
		return label + "The memory of this machine could not be read."
	}
	free, known := x.Memory.free()
	if !known {
		return label + "How much memory is occupied is not known: the kernel does not state free memory."
	}
	pool := ledger.Occupied{Free: free, Parts: x.Memory.parts(ledger.FreeNames())}
	own, onGPUs := x.ownMemory()
	sentences := []string{pool.Sentence("")}
	switch {
	case x.Memory.Architecture.InPool() && x.Memory.Allocatable != nil:
		sentences = append(sentences, x.Memory.Allocatable.Sentence())
	case x.Memory.Architecture.InPool():
		sentences = append(sentences, "CUDA reports "+ledger.InTenths(free).String()+" GiB free; what can be allocated is not known")
	case x.Memory.Architecture.TakesFromPool() && len(onGPUs) > 0:
		sentences = append(sentences, "CUDA reports "+strings.Join(onGPUs, ", "))
	case x.Memory.Architecture != "" && len(onGPUs) > 0:
		name := "GPU "
		if len(onGPUs) > 1 {
			name = fmt.Sprintf("%d GPUs ", len(onGPUs))
		}
		sentences = []string{"host " + pool.Sentence(""), name + own.Sentence(""), "CUDA reports " + strings.Join(onGPUs, ", ")}
	}
	text := label + strings.Join(sentences, "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

// free is MemFree, false if the kernel does not state it.
func (m *memoryAccount) free() (bytes float64, known bool) { return ledger.Of(m.Lines).Free() }

// parts returns the lines of the ledger without those named, and processes in place of the line that is their sum.
func (m *memoryAccount) parts(without []string) []ledger.Line {
	var processes, parts []ledger.Line
	var held float64
	for _, h := range m.Holders {
		if h.Bytes != nil {
			processes, held = ledger.Add(processes, h.engineOrName(), float64(*h.Bytes)), held+float64(*h.Bytes)
		}
	}
	for _, line := range m.Lines {
		switch {
		case line.Unknown || slices.Contains(without, line.Name):
		case line.Name == ledger.GPUProcess && line.Bytes == held:
			parts = append(parts, processes...)
		default:
			parts = append(parts, ledger.Line{Name: ledger.Named(line.Name).Title, Bytes: line.Bytes})
		}
	}
	return parts
}

// name is the name of the process, its number if it ended before that was read.
func (h holder) name() string { return cmp.Or(printable(h.Comm), fmt.Sprintf("process %d", h.PID)) }

// engineOrName is the name of the engine whose process names itself so, else that of the process. An engine can have a
// process for each GPU.
func (h holder) engineOrName() string {
	switch {
	case strings.HasPrefix(h.Comm, "VLLM::"): // VLLM::EngineCore, VLLM::Worker_TP0
		return "vLLM"
	case h.Comm == "llama-server":
		return "llama.cpp"
	}
	return h.name()
}

// ownMemory sums the memory of the GPUs that have their own, and lists how much of each CUDA reports as free and fit
// grants. Page cache is in another memory, except on coherent machines.
func (x *explanation) ownMemory() (all ledger.Occupied, onGPUs []string) {
	var rest float64 // what no process holds
	var shown gpuMemory
	for _, g := range x.GPUs {
		if g.FreeBytes == nil || *g.FreeBytes > *g.TotalBytes {
			continue
		}
		shown = g
		all.Free += float64(*g.FreeBytes)
		rest += float64(*g.TotalBytes - *g.FreeBytes)
		onGPUs = append(onGPUs, fmt.Sprintf("%s GiB free on GPU %d%s", ledger.InTenths(int64(*g.FreeBytes)), g.Index, g.granted(" (fit grants %s)")))
		for _, h := range x.Memory.Holders {
			if h.GPU == g.Index && h.Bytes != nil {
				all.Parts = ledger.Add(all.Parts, h.engineOrName(), float64(*h.Bytes))
				rest -= float64(*h.Bytes)
			}
		}
	}
	all.Parts = ledger.Add(all.Parts, ledger.OtherPart, rest)
	if len(onGPUs) == 1 {
		onGPUs = []string{ledger.InTenths(all.Free).String() + " GiB free" + shown.granted("; fit grants %s")}
	}
	return all, onGPUs
}

// granted formats what fit grants of a GPU with memory of its own; "" for a partitioned one, of which an engine gets a part.
func (g gpuMemory) granted(format string) string {
	if g.Partitioned {
		return ""
	}
	memory := g.own()
	return fmt.Sprintf(format, ledger.InTenths(memory.Budget()))
}
