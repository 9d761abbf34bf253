package exporter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/fit"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/nvml"
)

const (
	// fitSchema names the form of a report of fit in JSON.
	fitSchema = "umascope.fit/1"

	// reserveByFlag is the reason of a reserve that the user chose.
	reserveByFlag = "--reserve"

	// leastPart is the least memory that has a line of its own.
	leastPart = 1 << 29
	// ownReserve is the share that is left of a GPU with memory of its own: what vLLM 0.32.0 leaves by default.
	ownReserve = 0.08
)

// fitReport is what engines can be given of one GPU. Sizes are in bytes.
type fitReport struct {
	Schema   string         `json:"schema"`
	Answer   string         `json:"answer"`
	Mode     collector.Mode `json:"mode"`
	Exporter string         `json:"exporter,omitempty"`
	Note     string         `json:"note,omitempty"`
	Model    *fitModel      `json:"model,omitempty"`
	GPU      *fitGPU        `json:"gpu,omitempty"`
	// Others are the other GPUs with what one engine can have of each.
	Others  []otherGPU  `json:"other_gpus,omitempty"`
	Engines []engineFit `json:"engines,omitempty"`
	// Running are the engines that run, and Ledger the lines of the pool beside what the GPU holds.
	Running []engineMemory `json:"running,omitempty"`
	Holders []holder       `json:"gpu_processes,omitempty"`
	Ledger  []ledger.Line  `json:"pool,omitempty"`
	// More are ways to more memory, Unknown what could not be computed and why.
	More    []string `json:"more,omitempty"`
	Unknown []string `json:"unknown,omitempty"`

	known spec.Engines
}

// fitModel is a model and its name.
type fitModel struct {
	Name string `json:"name"`
	fit.Model
	// TokenBytes is what a token takes of the KV cache, as in Formula; 0 if that is not known.
	TokenBytes int64  `json:"kv_bytes_per_token,omitempty"`
	Formula    string `json:"kv_formula,omitempty"`
}

// fitGPU is a GPU and the arithmetic from its memory to what one engine can have.
type fitGPU struct {
	Index        int               `json:"gpu"`
	Name         string            `json:"name"`
	Architecture nvml.Architecture `json:"memory_architecture"`
	Steps        []spec.Step       `json:"steps"`

	memory spec.GPUMemory
	can    *collector.Allocatable // nil for a GPU with memory of its own
}

type otherGPU struct {
	Index       int   `json:"gpu"`
	BudgetBytes int64 `json:"for_one_engine_bytes"`
}

// engineFit is what one engine can be given.
type engineFit struct {
	spec.Grant
	// Arguments are what to start it with.
	Arguments []string `json:"arguments,omitempty"`
	// Tokens is what its KV cache holds, and Sequences how many of the model's longest context that are.
	Tokens    *spec.Interval `json:"kv_tokens,omitempty"`
	Sequences *spec.Interval `json:"kv_sequences,omitempty"`
}

// newFitReport computes the report of an explanation.
func newFitReport(x *explanation, model *fitModel, flags fitFlags) (*fitReport, error) {
	r := &fitReport{Schema: fitSchema, Mode: x.Mode, Exporter: x.Exporter, Note: x.Note, Model: model, known: flags.engines}
	for _, e := range x.Engines {
		if e.AskedRatio != nil || e.KVBytes != nil || e.KVTokens != nil || len(e.Kinds) > 0 {
			r.Running = append(r.Running, e)
		}
	}
	all, unknown := fitGPUs(x, flags.reserveGiB)
	r.Unknown = unknown
	if model != nil && model.Unknown != "" {
		r.Unknown = append(r.Unknown, fmt.Sprintf("The KV cache of %s: %s.", model.Name, model.Unknown))
	}
	if flags.gpu >= 0 && !slices.ContainsFunc(x.GPUs, func(g gpuMemory) bool { return g.Index == flags.gpu }) {
		return nil, badInput("--gpu %d: there is none; the machine has %d", flags.gpu, len(x.GPUs))
	}
	for _, g := range all {
		budget := g.memory.Budget()
		switch {
		case flags.gpu >= 0 && g.Index == flags.gpu, flags.gpu < 0 && (r.GPU == nil || budget > r.GPU.memory.Budget()):
			if r.GPU != nil {
				r.Others = append(r.Others, otherGPU{r.GPU.Index, r.GPU.memory.Budget()})
			}
			r.GPU = &g
		default:
			r.Others = append(r.Others, otherGPU{g.Index, budget})
		}
	}
	if r.GPU != nil {
		r.addEngines()
		r.addMore(x)
	}
	if len(r.Running) > 0 && x.Memory != nil {
		r.Holders = x.Memory.Holders
		r.Ledger = slices.DeleteFunc(slices.Clone(x.Memory.Lines), func(line ledger.Line) bool {
			return line.Unknown || line.Bytes < leastPart || line.Name == ledger.GPUProcess || slices.Contains(ledger.FreeNames(), line.Name)
		})
	}
	r.Answer = r.answer(x)
	return r, nil
}

