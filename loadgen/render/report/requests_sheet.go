package report

import (
	"errors"
	"iter"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// column is one column of the table of requests; an absent value is an empty cell.
type column struct {
	name string
	of   func(openai.Record) any
}

// requestColumns returns the columns of the table of requests. The first twelve are those of the sheet "Raw data" that
// vLLM's multi-turn script writes (benchmarks/multi_turn), under its names and in its milliseconds, so that programs
// for one can read the other; the values follow the definitions of uma-load. There is one intended difference: the
// cached share is the server's count, not an estimate.
func requestColumns(streamed bool) []column {
	return append([]column{
		{"ttft_ms", onlyIf(streamed, func(r openai.Record) any { return milliseconds(r.TTFT(openai.FromSend)) })},
		{"tpot_ms", onlyIf(streamed, func(r openai.Record) any { return milliseconds(r.TPOT()) })},
		{"latency_ms", func(r openai.Record) any { return milliseconds(r.E2E(openai.FromSend)) }},
		{"start_time_ms", func(r openai.Record) any { return offset(r.DispatchNS) }},
		{"input_num_turns", func(r openai.Record) any { return nonzero(r.Turn) }},
		{"input_num_tokens", func(r openai.Record) any { return r.TokensIn }},
		{"output_num_tokens", func(r openai.Record) any { return r.TokensOut }},
		{"output_num_chunks", func(r openai.Record) any { return len(r.ArrivalsNS) }},
		{"output_num_first_chunk_tokens", func(r openai.Record) any { return firstChunkTokens(r) }},
		{"approx_cached_percent", func(r openai.Record) any { return cachedPercent(r) }},
		{"conversation_id", func(r openai.Record) any { return r.Conversation }},
		{"client_id", func(r openai.Record) any { return r.Session }},
	}, ownColumns(streamed)...)
}

func ownColumns(streamed bool) []column {
	return []column{
		{"run", func(r openai.Record) any { return r.Run }},
		{"phase", func(r openai.Record) any { return r.Phase }},
		{"index", func(r openai.Record) any { return r.Index }},
		{"status", func(r openai.Record) any { return string(r.Status) }},
		{"http_status", func(r openai.Record) any { return nonzero(r.HTTPStatus) }},
		{"error", func(r openai.Record) any { return r.Error }},
		{"finish_reason", func(r openai.Record) any { return r.FinishReason }},
		{"intended_ms", func(r openai.Record) any { return offset(&r.IntendedNS) }},
		{"end_ms", func(r openai.Record) any { return offset(r.EndNS) }},
		{"ttft_from_intended_ms", onlyIf(streamed, func(r openai.Record) any { return milliseconds(r.TTFT(openai.FromIntended)) })},
		{"ttfo_ms", onlyIf(streamed, func(r openai.Record) any { return milliseconds(r.TTFO(openai.FromSend)) })},
		{"latency_from_intended_ms", func(r openai.Record) any { return milliseconds(r.E2E(openai.FromIntended)) }},
		{"queue_delay_ms", func(r openai.Record) any { return milliseconds(r.QueueDelay()) }},
		{"client_lag_ms", func(r openai.Record) any { return milliseconds(r.ClientLag()) }},
		{"input_tokens_target", func(r openai.Record) any { return nonzero(r.InputTokensTarget) }},
		{"tokens_cached", func(r openai.Record) any { return r.TokensCached }},
		{"tokens_source", func(r openai.Record) any { return r.TokensSource }},
		{"same_read_chunks", func(r openai.Record) any { return r.SameReadChunks() }},
		{"connection_reused", func(r openai.Record) any { return r.ConnectionReused }},
		{"stale_connections", func(r openai.Record) any { return nonzero(r.StaleConnections) }},
		{"server_request_id", func(r openai.Record) any { return r.ServerRequestID }},
		{"prompt_sha256", func(r openai.Record) any { return r.PromptSHA256 }},
		{"params_sha256", func(r openai.Record) any { return r.ParamsSHA256 }},
		{"output_sha256", func(r openai.Record) any { return r.OutputSHA256 }},
	}
}

// RequestSheet returns the table of all requests, including failed ones and those of warm-up phases, in the order in
// which they ended. A torn last line is left out.
func RequestSheet(s summary.Summary, records iter.Seq2[openai.Record, error]) render.Sheet {
	columns := requestColumns(s.Latency != nil && s.Latency.TTFT != nil)
	if len(s.Servers) > 0 {
		columns = append(columns, column{"server", func(r openai.Record) any { return r.Server }})
	}
	table := render.Sheet{Name: "Raw data"}
	for _, c := range columns {
		table.Header = append(table.Header, c.name)
	}
	table.Rows = func(yield func([]any, error) bool) {
		for record, err := range records {
			if errors.Is(err, summary.ErrTorn) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			row := make([]any, len(columns))
			for i, c := range columns {
				row[i] = c.of(record)
			}
			if !yield(row, nil) {
				return
			}
		}
	}
	return table
}

func onlyIf(there bool, of func(openai.Record) any) func(openai.Record) any {
	if there {
		return of
	}
	return func(openai.Record) any { return nil }
}

func milliseconds[D ~int64](d D, ok bool) any {
	if !ok {
		return nil
	}
	return float64(d) / 1e6
}

func offset(ns *int64) any {
	if ns == nil {
		return nil
	}
	return float64(*ns) / 1e6
}

// nonzero returns nil for 0, which means that there is no number.
func nonzero(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

func firstChunkTokens(r openai.Record) any {
	if len(r.ArrivalTokens) == 0 || len(r.ArrivalTokens) != len(r.ArrivalsNS) {
		return nil
	}
	return r.ArrivalTokens[0]
}

func cachedPercent(r openai.Record) any {
	if r.TokensCached == nil || r.TokensIn == nil || *r.TokensIn <= 0 {
		return nil
	}
	return 100 * float64(*r.TokensCached) / float64(*r.TokensIn)
}
