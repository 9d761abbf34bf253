package publish

// manifestRules are the rules of manifest.json.
func manifestRules() rules {
	r := rules{
		"schema": texts, "run": runName, "scenario": texts, "labels.*": labels, "state": texts, "started_at": moments, "ended_at": moments,
		"program.version": version, "program.revision": texts, "program.go": texts,
		"flags.*": flags, "seed": figures,
		"git.commit": sums, "git.modified": figures,
		"captures": figures, "captures.name": texts, "captures.when": texts,
		"pages.source": named(KindHost), "pages.url": urls,
		"telemetry": figures, "telemetry.sources.name": named(KindHost), "telemetry.sources.missing_borders": texts,
		"imported.format": texts, "imported.file": texts, "imported.sha256": sums, "imported.key": texts, "imported.at": moments,
		"imported.start_celsius": figures, "imported.max_celsius": figures, "imported.end_celsius": figures, "imported.end_known": figures,
	}
	return r.with(engineReportedRules().below("imported"), shareRules().below("rank"), ranksRules(), workloadRules(), serverRules(), clientRules().below("client"),
		machineRules(), judgingRules(), storageRules(), containerRules(), commandRules(), campaignRules(), provenanceRules())
}

func shareRules() rules {
	return rules{
		"rank": figures, "world": figures, "source": texts, "of": runName, "start_at": moments, "clock": figures,
	}
}

func ranksRules() rules {
	parts := rules{
		"run": runName, "state": texts, "started_at": moments, "ended_at": moments, "shift_ns": figures,
		"program.version": version, "program.revision": texts, "program.go": texts,
		"labels.*": labels, "flags.*": flags, "telemetry_sources": named(KindHost),
	}.with(shareRules(), clientRules().below("client"))
	return rules{"ranks": figures, "ranks.start_at": moments}.with(parts.below("ranks.parts"))
}

func clientRules() rules {
	return rules{
		"hostname": named(KindHost), "boot_id": named(KindBoot), "kernel": texts, "arch": texts, "cores": figures,
		"time_zone":    leftOut, // it shows where the user lives
		"cpu_governor": texts, "power_profile": texts, "cpu_ratio": figures, "stalls": figures, "clock_step_seconds": figures, "programs": figures, "programs.program": texts,
	}
}

func workloadRules() rules {
	return rules{
		"sha256":   sums,
		"sampling": figures, "sampling.endpoint": texts, "sampling.template": sums, "sampling.stop": {text: func(c *cleaner, _, v string) string { return c.anything(v) }},
		"sampling.extra": foreign, "sampling.cache_salt": named(KindValue),
		"phases": figures, "phases.name": texts, "phases.process.arrival": texts,
		"phases.process.trace.format": texts, "phases.process.trace.sha256": sums,
		"concurrency": figures,
		"script":      figures, "script.scenario": texts, "script.file.format": texts, "script.file.sha256": sums,
		"script.conversation_sampling": texts, "script.sets.phases": texts, "script.sets.prompts": texts, "script.arena.corpus_sha256": sums,
		"pressure": texts, "output_tokens": figures, "input_lengths": texts, "token_scale": figures, "token_scale.basis": texts,
		"prompt_key": sums, "repeat_of": runName,
	}.below("workload")
}

func serverRules() rules {
	fingerprint := rules{
		"": figures, "endpoint": texts, "loaded_from": texts, "answer_sha256": sums, "weights.config_sha256": sums, "missing": texts,
	}
	r := rules{
		"url": urls, "found_by": urls, "model": texts, "owned_by": texts, "simulated": figures, "max_tokens": figures, "engine": texts, "engine_detected": figures,
		"latency_probe_s": figures, "latency_probe_mode": texts,
		"version": version, "settings.*": {text: (*cleaner).engineSetting}, "answered_as": texts, "system_fingerprints": texts,
		"engine_clues.engine": texts, "engine_clues.says": texts, "fields.accepted": texts, "fields.refused.field": texts, "fields.refused.says": withheld, "fields.unknown": texts,
		"prefix_cache_reset": figures, "prefix_cache_reset.path": texts, "prefix_cache_reset.says": withheld,
	}
	r.with(fingerprint.below("fingerprint_start"), fingerprint.below("fingerprint_end"))
	return r.below("server").with(r.below("replicas"))
}

