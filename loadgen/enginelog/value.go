package enginelog

import (
	"github.com/umascope/umascope/exporter/engine/spec"
)

// Quantity describes a name.
type Quantity struct {
	Name    spec.Quantity
	Unit    spec.Unit
	Meaning string
}

// Quantities returns all quantities, in the order of reports.
func Quantities() []Quantity {
	return []Quantity{
		{spec.RequestsPerSecond, spec.UnitPerSecond, "requests per second"},
		{spec.OutputTokensPerSecond, spec.UnitPerSecond, "output tokens per second"},
		{spec.InputTokensPerSecond, spec.UnitPerSecond, "input tokens per second"},
		{spec.TotalTokensPerSecond, spec.UnitPerSecond, "input and output tokens per second"},
		{spec.UserTokensPerSecond, spec.UnitPerSecond, "output tokens per second of a request"},
		{spec.GPUTokensPerSecond, spec.UnitPerSecond, "output tokens per second of a GPU"},
		{spec.PrefillTokensPerSecond, spec.UnitPerSecond, "prompt tokens per second until the first token"},
		{spec.PrefillTokensPerSecondEach, spec.UnitPerSecond, "prompt tokens per second until the first token, of a request"},
		{spec.DecodeTokensPerSecond, spec.UnitPerSecond, "output tokens per second after the first token"},
		{spec.PeakTokensPerSecond, spec.UnitPerSecond, "output tokens in the best second"},
		{spec.PeakTokensPerSecondEach, spec.UnitPerSecond, "output tokens in the best second, of a request"},
		{spec.DurationSeconds, spec.UnitSeconds, "duration of the benchmark"},
		{spec.Requests, spec.UnitCount, "requests that were answered"},
		{spec.FailedRequests, spec.UnitCount, "requests that failed"},
		{spec.Concurrency, spec.UnitCount, "requests at once, mean"},
		{spec.InputTokens, spec.UnitCount, "input tokens"},
		{spec.OutputTokens, spec.UnitCount, "output tokens"},
		{spec.InputTokensEach, spec.UnitCount, "input tokens of a request"},
		{spec.OutputTokensEach, spec.UnitCount, "output tokens of a request"},
		{spec.FirstEventSeconds, spec.UnitSeconds, "time to first event"},
		{spec.PrefillSeconds, spec.UnitSeconds, "time to first event without the network"},
		{spec.NetworkSeconds, spec.UnitSeconds, "latency of the network"},
		{spec.TTFTSeconds, spec.UnitSeconds, "time to first token"},
		{spec.TPOTSeconds, spec.UnitSeconds, "time per output token"},
		{spec.ITLSeconds, spec.UnitSeconds, "inter-token latency"},
		{spec.E2ESeconds, spec.UnitSeconds, "latency of a request"},
		{spec.PeakBytes, spec.UnitBytes, "peak of memory before the KV cache"},
		{spec.TorchBytes, spec.UnitBytes, "memory inside torch with the weights loaded"},
		{spec.NonTorchBytes, spec.UnitBytes, "memory outside torch"},
		{spec.WeightsBytes, spec.UnitBytes, "weights"},
		{spec.ActivationBytes, spec.UnitBytes, "peak of activations"},
		{spec.GraphBytes, spec.UnitBytes, "CUDA graphs"},
		{spec.ComputeBytes, spec.UnitBytes, "compute buffers on the devices"},
		{spec.HostComputeBytes, spec.UnitBytes, "compute buffers in host memory"},
		{spec.DeviceBytes, spec.UnitBytes, "memory of the device"},
		{spec.FreeBytes, spec.UnitBytes, "free memory when the KV cache was sized"},
		{spec.KVBytes, spec.UnitBytes, "KV cache"},
		{spec.KVTokens, spec.UnitCount, "tokens that the KV cache holds"},
		{spec.KVBlocks, spec.UnitCount, "blocks of the KV cache on the device"},
		{spec.KVHostBlocks, spec.UnitCount, "blocks of the KV cache in host memory"},
		{spec.KVBlockTokens, spec.UnitCount, "tokens of a block"},
		{spec.TensorRanks, spec.UnitCount, "tensor parallel ranks"},
		{spec.PipelineRanks, spec.UnitCount, "pipeline parallel ranks"},
	}
}

// NewValue makes a value of a listed quantity.
func NewValue(name spec.Quantity, statistic string, value float64) spec.Reported {
	v := spec.Reported{Name: name, Statistic: statistic, Value: value}
	for _, q := range Quantities() {
		if q.Name == name {
			v.Unit, v.Meaning = q.Unit, q.Meaning
		}
	}
	return v
}