// fitGPUs computes what one engine can have of each GPU, and says why nothing is known of others.
func fitGPUs(x *explanation, reserveGiB float64) (all []fitGPU, unknown []string) {
	if len(x.GPUs) == 0 {
		return nil, []string{"What an engine can have: no GPU was read, see explain."}
	}
	for _, g := range x.GPUs {
		one := fitGPU{Index: g.Index, Name: g.Name, Architecture: g.Architecture}
		why := ""
		switch {
		case g.Partitioned:
			why = "it is partitioned (MIG), and an engine gets the memory of a part"
		case g.Architecture.InPool():
			why = one.fromPool(x.Memory, reserveGiB)
		case g.TotalBytes == nil:
			why = "the driver does not report its memory"
		default:
			one.fromOwn(g, x.Memory, reserveGiB)
		}
		if why != "" {
			unknown = append(unknown, fmt.Sprintf("What an engine can have of GPU %d: %s.", g.Index, why))
			continue
		}
		all = append(all, one)
	}
	return all, unknown
}

// reserve is that of the user, or the default.
func reserve(ofUser float64, otherwise int64) int64 {
	if ofUser >= 0 {
		return int64(ofUser * (1 << 30))
	}
	return otherwise
}

// fromPool takes the figures of a GPU that allocates from the pool. It returns why there are none.
func (g *fitGPU) fromPool(pool *memoryAccount, reserveGiB float64) (why string) {
	if pool == nil {
		return "the memory of the machine could not be read"
	}
	if pool.Allocatable == nil || pool.AvailableBytes == nil {
		return "the kernel does not state free and available memory, or the running exporter is older than this program (--direct)"
	}
	can := *pool.Allocatable
	whyReserve := whyReserved()
	if reserveGiB >= 0 {
		can.Reserve, whyReserve = reserve(reserveGiB, 0), reserveByFlag
	}
	total, available := can.Pool, can.UpTo
	g.can = &can
	g.memory = spec.GPUMemory{
		Total: total, Free: max(0, min(available+can.FreeCMA, can.CUDAFree)), Available: available, Unpinnable: can.FreeCMA, Reserve: can.Reserve,
	}
	g.Steps = []spec.Step{step("total, as CUDA reports it: the pool (MemTotal)", total)}
	g.take(pool.parts(slices.Concat(ledger.FreeNames(), ledger.ReclaimableNames())), total-available-can.FreeCMA)
	if can.FreeCMA > 0 {
		g.Steps = append(g.Steps, step("free in CMA, which a driver cannot pin (CmaFree)", -can.FreeCMA))
	}
	g.Steps = append(g.Steps, grantedSteps(can, whyReserve)...)
	return ""
}

// fromOwn takes the figures of a GPU with memory of its own.
func (g *fitGPU) fromOwn(from gpuMemory, pool *memoryAccount, reserveGiB float64) {
	g.memory = from.own()
	g.memory.Reserve = reserve(reserveGiB, g.memory.Reserve)
	total, free := g.memory.Total, g.memory.Free
	g.Steps = []spec.Step{step("total, as CUDA reports it", total)}
	var held []ledger.Line
	if pool != nil {
		for _, h := range pool.Holders {
			if h.GPU == from.Index && h.Bytes != nil {
				held = ledger.Add(held, h.engineOrName(), float64(*h.Bytes))
			}
		}
	}
	g.take(held, total-free)
	g.Steps = append(g.Steps, step("free, as CUDA reports it", free))
	g.leave(reserveGiB, "8 % of the total, as vLLM 0.32.0 leaves by default")
}

// own is the memory of a GPU that has its own, with the default reserve.
func (g gpuMemory) own() spec.GPUMemory {
	total := int64(*g.TotalBytes)
	free := min(total, int64(*g.FreeBytes))
	return spec.GPUMemory{Total: total, Free: free, Available: free, Reserve: int64(ownReserve * float64(total))}
}

func step(name string, bytes int64) spec.Step {
	return spec.Step{Name: name, Bytes: spec.Exactly(bytes)}
}

// take adds a step for each holder of memory, and one for the rest of the sum.
func (g *fitGPU) take(held []ledger.Line, sum int64) {
	for _, part := range ledger.BySize(held) {
		if bytes := int64(part.Bytes); bytes >= leastPart && bytes <= sum {
			g.Steps = append(g.Steps, step("in use: "+part.Name, -bytes))
			sum -= bytes
		}
	}
	if sum != 0 {
		g.Steps = append(g.Steps, step("in use: the rest", -sum))
	}
}

// leave adds the reserve and the result.
func (g *fitGPU) leave(ofUser float64, why string) {
	if ofUser >= 0 {
		why = reserveByFlag
	}
	g.Steps = append(g.Steps, step("reserve: "+why, -g.memory.Reserve), step("fit grants, for one engine with everything that it allocates", g.memory.Budget()))
}

