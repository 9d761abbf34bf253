package exporter

import (
	"strings"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/fit"
)

const about = "Shows where the memory of a unified-memory machine went, GPU memory that no container is charged for included, as Prometheus metrics and as text. Without a verb it serves; what is not supported is absent, never zero."

// guide is the part of --help other than commands and flags.
func guide() terminal.Guide {
	return terminal.Guide{
		First: []string{
			"uma-exporter explain  # what occupies the memory, and what can be allocated",
			"uma-exporter fit      # which memory fraction an engine can be given",
			"uma-exporter doctor   # what cannot be read here, and how to fix it",
			"uma-exporter          # serve http://127.0.0.1:10420/metrics",
		},
		Groups: []terminal.Group{
			{Title: "Look", Verbs: []string{"explain", "fit", "doctor"}},
			{Title: "Serve", Verbs: []string{"serve", "secure", "healthcheck"}},
			{Title: "Utilities", Verbs: []string{"record", "completion"}},
		},
		Sections: map[string][]terminal.Section{
			"serve": append(hostSections(),
				terminal.Section{Flag: "collector.host", Title: "Collectors, all on"},
				terminal.Section{Flag: "nvml.record", Title: "Server"}),
			"explain": append([]terminal.Section{{Flag: "watch", Title: "Explanation"}}, hostSections()...),
			"fit":     append([]terminal.Section{{Flag: "model", Title: "Model and memory"}, {Flag: "json", Title: "Output"}}, hostSections()...),
			"doctor":  append([]terminal.Section{{Flag: "url", Title: "Running exporter"}}, hostSections()...),
		},
		Default: []string{"web.listen-address", "engine.url", "kvbm.url", "kvbm.bytes-per-block", "once"},
		Foot:    "Exit codes: 0 done; 1 failed while running; 2 bad input or unusable environment.",
	}
}

// hostSections follow the order in which defineHost declares the flags.
func hostSections() []terminal.Section {
	return []terminal.Section{
		{Flag: "path.procfs", Title: "Machine"},
		{Flag: "nvml.replay", Title: "GPUs"},
		{Flag: "cgroup.include", Title: "Containers, processes, engines and drives"},
	}
}

const serveHelp = `Serve the metrics over HTTP.

  uma-exporter
  uma-exporter --once | grep memory_pool
  uma-exporter --engine.url=http://172.18.0.3:8000/metrics
  uma-exporter serve --web.listen-address=:10420 --no-collector.nvme

It is what the program does without a verb. It finds the engines of this machine; --engine.url names others, as in a container without a published port. It listens on loopback unless told otherwise, because the page names processes and containers.`

const explainHelp = `Print where the memory is, and who holds it.

  uma-exporter explain
  uma-exporter explain --watch
  uma-exporter explain --json
  uma-exporter explain --url=http://spark-2:10420
  uma-exporter explain --memory.cache-path=/var/lib/models
  sudo uma-exporter explain --last-boot

How much is occupied, by what, what CUDA reports as free, what can be allocated if page cache is given up, and what fit grants; then the ledger of the pool, who holds GPU memory, and how these figures come about.

A running exporter is asked first, because it may read what you may not; its page /explain.json has the same. --last-boot is about the past: how the previous boot ended, and its last minute, from the ring that serve --recorder keeps. Containers have their names if you may use Docker's socket (DOCKER_HOST).`

// fitHelp names the engines that fit knows.
func fitHelp(engines spec.Engines) string {
	var titles []string
	for _, e := range fit.Sizing(engines) {
		titles = append(titles, e.Title)
	}
	last := len(titles) - 1
	return `Print which memory fraction an engine can be given now.

  uma-exporter fit
  uma-exporter fit --model=/srv/models/Qwen2.5-7B
  uma-exporter fit --model=model.gguf --kv-cache-dtype=q8_0
  uma-exporter fit --json
  uma-exporter fit --url=http://spark-2:10420

For ` + strings.Join(titles[:last], ", ") + " and " + titles[last] + `, each by the meaning of its own flag: the fraction to type, the arithmetic line by line, and what would give more. With a model also its weights, by their files, and the tokens of its KV cache, as a range. With an engine that runs, what it was told to take and what it has.

A running exporter is asked first, as by explain.`
}

const doctorHelp = `Print what cannot be read here, and how to fix it.

  uma-exporter doctor
  uma-exporter doctor --engine.url=http://172.18.0.3:8000/metrics

For each collector: what it lacks, what you lose, and the command that fixes it. It changes nothing.

  uma-exporter doctor --link-listen=:10424   # on spark-2
  uma-exporter doctor --link=spark-2         # here

--link measures the path to another machine by TCP, 1 stream and 8, of 5 seconds each, and explains why it is slow: route, MTU, PCIe, traffic shaping, lost packets. Without a listener there it shows what can be seen from here.

  uma-exporter doctor --memory-bandwidth     # before an engine is started

--memory-bandwidth copies within 256 MiB of the GPU's memory for a second, and prints the figure for uma-load report --memory-bandwidth. It refuses while a process holds GPU memory.

This is about the user who types it. A running exporter has rights of its own: it is asked, and what it cannot read is printed at the end.`

const secureHelp = `Make what a page needs for TLS and a password.

  uma-exporter secure --name spark-1 /etc/umascope/secure
  uma-exporter --web.listen-address=:10420 \
      --web.config.file=/etc/umascope/secure/web.yml

A folder with a certificate, its key and a password: one file for who serves, one for who reads. What it prints says which is which.`

const recordHelp = `Record this machine in one masked text file.

  uma-exporter record host.txtar
  uma-exporter record --description="Spark, vLLM under load" host.txtar

  uma-exporter explain --replay=host.txtar
  uma-exporter --replay=host.txtar

Kernel files by an allow-list, and every driver call; serial numbers, addresses and names are replaced. Read it before you give it away.
--replay of serve, explain and doctor reads a recording instead of this machine, in mode replay.`

const healthcheckHelp = `Ask a running exporter whether it answers.

  uma-exporter healthcheck
  uma-exporter healthcheck --url=http://127.0.0.1:10421/-/healthy

Exit codes: 0 if it does, 1 if not.`

const completionHelp = `Print a completion script for a shell.

  uma-exporter completion bash
  uma-exporter completion zsh > ~/.zfunc/_uma-exporter`