// engineSetting cleans a setting of an engine, by its own names.
func (c *cleaner) engineSetting(name, value string) string {
	if secretName.MatchString(name) {
		return gone
	}
	return c.text(value)
}

func machineRules() rules {
	return rules{
		"source": named(KindHost), "url": urls, "mode": texts, "host.*": series, "gpus.*": series,
		"gpu_limits": figures, "gpu_limits.uuid": named(KindUUID), "drives.*": series,
	}.below("machines")
}

func judgingRules() rules {
	return rules{
		"streaming": figures, "unmeasured_phases": texts, "telemetry_requested": figures, "slo": texts, "validity": texts, "client": figures,
		"model": figures, "model.fingerprint": sums, "model.mismatch": texts, "model.changed": texts, "model.dropped": texts, "model.prompt_limit": texts,
		"kv_mode": figures, "kv_mode.mismatch": texts, "checks": figures, "checks.failed": texts, "stopped": texts, "warnings": texts,
		"prefix_reuse": figures, "prefix_reuse.repeats": texts,
		"part_warnings": texts, "complete": figures, "depth_tokens": figures,
	}.with(signalRules().below("evidence"), engineReportedRules(), toolReportedRules()).below("judging")
}

// signalRules are the rules of evidence grades; engineReportedRules and toolReportedRules those of the reports of an
// engine and a tool. A manifest has these members, and so does the summary computed from it.
func signalRules() rules {
	return rules{"*": figures, "*.grade": texts, "*.reason": texts, "*.witnesses.name": texts, "*.witnesses.unit": texts,
		"*.missing_witnesses.name": texts, "*.missing_witnesses.reason": texts, "worth": figures, "worth.break_even": figures, "worth.break_even.outcome": texts}
}

func engineReportedRules() rules {
	return rules{"engine_reported": figures, "engine_reported.source": texts}
}

func toolReportedRules() rules {
	r := rules{"": figures, "program": texts, "extractor": texts, "version": version, "file": texts}
	for _, name := range []string{"name", "unit", "meaning", "statistic", "of", "from", "text"} {
		r["values."+name] = texts
	}
	return r.below("tool_reported")
}

func storageRules() rules {
	return rules{
		"of": texts, "path": named(KindPath), "source": {text: (*cleaner).mounted}, "file_system": texts, "options": {text: (*cleaner).mountOption},
		"total_bytes": figures, "free_bytes": figures, "missing": texts,
		"drives.device": texts, "drives.model": texts, "drives.firmware": texts, "drives.link_speed": texts, "drives.link_width": texts,
	}.below("storage")
}

func containerRules() rules {
	return rules{
		"name": named(KindContainer), "tool": texts, "id": named(KindContainer), "image": images, "image_id": sums, "digests": digests, "image_layers": figures,
		"started_at": moments, "host_config": settings, "log_error": texts,
	}.below("container")
}

func commandRules() rules {
	return rules{
		"program": texts, "options": texts, "arguments": figures, "extractor": texts, "version": version, "exit_code": figures, "signal": texts,
		"cut": texts, "borders.phase": texts, "borders.from": texts, "borders.text": withheld,
	}.below("command")
}

func campaignRules() rules {
	return rules{
		"name": texts, "plan_sha256": sums, "slot": figures, "attempt": figures, "model": texts, "arm": texts, "scenario": texts,
		"iteration": figures, "round": figures, "repeats_round": figures, "n_raised_from": figures, "boot_id": named(KindBoot), "engine_kept": figures,
		"gates": figures, "gates.name": texts, "gates.state": texts, "gates.unit": texts, "gates.detail": texts,
		"placement": texts, "cgroup": named(KindCgroup), "locked_clock_hertz": figures, "page_cache": figures, "page_cache.policy": texts, "page_cache.problem": texts,
		"checks": figures, "checks.name": texts, "checks.when": texts, "checks.unit": texts, "checks.problem": texts,
		"collected": figures, "collected.name": texts, "collected.file": texts, "collected.sha256": sums, "collected.problem": texts, "collected.output": withheld,
		"files.path": named(KindPath), "files.sha256": sums,
		"processes.name": texts, "processes.program": texts, "processes.options": texts,
		"processes.container": named(KindContainer), "processes.host": named(KindHost), "problems": texts,
	}.below("campaign")
}

