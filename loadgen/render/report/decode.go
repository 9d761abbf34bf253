package report

import (
	"fmt"
	"slices"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/roofline"
	"github.com/umascope/umascope/loadgen/summary"
)

// decodeBlocks show how fast the server decoded, of what memory allows, and what held it back.
func decodeBlocks(d *summary.Decode) []render.Block {
	if !decodeKnown(d) {
		return nil
	}
	return append([]render.Block{render.H2("Decoding and the limit of memory")}, decodeAnswer(*d)...)
}

// decodeKnown reports whether there is more to show than the rate, which the throughput and the latencies have too.
func decodeKnown(d *summary.Decode) bool { return d != nil && (d.Limit != nil || len(d.HeldBack) > 0) }

// decodeAnswer is the rate and what held it back.
func decodeAnswer(d summary.Decode) []render.Block {
	return []render.Block{render.P(render.Plain(decodeText(d) + withoutText(d))), causeTable(d.HeldBack)}
}

// withoutText is the rate while no prompt is read, where prompts held decoding back.
func withoutText(d summary.Decode) string {
	if d.Prefill == nil || d.Prefill.Without == nil || !slices.ContainsFunc(d.HeldBack, func(f roofline.Finding) bool {
		return f.Cause == roofline.Prefill && (f.Certainty == roofline.Proven || f.Certainty == roofline.Likely)
	}) {
		return ""
	}
	w := d.Prefill.Without
	text := fmt.Sprintf(" While no prompt was read: %s tokens per second with %s", format.Digits(w.TokensPerSecond), sequences(w.Concurrency))
	if w.Share != nil {
		text += fmt.Sprintf(", at %s of their memory limit", *w.Share)
	}
	return text + "."
}

func sequences(n float64) string {
	if n == 1 {
		return "1 sequence"
	}
	return format.Digits(n) + " sequences"
}

// decodeText is the rate, its share of the limit, and what the limit is of.
func decodeText(d summary.Decode) string {
	text := fmt.Sprintf("Decoded %s tokens per second with %s of %s tokens", format.Digits(d.TokensPerSecond), sequences(d.Concurrency), format.Digits(d.Context))
	if d.Limit == nil || d.Share == nil {
		return text + ": " + d.LimitUnknown + "."
	}
	limit := d.Limit
	text += fmt.Sprintf(": at %s of the memory limit, %s tokens per second", *d.Share, bounds(limit.TokensPerSecond, format.Digits))
	of := format.Digits(d.BytesPerSecond/1e9) + " GB/s" // as makers give it
	if d.Part != "" {
		of = d.Part + ", " + of
	}
	text = fmt.Sprintf("%s (%s; a token reads %s, %s of it KV cache).", text, of, bounds(limit.BytesPerToken, format.Bytes), format.Ratio(limit.KVShare))
	if d.Share.Low > 1 {
		text += " No engine decodes faster than memory: model or bandwidth are not those of this run, or a step gave several tokens (speculative decoding)."
	}
	return text
}

func bounds(r roofline.Range, format func(float64) string) string {
	if r.Exact() {
		return format(r.Low)
	}
	return format(r.Low) + " to " + format(r.High)
}

// causeTable has a row for every cause.
func causeTable(findings []roofline.Finding) render.Table {
	if len(findings) == 0 {
		return render.Table{}
	}
	t := render.Table{Header: []string{"held back by", "verdict", "evidence"}, Words: []int{1, 2}}
	for _, f := range findings {
		t.Add(string(f.Cause), string(f.Certainty), f.Evidence)
	}
	return t
}
