package summary

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/roofline"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Decode is how fast the server decoded, what memory allows, and what held it back.
type Decode struct {
	// TokensPerSecond are of all sequences that decoded at a time, Concurrency their mean number, and Context the tokens
	// of each in the middle of its answer.
	TokensPerSecond float64 `json:"tokens_per_second"`
	Concurrency     float64 `json:"concurrency"`
	Context         float64 `json:"context_tokens"`
	// Limit is absent where LimitUnknown says why. Part is the GPU that it is of, at that bandwidth.
	Limit          *roofline.Limit `json:"limit,omitempty"`
	Share          *roofline.Range `json:"share_of_limit,omitempty"`
	LimitUnknown   string          `json:"limit_unknown,omitempty" pack:"text"`
	Part           string          `json:"part,omitempty" pack:"word"`
	BytesPerSecond float64         `json:"memory_bytes_per_second,omitempty"`
	// Model is what a step reads, as far as it is known.
	Model *roofline.Model `json:"model,omitempty"`
	// Prefill is absent where the arrivals of tokens are not known.
	Prefill *Prefill `json:"prefill,omitempty"`
	// HeldBack has a verdict on each cause; absent without telemetry of the engine's machine.
	HeldBack []roofline.Finding `json:"held_back,omitempty"`
}

// decode is nil where the engine's machine was not measured, and where no answer came in parts: then the time of a token
// is not known.
func (s Summary) decode(in inputs, phases phaseAggregates, host *reading, machines []*reading) *Decode {
	d := s.decoded()
	if d == nil || host == nil || !host.Live() {
		return nil
	}
	if s.Model.Simulated {
		d.LimitUnknown = "the engine is simulated"
		return d
	}
	if in.several() {
		d.LimitUnknown = severalLimit
		return d
	}
	d.Prefill = phases.prefill()
	d.HeldBack = roofline.HeldBack(host.heldBack(in, *d, s, machines))
	d.Part, d.BytesPerSecond = host.part()
	d.limitBy(in.step(), s.KV)
	d.explain(in.Engine)
	return d
}

// explain replaces the reason for an unknown limit where the engine's log has the size of the weights. The log does not
// show whether some of them are experts. A step reads only a part of the experts.
func (d *Decode) explain(e *rundir.EngineReport) {
	known := d.Model != nil && (d.Model.WeightsBytes > 0 || d.Model.Experts > 0)
	if d.Limit == nil && e != nil && e.Weights != nil && !known && d.BytesPerSecond > 0 {
		d.LimitUnknown = fmt.Sprintf("%v: the engine loaded %.2f GiB of weights, and the part that a step reads is not known without the model's config.json (report --model-file)", roofline.ErrUnknown, *e.Weights/(1<<30))
	}
}

// step returns what a decode step reads: by the files of weights, or where the folder has none that are known as such,
// by the engine's log. Files in formats that are not known give a model without a size.
func (in inputs) step() *roofline.Model {
	e := in.Engine
	if in.Step != nil && (in.Step.WeightsBytes > 0 || in.Step.Experts > 0) || in.Shape == nil || e == nil || e.Weights == nil {
		return in.Step
	}
	return new(in.Shape.Model(*e.Weights, 0))
}

// severalLimit is why a load on several servers has no limit of memory.
const severalLimit = "several servers shared the load, and each has a limit of its own"

// decoded computes the rate: of sequences that decode, each gives a token in the time of a token. A sequence is taken to
// decode between its first token and its end.
func (s Summary) decoded() *Decode {
	if s.Latency == nil || s.Latency.TPOT == nil || s.Latency.TTFT == nil || s.Latency.E2E == nil || s.Throughput.DurationSeconds == nil {
		return nil
	}
	perToken, first, whole := meanOf(s.Latency.TPOT.Send), meanOf(s.Latency.TTFT.Send), meanOf(s.Latency.E2E.Send)
	input, output := meanOf(s.Tokens.Input), meanOf(s.Tokens.Output)
	if perToken == nil || *perToken <= 0 || first == nil || whole == nil || input == nil || output == nil || *s.Throughput.DurationSeconds <= 0 {
		return nil
	}
	together := max(1, (*whole-*first)*float64(s.Latency.E2E.Send.N) / *s.Throughput.DurationSeconds)
	return &Decode{TokensPerSecond: together / *perToken, Concurrency: together, Context: *input + *output/2}
}

func meanOf(d *Distribution) *float64 {
	if d == nil {
		return nil
	}
	return d.Mean
}

