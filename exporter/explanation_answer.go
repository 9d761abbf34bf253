package exporter

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/metric"
)

const (
	mostParts = 4                // parts of a memory that the answer names
	leastPart = 100              // the answer names parts of at least one in so many of a memory
	tenth     = (1 << 30) / 10.0 // unit of the answer, in bytes
)

// answer returns one sentence, in GiB: how much of the memory is occupied, by what, and how much CUDA can still take.
// The figures add up as they are printed.
func (x *explanation) answer() string {
	label := ""
	if x.Mode != collector.Live {
		label = strings.ToUpper(string(x.Mode)) + ": "
	}
	if x.Memory == nil {
		return label + "The memory of this machine could not be read."
	}
	free := slices.IndexFunc(x.Memory.Lines, func(line ledgerLine) bool { return line.Name == metric.LineFree })
	if free < 0 || x.Memory.Lines[free].Bytes == nil {
		return label + "How much memory is occupied is not known: the kernel does not state free memory."
	}
	pool := occupied{free: *x.Memory.Lines[free].Bytes, parts: x.Memory.parts()}
	own, onGPUs := x.ownMemory()
	sentences := []string{pool.String()}
	switch {
	case x.Memory.Architecture.InPool():
		sentences = append(sentences, "CUDA can still take "+inTenths(tenths(pool.free)))
	case x.Memory.Architecture.TakesFromPool() && len(onGPUs) > 0:
		sentences = append(sentences, "CUDA can still take "+strings.Join(onGPUs, ", "))
	case x.Memory.Architecture != "" && len(onGPUs) > 0:
		name := "GPU "
		if len(onGPUs) > 1 {
			name = fmt.Sprintf("%d GPUs ", len(onGPUs))
		}
		sentences = []string{"host " + pool.String(), name + own.String(), "CUDA can still take " + strings.Join(onGPUs, ", ")}
	}
	text := label + strings.Join(sentences, "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

// part is a holder of memory.
type part struct {
	name  string
	bytes int64
}

// add adds memory to the part of this name.
func add(parts []part, name string, bytes int64) []part {
	if at := slices.IndexFunc(parts, func(p part) bool { return p.name == name }); at >= 0 {
		parts[at].bytes += bytes
		return parts
	}
	return append(parts, part{name, bytes})
}

// parts are what occupies the pool: the lines of the ledger but free, with the processes instead of the line that is
// their sum.
func (m *memoryAccount) parts() []part {
	var processes, parts []part
	var held int64
	for _, h := range m.Holders {
		if h.Bytes != nil {
			processes, held = add(processes, h.engineOrName(), int64(*h.Bytes)), held+int64(*h.Bytes)
		}
	}
	for _, line := range m.Lines {
		switch {
		case line.Bytes == nil || line.Name == metric.LineFree:
		case line.Name == metric.LineGPUProcess && *line.Bytes == held:
			parts = append(parts, processes...)
		default:
			parts = append(parts, part{strings.ReplaceAll(line.Name, "_", " "), *line.Bytes})
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

// ownMemory sums the memory of the GPUs that have their own, and lists how much of each CUDA can still take.
func (x *explanation) ownMemory() (all occupied, onGPUs []string) {
	var rest int64 // what no process holds
	for _, g := range x.GPUs {
		if g.FreeBytes == nil || *g.FreeBytes > *g.TotalBytes {
			continue
		}
		all.free += int64(*g.FreeBytes)
		rest += int64(*g.TotalBytes - *g.FreeBytes)
		onGPUs = append(onGPUs, fmt.Sprintf("%s on GPU %d", inTenths(tenths(int64(*g.FreeBytes))), g.Index))
		for _, h := range x.Memory.Holders {
			if h.GPU == g.Index && h.Bytes != nil {
				all.parts = add(all.parts, h.engineOrName(), int64(*h.Bytes))
				rest -= int64(*h.Bytes)
			}
		}
	}
	all.parts = add(all.parts, otherPart, rest)
	if len(onGPUs) == 1 {
		onGPUs = []string{inTenths(tenths(all.free))}
	}
	return all, onGPUs
}

// otherPart is the name of what the answer does not name.
const otherPart = "other"

// occupied is a memory: what is free and what occupies the rest, in bytes.
type occupied struct {
	free  int64
	parts []part
}

// String returns how much is occupied, with the largest parts.
func (o occupied) String() string {
	total := o.free
	for _, p := range o.parts {
		total += p.bytes
	}
	bySize := slices.SortedStableFunc(slices.Values(o.parts), func(a, b part) int { return cmp.Compare(b.bytes, a.bytes) })
	var other int64 // bytes
	var named []part
	for _, p := range bySize {
		if p.name != otherPart && len(named) < mostParts && p.bytes >= max(total/leastPart, 1) {
			named = append(named, p)
		} else {
			other += p.bytes
		}
	}
	sum := tenths(total) - tenths(o.free)
	text := fmt.Sprintf("%s of %s GiB occupied", inTenths(sum), inTenths(tenths(total)))
	for i, part := range inTenthsOf(sum, named, other) {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		text += separator + part
	}
	return text
}

// inTenthsOf returns the parts of a memory and the rest of it, which add up to the sum. What rounding costs is the
// rest's, and the largest part's where the rest would be less than nothing.
func inTenthsOf(sum int64, named []part, other int64) (texts []string) {
	if len(named) == 0 {
		return nil
	}
	rest := sum
	for _, p := range named {
		rest -= tenths(p.bytes)
	}
	for i, p := range named {
		size := tenths(p.bytes)
		if i == 0 && rest < 0 && other >= 0 {
			size, rest = size+rest, 0
		}
		texts = append(texts, p.name+" "+inTenths(size))
	}
	if rest != 0 {
		texts = append(texts, otherPart+" "+inTenths(rest))
	}
	return texts
}

// tenths rounds bytes to tenths of a GiB, and inTenths prints these.
func tenths(bytes int64) int64 { return int64(math.Round(float64(bytes) / tenth)) }

func inTenths(n int64) string { return fmt.Sprintf("%.1f", float64(n)/10) }
