package loadgen

import "github.com/umascope/umascope/cmd/terminal"

const aboutProgram = "Loads an OpenAI-compatible server, records every chunk of every answer, and reports whether the run is valid. A campaign makes the runs of an experiment; compare shows what differs."

// guide returns the text of --help around the verbs and flags.
func guide() terminal.Guide {
	return terminal.Guide{
		First: []string{
			"uma-load check --url http://127.0.0.1:8000  # which engine serves",
			"uma-load run --url http://127.0.0.1:8000    # measure it",
			"uma-load compare runs --by arm              # runs made with --label arm=...",
		},
		Groups: []terminal.Group{
			{Title: "Measure", Verbs: []string{"check", "run", "sweep", "arena", "record"}},
			{Title: "Experiment", Verbs: []string{"campaign", "arm", "compare"}},
			{Title: "Results", Verbs: []string{"report", "publish", "serve", "runs", "import", "merge"}},
			{Title: "Utilities", Verbs: []string{"hosts", "healthcheck", "completion"}},
		},
		Sections: map[string][]terminal.Section{"run": runSections(), "arena": arenaSections(), "sweep": append([]terminal.Section{{Flag: "over", Title: "Points"}}, runSections()...)},
		Common: map[string][]string{
			"run": commonFlags(), "sweep": append([]string{"over", "search"}, commonFlags()...),
			"arena":        {"url", "model", "profile", "depth", "concurrency", "pp", "tg", "runs", "exact", "prefix-caching", "cool", "dry-run", "resume", "export", "slo", "telemetry", "container", "label", "out"},
			"record":       {"extract", "result", "before", "after", "container", "telemetry", "label", "out"},
			"campaign run": {"out", "only", "iterations", "dry-run", "detach", "retry", "repeat-outliers", "notify-url"},
		},
		Foot: "Exit codes: 0 done; 1 failed while running; 2 bad input or unusable environment; 3 the run finished but is INVALID; 4 --slo was not met, or --fail-on was.",
	}
}

// commonFlags returns the flags of a run that --help shows.
func commonFlags() []string {
	return []string{
		"url", "model", "scenario", "prompts", "input-tokens", "output-tokens", "concurrency", "arrival", "rate",
		"requests", "duration", "slo", "expect", "label", "out",
	}
}

// runSections returns the sections in the order in which runFlags declares the flags.
func runSections() []terminal.Section {
	return []terminal.Section{
		{Flag: "url", Title: "Server"},
		{Flag: "scenario", Title: "Requests"},
		{Flag: "arrival", Title: "Load"},
		{Flag: "rank", Title: "Load from several processes"},
		{Flag: "expect", Title: "What has to hold"},
		{Flag: "label", Title: "What is kept with the run"},
		{Flag: "validity", Title: "Run folder and live page"},
	}
}

// arenaSections returns the sections in the order in which arenaFlags declares the flags.
func arenaSections() []terminal.Section {
	return []terminal.Section{
		{Flag: "url", Title: "Server"},
		{Flag: "profile", Title: "Cells"},
		{Flag: "temperature", Title: "Requests"},
		{Flag: "slo", Title: "What has to hold"},
		{Flag: "label", Title: "What is kept with the runs"},
		{Flag: "validity", Title: "Run folders and live page"},
	}
}

const runHelp = `Measure a server and write a run folder.

  uma-load run --url http://127.0.0.1:8000
  uma-load run --url http://127.0.0.1:8000 --duration 60s --concurrency 8
  uma-load run --url http://127.0.0.1:8000 --label arm=container \
      --arrival poisson --rate 2 --slo ttft=500ms,tpot=50ms
  uma-load run --url http://127.0.0.1:8000 --scenario eviction_replay \
      --expect kv=cpu_disk

By default it sends 64 requests of at most 256 output tokens, one at a time: about four minutes at 70 tokens per second. The folder is below runs/, with report.html. While it lasts, the terminal and http://127.0.0.1:10421/ show it; --progress json prints it. Ctrl-C lets requests in flight end, a second one cuts them off; the folder is complete either way.

Exit codes: 3 if the run is INVALID; 4 if --slo was not met.`
