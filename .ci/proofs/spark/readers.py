"""Reads files of cells by the code of llama-benchy and sparkrun.

    readers.py read NAME                 NAME.json is accepted by both, which make NAME.csv and NAME.md of it
    readers.py same FILE OTHER           both are the same but for the version
    readers.py near FILE OTHER           their figures differ by 1 %, those of a peak by 3 %
    readers.py cells FILE DEPTH:C...     the cells that a file has
"""

import contextlib
import io
import json
import pathlib
import sys
import tempfile

from llama_benchy.results import BenchmarkMetadata, BenchmarkReport, BenchmarkResults
from sparkrun.benchmarking.llama_benchy import LlamaBenchyFramework, _build_table_rows, json_to_csv


def text(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


def load(path):
    return json.loads(text(path))


def written(report, kind):
    """What llama-benchy writes of a report."""
    results = BenchmarkResults()
    results.runs, results.model_name = report.benchmarks, report.model
    results.metadata = BenchmarkMetadata(**report.model_dump(exclude={"benchmarks"}))
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        file = pathlib.Path(folder) / "result"
        results.save_report(str(file), kind, report.max_concurrency)
        return file.read_bytes().decode().rstrip("\n")


def read(name):
    report = BenchmarkReport.model_validate_json(text(name + ".json"))
    for kind in ("json", "md", "csv"):
        ours = pathlib.Path(f"{name}.{kind}").read_bytes().decode().rstrip("\n")
        assert written(report, kind) == ours, f"{kind}:\n{written(report, kind)}\nis not\n{ours}"
    framework = LlamaBenchyFramework()
    parsed = framework.parse_results("", "", result_file=name + ".json")
    assert parsed["json"] == load(name + ".json") and not framework.measured_nothing(parsed)
    assert parsed["csv"].splitlines() == text(name + ".csv").splitlines()
    merged = framework.consolidate_per_task_results([parsed["json"], parsed["json"]])
    assert len(merged["benchmarks"]) == 2 * len(report.benchmarks) and json_to_csv(merged)
    rows = _build_table_rows(parsed["json"])
    assert rows and all(None not in row for row in rows), rows
    print(rows)


def same(file, other):
    theirs, ours = load(file), load(other)
    version = ours.pop("version")
    assert version.startswith("umascope ") and version.endswith("; figures of llama-benchy " + theirs.pop("version")), version
    assert theirs == ours, "they differ"


def near(file, other):
    def by_cell(path):
        return {(b["context_size"], b["concurrency"], b["is_context_prefill_phase"]): b for b in load(path)["benchmarks"]}

    theirs, ours = by_cell(file), by_cell(other)
    assert theirs.keys() == ours.keys()
    for cell, figures in theirs.items():
        for name, figure in figures.items():
            if isinstance(figure, dict):
                limit = 0.03 if name.startswith("peak") else 0.01
                off = abs(ours[cell][name]["mean"] / figure["mean"] - 1)
                assert off <= limit, f"{cell} {name}: {off:.4f}"


def cells(file, *want):
    got = {f"{b['context_size']}:{b['concurrency']}" for b in load(file)["benchmarks"]}
    assert got == set(want), got
    assert load(file)["version"].startswith("umascope ")


{"read": read, "same": same, "near": near, "cells": cells}[sys.argv[1]](*sys.argv[2:])
