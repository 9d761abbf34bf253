package enginelog

// servingReport returns the figures of the table that ends vLLM's `bench serve` (vllm/benchmarks/serve.py), SGLang's
// bench_serving and bench_offline_throughput, all of one origin, in milliseconds and tokens:
//
//	============ Serving Benchmark Result ============
//	Output token throughput (tok/s):         172.32
//	P99 TTFT (ms):                           4210.07
func servingReport() []figure {
	figures := []figure{
		{of: Requests, after: []string{"Successful requests:"}, factor: one},
		{of: FailedRequests, after: []string{"Failed requests:"}, factor: one},
		{of: DurationSeconds, after: []string{"Benchmark duration (s):"}, factor: one},
		{of: InputTokens, after: []string{"Total input tokens:"}, factor: one},
		{of: OutputTokens, after: []string{"Total generated tokens:"}, factor: one},
		{of: RequestsPerSecond, after: []string{"Request throughput (req/s):"}, factor: one},
		{of: InputTokensPerSecond, after: []string{"Input token throughput (tok/s):"}, factor: one},
		{of: OutputTokensPerSecond, after: []string{"Output token throughput (tok/s):"}, factor: one},
		{of: TotalTokensPerSecond, after: []string{"Total token throughput (tok/s):"}, factor: one},
		{of: TotalTokensPerSecond, after: []string{"Total Token throughput (tok/s):"}, factor: one}, // vLLM before 0.11
		{of: Concurrency, after: []string{"Concurrency:"}, factor: one},
	}
	statistics := []struct{ label, statistic string }{
		{"Mean ", mean}, {"Median ", "p50"}, {"P25 ", "p25"}, {"P50 ", "p50"}, {"P75 ", "p75"}, {"P90 ", "p90"}, {"P95 ", "p95"}, {"P99 ", "p99"},
	}
	for _, row := range []struct {
		of    Name
		label string
	}{{TTFTSeconds, "TTFT (ms):"}, {TPOTSeconds, "TPOT (ms):"}, {ITLSeconds, "ITL (ms):"}, {E2ESeconds, "E2EL (ms):"}, {E2ESeconds, "E2E Latency (ms):"}} {
		for _, s := range statistics {
			figures = append(figures, figure{of: row.of, statistic: s.statistic, after: []string{s.label + row.label}, factor: milliseconds})
		}
	}
	return figures
}