// limitBy computes the limit with a model, and the capacity of the engine's KV cache for the bytes of a token.
func (d *Decode) limitBy(of *roofline.Model, kv *KV) {
	var model roofline.Model
	if of != nil {
		model = *of
	}
	if kv != nil && kv.CapacityBytes != nil && kv.CapacityTokens != nil && *kv.CapacityTokens > 0 {
		model.KVBytesPerToken = *kv.CapacityBytes / *kv.CapacityTokens
	}
	limit, err := roofline.Decode(model, roofline.Load{Concurrency: d.Concurrency, Context: d.Context}, d.BytesPerSecond)
	if model != (roofline.Model{}) {
		d.Model = &model
	}
	d.Limit, d.Share, d.LimitUnknown = nil, nil, ""
	d.limitWithout(model)
	if err != nil {
		d.LimitUnknown = err.Error()
		return
	}
	d.Limit, d.Share = &limit, new(limit.Share(d.TokensPerSecond))
}

// limitWithout computes the share of decoding while no prompt is read, by the limit of as many sequences.
func (d *Decode) limitWithout(model roofline.Model) {
	if d.Prefill == nil || d.Prefill.Without == nil {
		return
	}
	prefill, without := *d.Prefill, *d.Prefill.Without
	without.Share = nil
	if limit, err := roofline.Decode(model, roofline.Load{Concurrency: without.Concurrency, Context: d.Context}, d.BytesPerSecond); err == nil {
		without.Share = new(limit.Share(without.TokensPerSecond))
	}
	prefill.Without = &without
	d.Prefill = &prefill
}

// WithLimit returns the summary with a limit by this model and bandwidth; nil and 0 leave what the run has of them.
func (s Summary) WithLimit(model *roofline.Model, bytesPerSecond float64) Summary {
	if s.Decode == nil {
		s.Decode = s.decoded()
	}
	if s.Decode == nil {
		return s
	}
	d := *s.Decode
	if len(s.Servers) > 1 {
		d.LimitUnknown = severalLimit
		s.Decode = &d
		return s
	}
	if bytesPerSecond > 0 {
		d.Part, d.BytesPerSecond = "", bytesPerSecond
	}
	if model == nil {
		model = d.Model
	}
	d.limitBy(model, s.KV)
	if s.Memory != nil {
		d.explain(s.Memory.EngineReported)
	}
	s.Decode = &d
	return s
}

// part finds the GPU of the machine, if it is known and the only kind.
func (r *reading) part() (name string, bytesPerSecond float64) {
	for _, info := range r.source.Find(metric.GPUInfo) {
		part, known := metric.FindGPUPart(info.Labels[string(metric.LabelName)])
		if !known || name != "" && part.Name != name {
			return "", 0
		}
		name, bytesPerSecond = part.Name, part.BytesPerSecond
	}
	return name, bytesPerSecond
}

// heldBack reads the evidence of the causes.
func (r *reading) heldBack(in inputs, d Decode, s Summary, machines []*reading) roofline.Evidence {
	e := roofline.Evidence{Sent: s.inFlight(), CapIsNormal: r.gb10}
	if d.Prefill != nil {
		e.PrefillShare, e.PrefillLost = &d.Prefill.Share, d.Prefill.Lost
	}
	e.Waiting, e.Running = r.meanState(metric.RequestsWaiting), r.meanState(metric.RequestsRunning)
	share := func(reasons ...string) *float64 {
		var most *float64
		for _, reason := range reasons {
			if spent, known := r.throttle[reason]; known && r.windowSeconds > 0 {
				keepIf(&most, spent/r.windowSeconds, 1)
			}
		}
		return most
	}
	e.HeatShare = share(metric.ReasonHWThermal, metric.ReasonSWThermal)
	e.BrakeShare, e.CapShare = share(metric.ReasonHWPowerBrake), share(metric.ReasonSWPowerCap)
	if r.powerSamples > 0 {
		e.FaultShare = new(float64(r.powerFaults) / float64(r.powerSamples))
	}
	e.ClockShare, e.GPUBusy = r.clockShare(), r.meanLargest(metric.GPUUtilizationRatio)
	e.CPUBusy, e.CPUStalled = r.cpuBusy(), r.cpuStalled()
	e.LinkShare, e.LinkErrorsPerSecond = r.linkShare(), r.linkErrors()
	e.LinkUsed = len(machines) > 1 || r.Network != nil && r.Network.rdma() > 0
	token := d.Concurrency / d.TokensPerSecond
	if lag := meanOf(s.Latency.ClientLag); lag != nil {
		e.ClientLag = new(*lag / token)
	}
	if s.Client != nil && s.Requests != nil {
		// One late arrival is no slow client: a tenth of the requests must have one.
		e.ClientDelay = new(0.0)
		if ok := s.Latency.E2E.Send.N; s.Client.DelayedRequests*10 >= ok {
			e.ClientDelay = new(s.Client.LongestDelaySeconds / token)
		}
	}
	if in.Client.Watched {
		e.ClientCPU = new(in.Client.CPURatio)
	}
	return e
}

// inFlight is the mean number of requests that were sent and had not ended.
func (s Summary) inFlight() *float64 {
	whole := meanOf(s.Latency.E2E.Send)
	if whole == nil {
		return nil
	}
	return new(*whole * float64(s.Latency.E2E.Send.N) / *s.Throughput.DurationSeconds)
}

