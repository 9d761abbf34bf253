package roofline

import (
	"fmt"
	"strings"
)

// Cause is what can hold decoding below the limit of memory.
type Cause string

// The causes.
const (
	Queue   Cause = "queue"     // requests wait, so that fewer decode than were sent
	Prefill Cause = "prefill"   // the engine reads prompts of other requests between steps of decoding
	Heat    Cause = "heat"      // the clock is lowered because the GPU is hot
	Power   Cause = "power cap" // the clock is lowered to hold the power
	Link    Cause = "link"      // the network between machines
	Client  Cause = "client"    // uma-load itself
	CPU     Cause = "CPU"       // the machine of the engine
)

// Causes lists them all, in the order of reports.
func Causes() []Cause { return []Cause{Queue, Prefill, Heat, Power, Link, Client, CPU} }

// Certainty is how sure a cause is.
type Certainty string

// The certainties. NotObservable is a cause whose evidence the run does not have.
const (
	Proven        Certainty = "proven"
	Likely        Certainty = "likely"
	NotSeen       Certainty = "not seen"
	NotObservable Certainty = "not observable"
)

// Finding is the verdict about a cause, with its evidence in words.
type Finding struct {
	Cause     Cause     `json:"cause" pack:"word"`
	Certainty Certainty `json:"certainty" pack:"word"`
	Evidence  string    `json:"evidence" pack:"text"`
}

// Evidence are figures of the measured time of a run. Nil is unknown.
type Evidence struct {
	// Sent is the number of requests in flight, by the client. Running and Waiting are those of the engine, by its own
	// page; means.
	Sent, Running, Waiting *float64
	// PrefillShare is the share of the time of decoding in which prompts of other requests were read, and PrefillLost the
	// share by which tokens took longer then.
	PrefillShare, PrefillLost *float64
	// HeatShare, BrakeShare and CapShare are the shares of the time in which the clock was lowered for heat, by the
	// power supply, and by the driver's power cap.
	HeatShare, BrakeShare, CapShare *float64
	// ClockShare is the clock while the GPU was busy, of its maximum.
	ClockShare *float64
	// FaultShare is the share of samples with the signs of a power-delivery fault of GB10.
	FaultShare *float64
	// CapIsNormal is true for parts that are capped in any load, such as GB10: at 2200 MHz, of 3003, it decodes about 1 %
	// slower (field report).
	CapIsNormal bool
	// GPUBusy is the share of the time in which the GPU did something.
	GPUBusy *float64
	// CPUBusy is the share of all CPUs of the engine's machine, and CPUStalled the share of the time in which some task
	// waited for a CPU (PSI).
	CPUBusy, CPUStalled *float64
	// LinkShare is the traffic of the busiest port in its busier direction, of its speed. LinkErrorsPerSecond are those
	// of RDMA ports, where packets were lost or sent again.
	LinkShare, LinkErrorsPerSecond *float64
	// LinkUsed is true if the engine spans machines: only then can RDMA hold it back.
	LinkUsed bool
	// ClientLag is by how much the client sent requests late, in the mean, and ClientDelay the longest time that answers
	// waited for it, both as a share of the median time of a token; ClientCPU is its share of the CPUs that it may use.
	ClientLag, ClientDelay, ClientCPU *float64
}

// Thresholds of the verdicts. A cause is proven only if its figure alone explains that decoding is slower: most of the
// time, most of the machine.
const (
	queuedShare  = 0.10 // of the requests sent, waiting in the mean: each such share is one of the answers missing
	queuedProven = 0.25
	prefillShare = 0.50 // without a figure of what it cost: most of the time
	lostLikely   = 0.10 // of the time of decoding: as with the queue, each such share is one of the answers missing
	lostProven   = 0.25
	heatLikely   = 0.01 // alerts take it as a warning
	heatProven   = 0.20 // and as figures that are not comparable
	brakeProven  = 0.20
	capLikely    = 0.50
	cappedClock  = 0.85 // of the maximum: a cap that lowers the clock less costs decoding about nothing
	faultLikely  = 0.05
	faultProven  = 0.50
	linkLikely   = 0.60
	linkProven   = 0.90
	linkErrors   = 1.0 // a second
	busyProven   = 0.95
	busyLikely   = 0.85
	stallLikely  = 0.20
	idleGPU      = 0.85 // below it the GPU waits for something
	clientLikely = 0.25
	clientProven = 1.0 // an answer waits for the client as long as for a token
)

// HeldBack judges every cause.
func HeldBack(e Evidence) []Finding {
	return []Finding{e.queue(), e.prefill(), e.heat(), e.power(), e.link(), e.client(), e.cpu()}
}

// graded gives the verdict of a share that is at least one limit or the other.
func graded(cause Cause, value, likely, proven float64, format string, args ...any) Finding {
	certainty := NotSeen
	switch {
	case value >= proven:
		certainty = Proven
	case value >= likely:
		certainty = Likely
	}
	return Finding{cause, certainty, fmt.Sprintf(format, args...)}
}

// unseen is the verdict without evidence.
func unseen(cause Cause, lacks string) Finding { return Finding{cause, NotObservable, lacks} }

func (e Evidence) queue() Finding {
	if e.Waiting == nil || e.Sent == nil || *e.Sent <= 0 {
		return unseen(Queue, "the engine's page has no number of waiting requests")
	}
	return graded(Queue, *e.Waiting / *e.Sent, queuedShare, queuedProven, "%.1f of %.1f requests waited in the engine, in the mean", *e.Waiting, *e.Sent)
}

