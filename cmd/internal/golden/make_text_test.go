package golden

// vllmLog is what an engine wrote when it started.
const vllmLog = `(EngineCore pid=1878) INFO 07-09 21:27:35 [core.py:114] Initializing a V1 LLM engine (v0.24.0) with config: model='m', speculative_config=None
(EngineCore pid=1878) INFO 07-09 21:28:26 [gpu_model_runner.py:5255] Model loading took 14.37 GiB memory and 13.381314 seconds
(EngineCore pid=1878) INFO 07-09 21:29:50 [gpu_model_runner.py:6588] Estimated CUDA graph memory: 0.63 GiB total
(EngineCore pid=1878) INFO 07-09 21:29:51 [gpu_worker.py:508] Available KV cache memory: 11.92 GiB
(EngineCore pid=1878) INFO 07-09 21:29:51 [kv_cache_utils.py:2146] GPU KV cache size: 223,152 tokens
(EngineCore pid=1878) INFO 07-09 21:30:13 [gpu_model_runner.py:7331] Graph capturing finished in 22 secs, took 0.65 GiB
`

// trtllmScript prints a log of trtllm-bench with pauses where it loads, warms up and measures.
const trtllmScript = `
log() { sed -n "/$1/,/$2/p" trtllm.log; }
log 'TensorRT-LLM version: 1' 'Setting PyTorch memory'
sleep 0.7
log 'Setting up for warmup' 'Stopping LLM backend'
sleep 0.7
log 'Warmup done' 'Starting benchmark\.\.\.' | tail -n 3
sleep 0.7
sed -n '/count=3000/,$p' trtllm.log
sleep 0.1
`

// genaiScript prints a log of genai-bench and writes its file of results.
const genaiScript = `
mkdir -p result
cat genai-bench.log
sleep 1
cp genai-bench.json result/D100_100_text-to-text_concurrency_1.json
echo
`

// campaignPlan compares two arms whose processes are engines, one of which is slower. BINARY, ADDRESS and the like are
// put in when it is made.
const campaignPlan = `schema: umascope.plan/1
name: campaign
models: [{name: simulated-8b}]
arms:
  - name: quick
    labels: {kv: "off"}
    processes:
      - {name: engine, argv: [BINARY], env: {VARIABLE: "ADDRESS", VARIABLE_ARM: quick}, ready: {url: "http://ADDRESS/v1/models", every: 50ms, consecutive: 1, timeout: 30s}, stop: {timeout: 5s}}
  - name: slow
    labels: {kv: "off"}
    processes:
      - {name: engine, argv: [BINARY], env: {VARIABLE: "ADDRESS", VARIABLE_ARM: slow}, ready: {url: "http://ADDRESS/v1/models", every: 50ms, consecutive: 1, timeout: 30s}, stop: {timeout: 5s}}
scenarios:
  - name: short
    run: {requests: 12, concurrency: 2, warmup: 2, input-tokens: 40, output-tokens: 6, ignore-eos: true, slo: "ttft=500ms"}
flags:
  url: http://ADDRESS
  label: [host=HOST]
  grace: 1s
  telemetry-interval: 200ms
  validity: [client_lag=100ms, client_stall=off, stream_buffered=off, telemetry_lost=25%]
telemetry: ["HOST=SAMPLED"]
iterations: 3
order: abba
gates: {off: [cooldown, gpu_celsius, cpu_ratio, mem_free_within]}
page_cache: {policy: keep}
checks:
  - {name: clock, unit: GHz, argv: [echo, "2.5"], number: '([0-9.]+)\s*$', min: 1}
collect:
  - {name: packages, argv: [echo, "torch==2.9.0"]}
on_invalid: {repeat: 0, then: skip, stop_after: 6}
`

// unservedPlan has an engine that ends before it serves.
const unservedPlan = `schema: umascope.plan/1
name: unserved
models: [{name: simulated-8b}]
arms:
  - name: broken
    processes:
      - {name: engine, argv: ["false"], ready: {url: "http://ADDRESS/v1/models", every: 50ms, consecutive: 1, timeout: 5s}}
scenarios:
  - name: short
    run: {requests: 4, input-tokens: 40, output-tokens: 6}
flags:
  url: http://ADDRESS
  label: [host=HOST]
  telemetry-interval: 200ms
telemetry: ["HOST=SAMPLED"]
iterations: 1
gates: {off: [cooldown, gpu_celsius, cpu_ratio, mem_free_within]}
page_cache: {policy: keep}
on_invalid: {repeat: 0, then: skip}
`