// mean is the mean over the samples of the measured time at which a figure is known.
func (r *reading) mean(at func(ns int64) (float64, bool)) *float64 {
	sum, n := 0.0, 0
	r.over(func(ns int64) {
		if v, known := at(ns); known {
			sum, n = sum+v, n+1
		}
	})
	if n == 0 {
		return nil
	}
	return new(sum / float64(n))
}

func (r *reading) meanLargest(family metric.Definer) *float64 {
	return r.mean(func(ns int64) (float64, bool) { return r.largest(family, ns) })
}

// meanState is the mean number of requests in a state, of all engines together. An engine in front of others is left out: it
// counts a request as queued until its first token, while its prompt is read too, and those of its workers twice.
func (r *reading) meanState(state string) *float64 {
	frontends := map[string]bool{}
	for _, info := range r.source.Find(metric.EngineInfo) {
		if known, is := r.log.Engines.Find(info.Labels[string(metric.LabelEngine)]); is && known.Metrics.Around != nil {
			frontends[info.Labels[string(metric.LabelSource)]] = true
		}
	}
	return r.mean(func(ns int64) (total float64, found bool) {
		for _, series := range r.source.Find(metric.EngineRequests) {
			if frontends[series.Labels[string(metric.LabelSource)]] || series.Labels[string(metric.LabelState)] != state {
				continue
			}
			if v, known := series.At(ns); known {
				total, found = total+v, true
			}
		}
		return total, found
	})
}

// clockShare is the clock of a busy GPU, of its maximum.
func (r *reading) clockShare() *float64 {
	return r.mean(func(ns int64) (float64, bool) {
		busy, a := r.largest(metric.GPUUtilizationRatio, ns)
		clock, b := r.largest(metric.GPUSMClockHertz, ns)
		most, c := r.largest(metric.GPUSMClockMaxHertz, ns)
		return clock / most, a && b && c && busy > faultUtilization && most > 0
	})
}

// grownTotal is the growth of those series of a family that are asked for, without recording resets: no validity rests
// on them.
func (r *reading) grownTotal(family metric.Definer, of func(*telemetry.Series) bool) (total float64, known bool) {
	if r.still() || !r.whole {
		return 0, false
	}
	for _, series := range r.source.Find(family) {
		if grown, reset, ok := r.grown(series); of(series) && ok && !reset {
			total, known = total+grown, true
		}
	}
	return total, known
}

func (r *reading) cpuBusy() *float64 {
	idle, _ := r.grownTotal(metric.CPUSecondsTotal, func(s *telemetry.Series) bool {
		mode := s.Labels[string(metric.LabelMode)]
		return mode == "idle" || mode == "iowait"
	})
	all, known := r.grownTotal(metric.CPUSecondsTotal, every)
	if !known || all <= 0 {
		return nil
	}
	return new(1 - idle/all)
}

func (r *reading) cpuStalled() *float64 {
	waited, known := r.grownTotal(metric.PressureWaitingSecondsTotal, func(s *telemetry.Series) bool {
		return s.Labels[string(metric.LabelResource)] == "cpu"
	})
	if !known || r.windowSeconds <= 0 {
		return nil
	}
	return new(waited / r.windowSeconds)
}

// linkShare is the traffic of the busiest port in its busier direction, of its speed.
func (r *reading) linkShare() *float64 {
	if r.windowSeconds <= 0 {
		return nil
	}
	var most *float64
	for _, of := range []struct{ bytes, speed metric.Definer }{
		{metric.NetworkReceiveBytesTotal, metric.NetworkSpeedBytesPerSecond}, {metric.NetworkTransmitBytesTotal, metric.NetworkSpeedBytesPerSecond},
		{metric.InfiniBandPortDataReceivedBytesTotal, metric.InfiniBandPortRateBytesPerSecond},
		{metric.InfiniBandPortDataTransmittedBytesTotal, metric.InfiniBandPortRateBytesPerSecond},
	} {
		for _, speed := range r.source.Find(of.speed) {
			port := func(s *telemetry.Series) bool {
				return s.Labels[string(metric.LabelDevice)] == speed.Labels[string(metric.LabelDevice)] &&
					s.Labels[string(metric.LabelPort)] == speed.Labels[string(metric.LabelPort)]
			}
			bytes, known := r.grownTotal(of.bytes, port)
			mean := r.mean(speed.At)
			if known && mean != nil && *mean > 0 {
				keepIf(&most, bytes/r.windowSeconds / *mean, 1)
			}
		}
	}
	return most
}

func (r *reading) linkErrors() *float64 {
	count, known := r.grownTotal(metric.InfiniBandPortErrorsTotal, func(s *telemetry.Series) bool {
		return !strings.HasPrefix(s.Labels[string(metric.LabelKind)], "symbol")
	})
	if !known || r.windowSeconds <= 0 {
		return nil
	}
	return new(count / r.windowSeconds)
}
