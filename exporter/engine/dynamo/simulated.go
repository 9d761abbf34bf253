package dynamo

// Names on the page in addition, docs/observability/metrics_examples/fe.log of ai-dynamo/dynamo at ce30a764. umascope does not read
// them; its simulated engine serves them, so that its page is as complete as a real one.
const (
	InputTokens  = "dynamo_frontend_input_sequence_tokens"
	OutputLength = "dynamo_frontend_output_sequence_tokens"
	CachedTokens = "dynamo_frontend_cached_tokens"
	FirstToken   = "dynamo_frontend_time_to_first_token_seconds"
	Gap          = "dynamo_frontend_inter_token_latency_seconds"
	Duration     = "dynamo_frontend_request_duration_seconds"
	ModelMaxSeqs = "dynamo_frontend_model_max_num_seqs"
)
