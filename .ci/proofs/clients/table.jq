# A row for each client, of the runs that measure has made: jq -rs -f table.jq, over objects {name, usage, truth, streams}.
#
# truth has what the server recorded, in nanoseconds, streams what the client reported, in milliseconds. A client that keeps the server's
# request IDs is compared stream by stream, and without the first streams (ramp), while few were open. Of another one the last streams are
# taken: requests by which a client probes the server come first.
def ms: . / 1e6;
def quantile($p): # Hyndman and Fan's type 7, as NumPy's default
  sort | if length == 0 then null else ((length - 1) * $p) as $h | ($h | floor) as $low | .[$low] + ($h - $low) * (.[[$low + 1, length - 1] | min] - .[$low]) end;
def text: if . == null then "-" else . * 100 | round / 100 | tostring end;
def at($quantiles): . as $all | [$quantiles[] as $p | $all | quantile($p) | text] | join(", ");
def spread: map(values) | "\(quantile(0.5) | text) (\(quantile(0) | text) to \(quantile(1) | text))"; # of runs

def compared:
  ([.truth[] | select(.written_ns | length > 0)] | sort_by(.accepted_ns)) as $served | .usage.ramp as $ramp | .name as $name
  | (INDEX($served[]; .id)) as $by_id
  | if .streams == [] or (.streams | length) > ($served | length) then error("\(.name) reports \(.streams | length) streams of \($served | length)") else . end
  | (if .streams[0].id
     then .streams | map(. + {true: ($by_id[.id] // error("\($name): the server has no stream \(.id)"))}) | map(select(.true.accepted_ns >= $served[$ramp].accepted_ns))
     else [.streams, $served[-(.streams | length):]] | transpose | map(.[0] + {true: .[1]}) end) as $pairs
  | {name, usage, requests: ($pairs | length),
     ttft: [$pairs[].ttft_ms], true_ttft: [$pairs[].true | (.written_ns[0] - .accepted_ns) | ms], lag: [$pairs[].lag_ms | values],
     gap: [$pairs[] | if .gap_ms then .gap_ms else .gaps_ms[]? end],
     true_gap: [$pairs[] | (.true.written_ns | [.[1:], .[:-1]] | transpose | map(.[0] - .[1] | ms)) as $gaps | if .gap_ms then ($gaps | add / length) else $gaps[] end],
     ttft_error: [$pairs[] | select(.id) | .ttft_ms - ((.true.written_ns[0] - .true.accepted_ns) | ms) | fabs],
     gap_error: [$pairs[] | select(.id) | [(.gaps_ms // [])[:(.true.written_ns | length) - 1], (.true.written_ns | [.[1:], .[:-1]] | transpose | map(.[0] - .[1] | ms))] | transpose[]
       | select(.[0] and .[1]) | .[0] - .[1] | fabs]};

["client", "requests", "TTFT p50, p99, ms", "true", "error p50, p99, most", "p99 by run", "gap p50, p99, ms", "true", "error p50, p99, most", "p99 by run", "lag p50, p99, most, ms",
  "CPU of an event, µs", "of a request, µs", "share of a core, %", "resident, MiB"] as $head
| [$head, ($head | map("---"))] + (map(compared) | group_by(.name) | map([
    .[0].name, (map(.requests) | add | tostring),
    (map(.ttft[]) | at([0.5, 0.99])), (map(.true_ttft[]) | at([0.5, 0.99])), (map(.ttft_error[]) | at([0.5, 0.99, 1])), (map(.ttft_error | quantile(0.99)) | spread),
    (map(.gap[]) | at([0.5, 0.99])), (map(.true_gap[]) | at([0.5, 0.99])), (map(.gap_error[]) | at([0.5, 0.99, 1])), (map(.gap_error | quantile(0.99)) | spread), (map(.lag[]) | at([0.5, 0.99, 1])),
    (map(.usage | 1e6 * .cpu_seconds / .events) | spread), (map(.usage | 1e6 * .cpu_seconds / .requests) | spread), (map(.usage | 100 * .cpu_seconds / .seconds) | spread),
    (map(.usage.resident_bytes / 1048576) | spread)]))
| .[] | "| " + join(" | ") + " |"
