package roofline

import "testing"

// TestVerdictsAtTheirLimits has evidence on both sides of each limit.
func TestVerdictsAtTheirLimits(t *testing.T) {
	v := func(f float64) *float64 { return &f }
	for _, test := range []struct {
		name  string
		e     Evidence
		cause Cause
		want  Certainty
	}{
		{"a few wait", Evidence{Sent: v(10), Waiting: v(0.9)}, Queue, NotSeen},
		{"one waits", Evidence{Sent: v(10), Waiting: v(1)}, Queue, Likely},
		{"a quarter waits", Evidence{Sent: v(10), Waiting: v(2.5)}, Queue, Proven},
		{"no page of the engine", Evidence{Sent: v(10)}, Queue, NotObservable},
		{"prompts cost little", Evidence{PrefillShare: v(0.9), PrefillLost: v(0.09)}, Prefill, NotSeen},
		{"prompts cost time", Evidence{PrefillShare: v(0.3), PrefillLost: v(0.1)}, Prefill, Likely},
		{"prompts cost a quarter", Evidence{PrefillShare: v(0.3), PrefillLost: v(0.25)}, Prefill, Proven},
		{"a prompt is always read", Evidence{PrefillShare: v(0.5), Sent: v(10), Waiting: v(0)}, Prefill, Likely},
		{"a prompt is always read or waits", Evidence{PrefillShare: v(0.5), Sent: v(10), Waiting: v(1)}, Prefill, NotObservable},
		{"a prompt is always read or waits, without a page", Evidence{PrefillShare: v(0.5)}, Prefill, NotObservable},
		{"a prompt is read now and then", Evidence{PrefillShare: v(0.3), Sent: v(10), Waiting: v(0)}, Prefill, NotObservable},
		{"hardly any prompt is read", Evidence{PrefillShare: v(0.09)}, Prefill, NotSeen},
		{"no stream", Evidence{}, Prefill, NotObservable},
		{"warm", Evidence{HeatShare: v(0.009)}, Heat, NotSeen},
		{"hot", Evidence{HeatShare: v(0.01)}, Heat, Likely},
		{"very hot", Evidence{HeatShare: v(0.2)}, Heat, Proven},
		{"no driver", Evidence{}, Heat, NotObservable},
		{"GB10 is capped all the time", Evidence{CapShare: v(1), ClockShare: v(0.7), CapIsNormal: true}, Power, NotSeen},
		{"H200 is capped all the time", Evidence{CapShare: v(1), ClockShare: v(0.7)}, Power, Likely},
		{"capped at a high clock", Evidence{CapShare: v(1), ClockShare: v(0.9)}, Power, NotSeen},
		{"a failed supply", Evidence{CapShare: v(0), FaultShare: v(0.5)}, Power, Proven},
		{"a supply that failed for a moment", Evidence{CapShare: v(0), FaultShare: v(0.06)}, Power, Likely},
		{"a brake", Evidence{BrakeShare: v(0.2)}, Power, Proven},
		{"a full port", Evidence{LinkShare: v(0.9)}, Link, Proven},
		{"errors of RDMA that the engine does not use", Evidence{LinkErrorsPerSecond: v(50)}, Link, NotSeen},
		{"errors of RDMA", Evidence{LinkErrorsPerSecond: v(50), LinkUsed: true}, Link, Likely},
		{"no ports", Evidence{LinkUsed: true}, Link, NotObservable},
		{"late with free CPUs", Evidence{ClientLag: v(3), ClientCPU: v(0.2)}, Client, Likely},
		{"late without CPUs", Evidence{ClientLag: v(3), ClientCPU: v(0.9)}, Client, Proven},
		{"reads late", Evidence{ClientDelay: v(0.3)}, Client, Likely},
		{"on time", Evidence{ClientLag: v(0.1), ClientCPU: v(1)}, Client, NotSeen},
		{"CPUs full, the GPU waits", Evidence{CPUBusy: v(0.96), GPUBusy: v(0.5)}, CPU, Proven},
		{"CPUs full, the GPU does not wait", Evidence{CPUBusy: v(0.96), GPUBusy: v(0.97)}, CPU, Likely},
		{"tasks wait, the GPU too", Evidence{CPUBusy: v(0.3), CPUStalled: v(0.4), GPUBusy: v(0.5)}, CPU, Likely},
		{"tasks wait, the GPU does not", Evidence{CPUBusy: v(0.3), CPUStalled: v(0.4), GPUBusy: v(0.97)}, CPU, NotSeen},
	} {
		for _, finding := range HeldBack(test.e) {
			if finding.Cause == test.cause && (finding.Certainty != test.want || finding.Evidence == "") {
				t.Errorf("%s: %+v, want %s", test.name, finding, test.want)
			}
		}
	}
	if got := HeldBack(Evidence{}); len(got) != len(Causes()) {
		t.Errorf("%d verdicts of %d causes", len(got), len(Causes()))
	}
}