func (r *fitReport) addEngines() {
	var weights *int64
	if r.Model != nil {
		weights = &r.Model.WeightBytes
	}
	for _, e := range fit.Engines(r.known, r.GPU.memory, weights) {
		one := engineFit{Grant: e}
		if e.KV != nil && e.KV.High == 0 {
			r.Engines = append(r.Engines, one)
			continue
		}
		if e.Flag != "" && e.Hundredths > 0 {
			one.Arguments = []string{e.Flag, inHundredths(e.Hundredths)}
		}
		if r.Model != nil && r.Model.TokenBytes > 0 && r.Model.ContextTokens > 0 && e.KV != nil {
			tokens := r.Model.Tokens(*e.KV, r.Model.ContextTokens)
			one.Tokens, one.Sequences = &tokens, &spec.Interval{Low: tokens.Low / r.Model.ContextTokens, High: tokens.High / r.Model.ContextTokens}
			if e.Slots != nil {
				one.Arguments = e.Slots(tokens.Low, r.Model.ContextTokens)
			}
		}
		r.Engines = append(r.Engines, one)
	}
}

func inHundredths(h int64) string { return fmt.Sprintf("%d.%02d", h/100, h%100) }

// addMore lists what would give an engine more.
func (r *fitReport) addMore(x *explanation) {
	memory := r.GPU.memory
	if hidden := memory.Available + memory.Unpinnable - memory.Free; hidden >= leastPart {
		r.More = append(r.More, fmt.Sprintf("Page cache: CUDA does not count %s GiB of it as free. For an engine that sizes its KV cache by that figure run sync; echo 1 | sudo tee /proc/sys/vm/drop_caches before it starts, and again once it has read the weights.", gib(hidden)))
	}
	if r.GPU.Architecture == nvml.CoherentNUMA {
		r.More = append(r.More, "Page cache can lie in this GPU's memory: sync; echo 1 | sudo tee /proc/sys/vm/drop_caches.")
	}
	if x.Memory == nil {
		return
	}
	if r.GPU.can != nil && x.Memory.Handover != "" {
		r.More = append(r.More, x.Memory.Handover)
	}
	for _, h := range x.Memory.Holders {
		if h.GPU == r.GPU.Index && h.Bytes != nil && *h.Bytes >= leastPart {
			r.More = append(r.More, fmt.Sprintf("End %s (pid %d), %s: it holds %s GiB.", h.name(), h.PID, h.place, gib(*h.Bytes)))
		}
	}
	if r.GPU.Architecture.InPool() {
		for _, line := range x.Memory.Lines {
			if line.Name == ledger.Anon && line.Bytes >= 4*leastPart {
				r.More = append(r.More, fmt.Sprintf("Programs have %s GiB of their own (anonymous): ps -eo rss,pid,comm --sort=-rss lists them.", gib(line.Bytes)))
			}
		}
	}
}

// answer is one sentence: what to type.
func (r *fitReport) answer(x *explanation) string {
	label := ""
	if r.Mode != collector.Live {
		label = strings.ToUpper(string(r.Mode)) + ": "
	}
	if r.GPU == nil {
		return label + "What an engine can be given is not known."
	}
	memory := r.GPU.memory
	have := fmt.Sprintf("%sOne engine can have %s of %s GiB of GPU %d now", label, tenthsOf(memory.Budget()), tenthsOf(memory.Total), r.GPU.Index)
	if memory.Budget() == 0 {
		return fmt.Sprintf("%sNo engine fits on GPU %d now: %s of %s GiB can be allocated, and %s are the reserve.", label, r.GPU.Index, tenthsOf(memory.Available), tenthsOf(memory.Total), tenthsOf(memory.Reserve))
	}
	if r.Model != nil && r.Engines[0].KV.High == 0 {
		return fmt.Sprintf("%s; %s does not fit: its weights have %s GiB.", have, r.Model.Name, tenthsOf(r.Model.WeightBytes))
	}
	var flags []string
	for _, e := range r.Engines {
		if e.Flag != "" && len(e.Arguments) > 0 {
			flags = append(flags, e.Name+" "+strings.Join(e.Arguments, " "))
		}
	}
	text := have + ": " + strings.Join(flags, ", ")
	if r.Model != nil {
		first := r.Engines[0]
		text += fmt.Sprintf("; of that %s takes %s GiB for its weights, and vLLM's KV cache %s", r.Model.Name, tenthsOf(r.Model.WeightBytes), between(*first.KV, tenthsOf))
		if first.Tokens != nil {
			text += ", " + between(*first.Tokens, grouped) + " tokens"
		}
	}
	return text + "."
}

func tenthsOf(bytes int64) string { return ledger.InTenths(bytes).String() }

// between shows an interval, or its one value.
func between(i spec.Interval, show func(int64) string) string {
	low, high := show(i.Low), show(i.High)
	if low == high {
		return low
	}
	return low + " to " + high
}

// grouped shows a number with separators of thousands.
func grouped(n int64) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
