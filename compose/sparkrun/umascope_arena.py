"""uma-load arena as a benchmark of sparkrun: the framework "umascope".

Cells, schedule and consolidation are those of sparkrun's own llama-benchy, whose JSON uma-load writes. It returns no
CSV: sparkrun uploads a CSV to a board as the figures of llama-benchy, which these are not.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from sparkrun.benchmarking import llama_benchy
from sparkrun.core.benchmark_profiles import BenchmarkError

SPARKRUN_PLUGIN_API_VERSION = 1

PROGRAM = "uma-load"

# Arguments of a profile for llama-benchy, and the flags of uma-load arena with values, or as a switch.
VALUES = {"pp": "--pp", "tg": "--tg", "depth": "--depth", "concurrency": "--concurrency", "runs": "--runs",
          "latency_mode": "--latency", "served_model_name": "--model"}
# Flags of uma-load that llama-benchy has nothing for, once for each value.
REPEATED = {"validity": "--validity", "telemetry": "--telemetry"}
SWITCHES = {"exact_tg": "--exact", "no_warmup": "--warmup=none"}
# What uma-load needs no argument for: it asks the server's own tokenizer, and ships its text.
IGNORED = {"tokenizer", "book_url", "skip_coherence", "adapt_prompt", "no_adapt_prompt", "exit_on_first_fail",
           "base_url", "model", "format", "save_result", "framework_pinned_version"}


class UmaLoadArena(llama_benchy.LlamaBenchyFramework):
    framework_name = "umascope"
    model_argument_is_model_id = False

    def check_prerequisites(self):
        return [] if shutil.which(PROGRAM) else [PROGRAM + " is not on PATH: it comes with the umascope package"]

    def detect_version(self):
        try:
            said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return None
        found = re.search(r"uma-load (\S+)", said.stdout + said.stderr)
        return found and found.group(1)

    def build_benchmark_command(self, target_url, model, args, result_file=None):
        args = {llama_benchy._ARG_ALIASES.get(name, name): value for name, value in args.items()}
        if key := args.pop("api_key", None):
            os.environ["OPENAI_API_KEY"] = key  # never in the list of processes
        command = [PROGRAM, "arena", "--url", target_url, "--model", args.pop("served_model_name", None) or model]
        if args.get("extra_body") == "return_token_ids=false":
            del args["extra_body"]  # set for SGLang, which uma-load knows
        if not args.pop("enable_prefix_caching", False):
            command.append("--no-prefix-caching")
        for name, value in args.items():
            values = value if isinstance(value, list) else [value]
            if name in VALUES:
                command += [VALUES[name], ",".join(str(v) for v in values)]
            elif name in REPEATED:
                command += ["%s=%s" % (REPEATED[name], v) for v in values]
            elif name in SWITCHES:
                command += [SWITCHES[name]] if value else []
            elif name not in IGNORED:
                raise BenchmarkError("uma-load arena has nothing for the argument %r" % name)
        if result_file:
            file = Path(result_file)
            command += ["--out", str(file.with_suffix("")), "--export", "llama-benchy=" + str(file)]
        return command

    def consolidate_per_task_results(self, per_task_jsons):
        merged = super().consolidate_per_task_results(per_task_jsons)
        first = next((one for one in per_task_jsons if isinstance(one, dict)), {})
        return {**{name: first[name] for name in ("version", "prefix_caching_enabled") if name in first}, **merged}

    def parse_results(self, stdout, stderr, result_file=None):
        text = Path(result_file).read_text(encoding="utf-8") if result_file else stdout
        return {"json": json.loads(text), "stdout": stdout}