// prefill is at most likely without undisturbed steps to compare with: then it rests on the time alone, and only where no
// request waits in the engine, since one that waits looks like one whose prompt is read.
func (e Evidence) prefill() Finding {
	if e.PrefillShare == nil {
		return unseen(Prefill, "the arrivals of tokens are not known")
	}
	text := fmt.Sprintf("prompts of other requests were under way in %s of the time of decoding", percent(*e.PrefillShare))
	switch {
	case e.PrefillLost != nil:
		return graded(Prefill, *e.PrefillLost, lostLikely, lostProven, "%s, which cost %s of that time", text, percent(*e.PrefillLost))
	case *e.PrefillShare < lostLikely:
		return Finding{Prefill, NotSeen, text}
	case *e.PrefillShare >= prefillShare && e.queue().Certainty == NotSeen:
		return Finding{Prefill, Likely, text + ", and hardly any token came without one"}
	}
	return unseen(Prefill, text+", and too few tokens came without one to compare with")
}

func (e Evidence) heat() Finding {
	if e.HeatShare == nil {
		return unseen(Heat, "the driver does not count the time of throttling")
	}
	return graded(Heat, *e.HeatShare, heatLikely, heatProven, "the clock was lowered for heat in %s of the time", percent(*e.HeatShare))
}

func (e Evidence) power() Finding {
	if e.CapShare == nil && e.BrakeShare == nil && e.FaultShare == nil {
		return unseen(Power, "the driver does not count the time of throttling")
	}
	if f := value(e.FaultShare); f >= faultLikely {
		return graded(Power, f, faultLikely, faultProven, "busy below 1.4 GHz and 20 W in %s of the samples: the power supply", percent(f))
	}
	if b := value(e.BrakeShare); b >= heatLikely {
		return graded(Power, b, heatLikely, brakeProven, "the power supply braked the GPU in %s of the time", percent(b))
	}
	capped, clock := value(e.CapShare), e.ClockShare
	text := fmt.Sprintf("the power cap was active in %s of the time", percent(capped))
	if e.CapIsNormal {
		text += ", which is normal on this part"
	}
	if clock != nil {
		text += fmt.Sprintf(", at %s of the highest clock", percent(*clock))
	}
	if e.CapIsNormal || capped < capLikely || clock == nil || *clock >= cappedClock {
		return Finding{Power, NotSeen, text}
	}
	return Finding{Power, Likely, text}
}

func (e Evidence) link() Finding {
	if e.LinkShare == nil && e.LinkErrorsPerSecond == nil {
		return unseen(Link, "no traffic of network ports is known")
	}
	var parts []string
	if e.LinkShare != nil {
		parts = append(parts, fmt.Sprintf("the busiest port carried %s of its speed", percent(*e.LinkShare)))
	}
	if e.LinkErrorsPerSecond != nil {
		parts = append(parts, fmt.Sprintf("%.1f packets a second were lost, late or sent again by RDMA", *e.LinkErrorsPerSecond))
	}
	text := strings.Join(parts, ", ")
	switch share := value(e.LinkShare); {
	case share >= linkProven:
		return Finding{Link, Proven, text}
	case share >= linkLikely, e.LinkUsed && value(e.LinkErrorsPerSecond) >= linkErrors:
		return Finding{Link, Likely, text}
	}
	return Finding{Link, NotSeen, text}
}

// client is proven only if the client had no CPU left: one pause of the machine is no client that is too slow.
func (e Evidence) client() Finding {
	if e.ClientLag == nil && e.ClientDelay == nil {
		return unseen(Client, "uma-load did not send the load")
	}
	worst := max(value(e.ClientLag), value(e.ClientDelay))
	text := fmt.Sprintf("uma-load sent late or read late by %s of the time of a token", percent(worst))
	if e.ClientCPU != nil {
		text += fmt.Sprintf(", and kept its CPUs busy for %s", percent(*e.ClientCPU))
	}
	switch {
	case worst >= clientProven && value(e.ClientCPU) >= busyLikely:
		return Finding{Client, Proven, text}
	case worst >= clientLikely:
		return Finding{Client, Likely, text}
	}
	return Finding{Client, NotSeen, text}
}

func (e Evidence) cpu() Finding {
	if e.CPUBusy == nil && e.CPUStalled == nil {
		return unseen(CPU, "the use of CPUs is not known")
	}
	var parts []string
	if e.CPUBusy != nil {
		parts = append(parts, fmt.Sprintf("CPUs were busy for %s", percent(*e.CPUBusy)))
	}
	if e.CPUStalled != nil {
		parts = append(parts, fmt.Sprintf("tasks waited for one in %s of the time", percent(*e.CPUStalled)))
	}
	if e.GPUBusy != nil {
		parts = append(parts, fmt.Sprintf("the GPU was busy for %s", percent(*e.GPUBusy)))
	}
	text := strings.Join(parts, ", ")
	waits := e.GPUBusy != nil && *e.GPUBusy < idleGPU
	switch {
	case value(e.CPUBusy) >= busyProven && waits:
		return Finding{CPU, Proven, text}
	case value(e.CPUBusy) >= busyLikely, value(e.CPUStalled) >= stallLikely && waits:
		return Finding{CPU, Likely, text}
	}
	return Finding{CPU, NotSeen, text}
}

// value is 0 if unknown.
func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// percent formats a share, with a digit after the point below 10 %.
func percent(share float64) string {
	if share < 0.1 {
		return fmt.Sprintf("%.1f %%", share*100)
	}
	return fmt.Sprintf("%.0f %%", share*100)
}
