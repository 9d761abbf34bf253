package demo

import (
	"fmt"

	"github.com/umascope/umascope/cmd/terminal"
)

const about = `Shows what umascope finds on a DGX Spark, without one: six are simulated, with their engines. Exporter, load generator, campaigns, comparisons, uma-view and its alert rules are the real ones. No GPU, no Docker, nothing installed, nothing left running.`

// guide is the part of --help around commands and flags.
func guide() terminal.Guide {
	return terminal.Guide{
		First: []string{
			"uma-demo          # about a minute; writes uma-demo/report.html",
			"uma-demo --serve  # keeps uma-view open over it",
			"uma-demo --quick  # less of everything, in about 20 seconds",
		},
		Groups: []terminal.Group{
			{Title: "Once", Verbs: []string{commandShow}},
			{Title: "For dashboards and alerts", Verbs: []string{commandSimulate, commandHealthcheck}},
		},
		Default: []string{"out", "quick", "serve", "web.listen-address", "web.allow-host", "seed"},
		Foot:    "Exit codes: 0 done; 1 interrupted, or something could not be made; 2 bad input, or a folder that cannot be written to.",
	}
}

func aboutShow() string {
	return `The demo, which is what is done without a verb.

  uma-demo
  uma-demo --serve
  uma-demo --quick --out /tmp/umascope-demo
  uma-demo show --seed 7

Three campaigns of the same two arms, native and container, which differ in order and page cache only; a replay whose KV blocks come back from the drive; the same with an engine that gives back wrong blocks; and a room that gets too hot.

` + aboutScale() + ` --quick serves a model of 8 GiB.

--serve is uma-view over what the demo makes, from its first second on: dashboards, alerts, runs and saved comparisons, with an engine in use on every machine once the report is written.

All files of a start lie in a folder of its own below --out, where report.html links the pages of the newest start.

Exit codes: 0 done; 1 interrupted, or something could not be made; 2 bad input, or a folder that cannot be written to.`
}

// aboutScale says which figures are those of a Spark and which are not.
func aboutScale() string {
	return fmt.Sprintf("Memory sizes and powers are those of a Spark, and time is that of the wall clock. Latencies and load times are not: compare them with each other only. "+
		"Divided by %d are the durations in the alert rules and the time that the machine takes to get hot.", timeFactor)
}

const aboutArm = "Have a running demo begin an arm on one of its machines, and end it when this ends: what the plans of the demo start."

const aboutSimulate = `Keep a simulated DGX Spark with an engine in use.

  uma-demo simulate
  uma-demo simulate --runs /tmp/simulated-runs --every 5m

It is for dashboards and alerts without a GPU. Everything that it serves says that it is simulated.

Arms native and container take turns in an order that time cannot explain, and so do the scenarios standard and eviction_replay. After half a cycle of eight runs the arms are compared. The first cycle in an empty folder has no pauses, the ones after it a run every --every.

After the first run, and then about every 15 minutes, something goes wrong on purpose: a container is killed at its limit, memory runs out, the room gets hot; in turn. Nothing is measured while it does.

A run of your own against the engine shares it with the turn in progress, if there is one. The next turn and the next event wait until the engine has had no other request for 10 seconds.

On SIGTERM the run in flight ends with a complete folder, within some 8 seconds. Started again it goes on where it was.`

const aboutHealthcheck = `Ask a running simulation whether it is alive.

  uma-demo healthcheck
  uma-demo healthcheck --url http://127.0.0.1:10420/-/healthy

Exit codes: 0 if it is and its runs come about, 1 if not.`
