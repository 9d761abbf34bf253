package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// This program does not install clients in Python: it takes them from the interpreter of -python, each if it is
// installed.

// aiperf sends by several processes; it keeps the server's request ID only if it has chosen it.
func aiperf() client {
	return client{
		name: "AIPerf", many: true,
		command: func(l *lab, url, folder string, w load) ([]string, error) {
			command := []string{
				l.python, "-m", "aiperf", "profile", "-m", model, "--url", url, "--endpoint-type", "chat", "--streaming",
				"--tokenizer", l.tokenizer, "--request-count", strconv.Itoa(w.requests),
				"--isl", "8", "--osl", strconv.Itoa(w.tokens), "--artifact-dir", folder,
				"--ui", "none", "--no-gpu-telemetry", "--no-server-metrics",
			}
			if w.warmup > 0 {
				command = append(command, "--warmup-request-count", strconv.Itoa(w.warmup))
			}
			if w.arrival == "closed" {
				return append(command, "--concurrency", strconv.Itoa(w.streams)), nil
			}
			return append(command, "--request-rate", number(w.rate), "--arrival-pattern", w.arrival), nil
		},
		report: readAIPerf,
	}
}

// readAIPerf reads profile_export.jsonl, a request a line:
//
//	{"metadata":{"x_request_id":"6add95ab","benchmark_phase":"profiling"},"metrics":{"time_to_first_token":
//	{"value":116.15,"unit":"ms"},"inter_chunk_latency":{"value":[49.1,48.0],"unit":"ms"}}}
func readAIPerf(folder string) ([]stream, error) {
	file, err := os.Open(filepath.Join(folder, "profile_export.jsonl"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	type line struct {
		Metadata struct {
			RequestID string `json:"x_request_id"`
			Phase     string `json:"benchmark_phase"`
		} `json:"metadata"`
		Metrics struct {
			TTFT struct {
				Value float64 `json:"value"`
			} `json:"time_to_first_token"`
			Gaps struct {
				Value []float64 `json:"value"`
			} `json:"inter_chunk_latency"`
		} `json:"metrics"`
	}
	lines, err := decodeLines[line](file)
	if err != nil {
		return nil, err
	}
	var streams []stream
	for _, one := range lines {
		if one.Metadata.Phase == "profiling" {
			streams = append(streams, stream{ID: one.Metadata.RequestID, TTFTMS: one.Metrics.TTFT.Value, GapsMS: one.Metrics.Gaps.Value})
		}
	}
	return streams, nil
}

func guidellm() client {
	return client{
		name: "GuideLLM", many: true, mean: true,
		command: func(l *lab, url, folder string, w load) ([]string, error) {
			profile := "kind=" + w.arrival + ",rate=" + number(w.rate)
			if w.arrival == "closed" {
				profile = "kind=concurrent,streams=" + strconv.Itoa(w.streams)
			}
			return []string{
				l.python, "-m", "guidellm", "run", "--backend", "kind=openai_http,target=" + url + ",model=" + model,
				"--profile", profile, "--constraint", "kind=max_requests,count=" + strconv.Itoa(w.requests),
				"--tokenizer", "kind=hf_auto,model=" + l.tokenizer,
				"--data", "kind=synthetic_text,prompt_tokens=8,output_tokens=" + strconv.Itoa(w.tokens),
				"--output", "kind=json,path=" + filepath.Join(folder, "report.json"), "--disable-console",
			}, nil
		},
		report: readGuideLLM,
	}
}

// readGuideLLM reads report.json:
//
//	{"benchmarks":[{"requests":{"successful":[{"time_to_first_token_ms":102.0,"inter_token_latency_ms":50.0}]}}]}
func readGuideLLM(folder string) ([]stream, error) {
	var report struct {
		Benchmarks []struct {
			Requests struct {
				Successful []struct {
					TTFT float64 `json:"time_to_first_token_ms"`
					Gap  float64 `json:"inter_token_latency_ms"`
				} `json:"successful"`
			} `json:"requests"`
		} `json:"benchmarks"`
	}
	if err := readJSON(filepath.Join(folder, "report.json"), &report); err != nil {
		return nil, err
	}
	var streams []stream
	for _, b := range report.Benchmarks {
		for _, r := range b.Requests.Successful {
			streams = append(streams, stream{TTFTMS: r.TTFT, GapMS: r.Gap})
		}
	}
	return streams, nil
}

// vllmServe is "vllm bench serve", without the command line of the engine around it.
func vllmServe() client {
	const script = "import argparse, vllm.benchmarks.serve as s; p = argparse.ArgumentParser(); s.add_cli_args(p); s.main(p.parse_args())"
	return client{
		name: "vllm bench serve",
		command: func(l *lab, url, folder string, w load) ([]string, error) {
			command := []string{
				l.python, "-c", script, "--backend", "openai-chat", "--base-url", url, "--endpoint", "/v1/chat/completions",
				"--model", model, "--tokenizer", l.tokenizer, "--dataset-name", "random", "--random-input-len", "8",
				"--random-output-len", strconv.Itoa(w.tokens), "--num-prompts", strconv.Itoa(w.requests), "--ignore-eos",
				"--save-result", "--save-detailed", "--result-filename", filepath.Join(folder, "result.json"),
			}
			if w.arrival == "closed" {
				return append(command, "--max-concurrency", strconv.Itoa(w.streams)), nil
			}
			// Gamma arrivals of a large shape are constant ones.
			return append(command, "--request-rate", number(w.rate), "--burstiness", "1e9"), nil
		},
		report: readVLLMServe,
	}
}

// readVLLMServe reads result.json, in seconds: {"ttfts":[0.10],"itls":[[0.05,0.05]]}.
func readVLLMServe(folder string) ([]stream, error) {
	var result struct {
		TTFTs []float64   `json:"ttfts"`
		ITLs  [][]float64 `json:"itls"`
	}
	if err := readJSON(filepath.Join(folder, "result.json"), &result); err != nil {
		return nil, err
	}
	if len(result.TTFTs) != len(result.ITLs) {
		return nil, fmt.Errorf("%d first tokens, %d lists of gaps", len(result.TTFTs), len(result.ITLs))
	}
	streams := make([]stream, len(result.TTFTs))
	for i, ttft := range result.TTFTs {
		streams[i].TTFTMS = ttft * 1e3
		for _, gap := range result.ITLs[i] {
			streams[i].GapsMS = append(streams[i].GapsMS, gap*1e3)
		}
	}
	return streams, nil
}

const (
	multiTurnName = "vLLM multi-turn"
	// mostProcesses limits its processes to a number that a machine can be expected to run.
	mostProcesses = 64
)

// vllmMultiTurn is benchmark_serving_multi_turn.py, a process for each stream, and closed loops only.
func vllmMultiTurn() client {
	return client{
		name: multiTurnName, many: true, mean: true,
		command: func(l *lab, url, folder string, w load) ([]string, error) {
			input := filepath.Join(folder, "conversations.json")
			if err := writeConversations(input, w); err != nil {
				return nil, err
			}
			streams, tokens := strconv.Itoa(w.streams), strconv.Itoa(w.tokens)
			return []string{
				l.python, l.multiTurn, "-i", input, "-m", l.tokenizer, "--served-model-name", model, "-u", url,
				"-p", streams, "-k", streams, "--no-early-stop", "--limit-min-tokens", tokens, "--limit-max-tokens", tokens,
				"--stats-json-output", filepath.Join(folder, "stats.json"),
			}, nil
		},
		report: readMultiTurn,
	}
}

// writeConversations writes conversations of one question each.
func writeConversations(path string, w load) error {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	type conversation struct {
		ID       string    `json:"id"`
		Messages []message `json:"messages"`
	}
	all := make([]conversation, w.requests)
	for i := range all {
		all[i] = conversation{strconv.Itoa(i), []message{{"user", "token " + strconv.Itoa(i)}, {"assistant", strings.Repeat("token ", w.tokens)}}}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// readMultiTurn reads stats.json: [{"ttft_ms":110.1,"tpot_ms":49.9}].
func readMultiTurn(folder string) ([]stream, error) {
	var requests []struct {
		TTFT float64 `json:"ttft_ms"`
		TPOT float64 `json:"tpot_ms"`
	}
	if err := readJSON(filepath.Join(folder, "stats.json"), &requests); err != nil {
		return nil, err
	}
	streams := make([]stream, len(requests))
	for i, r := range requests {
		streams[i] = stream{TTFTMS: r.TTFT, GapMS: r.TPOT}
	}
	return streams, nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// versionOf is a Python package's, empty if it is not there.
func versionOf(ctx context.Context, python, name string) string {
	out, err := exec.CommandContext(ctx, python, "-c", "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))", name).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// inPython lists the clients that the interpreter has.
func (l *lab) inPython(ctx context.Context) []client {
	if l.python == "" || l.tokenizer == "" {
		return nil
	}
	var found []client
	for _, c := range []struct {
		name   string
		client client
	}{{"aiperf", aiperf()}, {"guidellm", guidellm()}, {"vllm", vllmServe()}} {
		if versionOf(ctx, l.python, c.name) != "" {
			found = append(found, c.client)
		}
	}
	if l.multiTurn != "" {
		found = append(found, vllmMultiTurn())
	}
	return found
}
