package enginelog

import (
	"github.com/umascope/umascope/exporter/engine/spec"
)

// Name names a quantity; it ends in its unit.
type Name = spec.Quantity

// The quantities. Those of an engine are those of its first rank.
const (
	PeakBytes                  = spec.PeakBytes
	TorchBytes                 = spec.TorchBytes
	NonTorchBytes              = spec.NonTorchBytes
	WeightsBytes               = spec.WeightsBytes
	ActivationBytes            = spec.ActivationBytes
	GraphBytes                 = spec.GraphBytes
	ComputeBytes               = spec.ComputeBytes
	HostComputeBytes           = spec.HostComputeBytes
	DeviceBytes                = spec.DeviceBytes
	FreeBytes                  = spec.FreeBytes
	KVBytes                    = spec.KVBytes
	KVTokens                   = spec.KVTokens
	KVBlocks                   = spec.KVBlocks
	KVHostBlocks               = spec.KVHostBlocks
	KVBlockTokens              = spec.KVBlockTokens
	TensorRanks                = spec.TensorRanks
	PipelineRanks              = spec.PipelineRanks
	DurationSeconds            = spec.DurationSeconds
	Requests                   = spec.Requests
	FailedRequests             = spec.FailedRequests
	Concurrency                = spec.Concurrency
	InputTokens                = spec.InputTokens
	OutputTokens               = spec.OutputTokens
	InputTokensEach            = spec.InputTokensEach
	OutputTokensEach           = spec.OutputTokensEach
	RequestsPerSecond          = spec.RequestsPerSecond
	InputTokensPerSecond       = spec.InputTokensPerSecond
	OutputTokensPerSecond      = spec.OutputTokensPerSecond
	TotalTokensPerSecond       = spec.TotalTokensPerSecond
	UserTokensPerSecond        = spec.UserTokensPerSecond
	GPUTokensPerSecond         = spec.GPUTokensPerSecond
	PrefillTokensPerSecond     = spec.PrefillTokensPerSecond
	PrefillTokensPerSecondEach = spec.PrefillTokensPerSecondEach
	DecodeTokensPerSecond      = spec.DecodeTokensPerSecond
	PeakTokensPerSecond        = spec.PeakTokensPerSecond
	PeakTokensPerSecondEach    = spec.PeakTokensPerSecondEach
	FirstEventSeconds          = spec.FirstEventSeconds
	PrefillSeconds             = spec.PrefillSeconds
	NetworkSeconds             = spec.NetworkSeconds
	TTFTSeconds                = spec.TTFTSeconds
	TPOTSeconds                = spec.TPOTSeconds
	ITLSeconds                 = spec.ITLSeconds
	E2ESeconds                 = spec.E2ESeconds
)

// Unit is how a value is formatted for people.
type Unit = spec.Unit

// The units.
const (
	Bytes     = spec.UnitBytes
	Seconds   = spec.UnitSeconds
	Count     = spec.UnitCount
	PerSecond = spec.UnitPerSecond
)

// Quantity describes a name.
type Quantity struct {
	Name    Name
	Unit    Unit
	Meaning string
}

// Quantities returns all quantities, in the order of reports.
func Quantities() []Quantity {
	return []Quantity{
		{RequestsPerSecond, PerSecond, "requests per second"},
		{OutputTokensPerSecond, PerSecond, "output tokens per second"},
		{InputTokensPerSecond, PerSecond, "input tokens per second"},
		{TotalTokensPerSecond, PerSecond, "input and output tokens per second"},
		{UserTokensPerSecond, PerSecond, "output tokens per second of a request"},
		{GPUTokensPerSecond, PerSecond, "output tokens per second of a GPU"},
		{PrefillTokensPerSecond, PerSecond, "prompt tokens per second until the first token"},
		{PrefillTokensPerSecondEach, PerSecond, "prompt tokens per second until the first token, of a request"},
		{DecodeTokensPerSecond, PerSecond, "output tokens per second after the first token"},
		{PeakTokensPerSecond, PerSecond, "output tokens in the best second"},
		{PeakTokensPerSecondEach, PerSecond, "output tokens in the best second, of a request"},
		{DurationSeconds, Seconds, "duration of the benchmark"},
		{Requests, Count, "requests that were answered"},
		{FailedRequests, Count, "requests that failed"},
		{Concurrency, Count, "requests at once, mean"},
		{InputTokens, Count, "input tokens"},
		{OutputTokens, Count, "output tokens"},
		{InputTokensEach, Count, "input tokens of a request"},
		{OutputTokensEach, Count, "output tokens of a request"},
		{FirstEventSeconds, Seconds, "time to first event"},
		{PrefillSeconds, Seconds, "time to first event without the network"},
		{NetworkSeconds, Seconds, "latency of the network"},
		{TTFTSeconds, Seconds, "time to first token"},
		{TPOTSeconds, Seconds, "time per output token"},
		{ITLSeconds, Seconds, "inter-token latency"},
		{E2ESeconds, Seconds, "latency of a request"},
		{PeakBytes, Bytes, "peak of memory before the KV cache"},
		{TorchBytes, Bytes, "memory inside torch with the weights loaded"},
		{NonTorchBytes, Bytes, "memory outside torch"},
		{WeightsBytes, Bytes, "weights"},
		{ActivationBytes, Bytes, "peak of activations"},
		{GraphBytes, Bytes, "CUDA graphs"},
		{ComputeBytes, Bytes, "compute buffers on the devices"},
		{HostComputeBytes, Bytes, "compute buffers in host memory"},
		{DeviceBytes, Bytes, "memory of the device"},
		{FreeBytes, Bytes, "free memory when the KV cache was sized"},
		{KVBytes, Bytes, "KV cache"},
		{KVTokens, Count, "tokens that the KV cache holds"},
		{KVBlocks, Count, "blocks of the KV cache on the device"},
		{KVHostBlocks, Count, "blocks of the KV cache in host memory"},
		{KVBlockTokens, Count, "tokens of a block"},
		{TensorRanks, Count, "tensor parallel ranks"},
		{PipelineRanks, Count, "pipeline parallel ranks"},
	}
}

// Value is a figure as its tool reports it, in base units.
type Value = spec.Reported

// NewValue makes a value of a listed quantity.
func NewValue(name Name, statistic string, value float64) Value {
	v := Value{Name: name, Statistic: statistic, Value: value}
	for _, q := range Quantities() {
		if q.Name == name {
			v.Unit, v.Meaning = q.Unit, q.Meaning
		}
	}
	return v
}
