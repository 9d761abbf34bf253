package campaign

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

const (
	// stallFactor is how many times the usual duration a run may take before a notice is sent.
	stallFactor = 3
	// stallLeast is the shortest time after which a run counts as stalled. stallUnknown applies if no comparable run
	// was measured.
	stallLeast   = 30 * time.Minute
	stallUnknown = 6 * time.Hour
)

// patience returns how long a run of a slot may take before it counts as stalled, by the runs of the same scenario.
func (p *progress) patience(s plan.Slot) time.Duration {
	alike := func(m measured) bool { return m.scenario == s.Scenario }
	if mean, known := p.mean(alike); known {
		return max(stallFactor*p.withRest(mean), stallLeast)
	}
	return stallUnknown
}

// watch sends one notice if a run takes much longer than comparable runs. It ends when the returned function is
// called.
func (r *Invocation) watch(a *attempt) (settled func()) {
	most := r.known.patience(a.slot)
	message := r.message("stall", fmt.Sprintf("stalled: %s runs for more than %s", a.slot, most.Round(time.Minute)))
	watching, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if sleep(watching, most) == nil {
			r.c.Log.Warn(message.Text)
			r.send(watching, message)
		}
	}()
	return func() { stop(); <-done }
}

// message returns a message of this campaign.
func (r *Invocation) message(event, text string) Message {
	host, _ := os.Hostname() // the message is sent without it too
	return Message{Campaign: r.c.Plan.Name, Event: event, Text: r.secrets.Text(text), Host: host, Slots: len(r.slots)}
}

// send sends a notice, and logs a failure to send it.
func (r *Invocation) send(ctx context.Context, m Message) {
	if err := r.c.Notify.Tell(ctx, m); err != nil {
		r.c.Log.Warn("no notice could be sent", "why", err)
	}
}

// tell sends the notice that the invocation has ended.
func (r *Invocation) tell(o Outcome) Outcome {
	m := r.message("end", o.String())
	if o.State != Complete {
		m.Event = "stop"
	}
	if o.State == Ended {
		m.Event = "invalid"
	}
	m.State, m.Counts = o.State, o.Counts
	r.send(context.Background(), m)
	return o
}

// String describes the result of an invocation in one line.
func (o Outcome) String() string {
	text := string(o.State)
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return fmt.Sprintf("%s; of %d slots %s", text, o.Slots, o.Tally())
}

// Tally counts the slots that have ended, such as 3 finished, 1 invalid.
func (o Outcome) Tally() string {
	var counts []string
	for _, s := range []Status{Finished, Invalid, Failed, Skipped} {
		if n := o.Counts[s]; n > 0 || s == Finished {
			counts = append(counts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(counts, ", ")
}

// Sound reports whether every selected slot has a valid run, or an arm that is optional.
func (o Outcome) Sound() bool { return o.Counts[Finished]+o.Counts[Skipped] == o.Slots }