// provenanceRules keep names, hashes and the values of listed options, which are all its contents.
func provenanceRules() rules {
	hashed := rules{"program": texts, "name": texts, "values": texts, "hashes": sums}
	r := rules{"key": sums, "missing": texts}.with(hashed.below("files"), hashed.below("plan"))
	process := rules{"name": texts, "read_from": texts, "program": texts, "image": sums, "changed_files": figures, "changed_files.hash": sums}
	process.with(hashed.below("options"), hashed.below("environment"), hashed.below("inherited"))
	r.with(process.below("processes"))
	return r.below("provenance").with(rules{"docker": version, "containerd": version, "runc": version, "nvidia_container_toolkit": version}.below("container_software"))
}

// summaryRules are the rules of summary.json.
func summaryRules() rules {
	r := rules{
		"made.started_at": moments, "made.time_zone": leftOut, "made.program.version": version, "made.program.revision": texts, "made.program.go": texts,
		"made.engine": texts, "made.engine_version": version, "made.prefix_cache_reset": figures,
		"schema": texts, "run": runName, "scenario": texts, "labels.*": labels,
		"model.id": texts, "model.fingerprint": sums, "model.simulated": figures, "workload_sha256": sums, "boot_id": named(KindBoot),
		"valid": figures, "invalid_reasons.code": texts, "invalid_reasons.detail": texts, "warnings": texts, "checked": texts,
		"requests": figures, "throughput": figures, "latency": figures, "servers": figures, "servers.url": urls, "tokens": figures, "tokens.input_lengths": texts,
		"prefix_cache": figures, "prefix_cache.source": texts, "speculation": figures,
		"goodput": figures, "goodput.slo": texts, "client": figures, "client.arrivals": texts, "steady_state": figures, "backlog": figures, "phases": figures, "phases.*.work.source": named(KindHost), "phases.*.work.mode": texts,
		"decode": figures, "decode.limit_unknown": texts, "decode.part": texts,
		"decode.held_back.cause": texts, "decode.held_back.certainty": texts, "decode.held_back.evidence": texts,
		"machines.source": named(KindHost), "machines.mode": texts, "machines.driver_log_lines": figures,
		"machines.network": figures, "machines.network.source": named(KindHost), "machines.network.mode": texts,
		"machines.network.ports.device": texts, "machines.network.ports.port": texts,
		"together": figures, "together.hosts": named(KindHost),
	}
	return r.with(toolReportedRules(), signalRules().below("signals"), readingRules(), readingRules().below("machines"))
}

func readingRules() rules {
	r := rules{"kv": figures, "kv.source": urls, "growth": figures, "growth.quantity": texts, "growth.verdict": texts, "growth.reason": texts}.with(engineReportedRules().below("memory"))
	for _, of := range []string{"memory", "thermal", "energy", "work"} {
		r[of], r[of+".source"], r[of+".mode"] = figures, named(KindHost), texts
	}
	return r
}

// phasesRules are the rules of phases.json.
func phasesRules() rules {
	return rules{"schema": texts, "phases": figures, "phases.name": texts}
}

// telemetryRules are the rules of a line of telemetry.jsonl.gz.
func telemetryRules() rules {
	return rules{
		"schema": texts, "interval_ns": figures, "series_per_source": figures,
		"sources": figures, "sources.name": named(KindHost), "sources.url": urls,
		"series": figures, "series.name": texts, "series.labels.*": series, "sample": figures,
		"gap": figures, "gap.reason": texts, "phase": figures, "phase.name": texts, "dropped": figures, "dropped.name": texts, "end": figures,
	}
}
