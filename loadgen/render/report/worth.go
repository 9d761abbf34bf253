package report

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
)

// worthBlocks have a sentence each on the time, the break-even length and the price of reuse.
func worthBlocks(w *evidence.Worth) []render.Block {
	var blocks []render.Block
	for _, sentence := range worthSentences(w) {
		blocks = append(blocks, render.P(render.Plain(sentence)))
	}
	return blocks
}

func worthSentences(w *evidence.Worth) []string {
	if w == nil {
		return nil
	}
	var all []string
	for _, sentence := range []string{timeSentence(w), breakEvenSentence(w), priceSentence(w), lifetimeSentence(w), enduranceSentence(w)} {
		if sentence != "" {
			all = append(all, sentence)
		}
	}
	return all
}

func timeSentence(w *evidence.Worth) string {
	tokens, from := w.SSDTokens, "the SSD"
	if tokens == nil {
		tokens, from = w.CachedTokens, "a cache"
	}
	if tokens == nil || *tokens == 0 {
		return "" // nothing was reused
	}
	text := whole(*tokens)
	if w.PromptTokens != nil {
		text += " of " + whole(*w.PromptTokens)
	}
	text += " prompt tokens came from " + from
	if w.TimeRatio != nil {
		text += fmt.Sprintf("; that took %s times as long as computing them (%s against %s to the first token)",
			format.Digits(*w.TimeRatio), format.Seconds(*w.ReusedSeconds), format.Seconds(*w.ComputedSeconds))
	}
	return text + "."
}

func breakEvenSentence(w *evidence.Worth) string {
	b := w.BreakEven
	if b == nil || w.CachedTokens == nil || *w.CachedTokens == 0 {
		return ""
	}
	lengths := fmt.Sprintf("prompts of %s to %s tokens", whole(b.LeastTokens), whole(b.MostTokens))
	tokens := format.Optional(b.Tokens, whole)
	switch b.Outcome {
	case evidence.AlwaysFaster:
		return fmt.Sprintf("Break-even length: reuse was faster than computing at all lengths of the run (%s).", lengths)
	case evidence.AlwaysSlower:
		return fmt.Sprintf("Break-even length: reuse was slower than computing at all lengths of the run (%s).", lengths)
	case evidence.FasterAbove:
		return fmt.Sprintf("Break-even length: reuse was faster than computing from %s tokens on (%s).", tokens, lengths)
	case evidence.FasterBelow:
		return fmt.Sprintf("Break-even length: reuse was faster than computing up to %s tokens (%s).", tokens, lengths)
	}
	return fmt.Sprintf("Break-even length: not enough prompt lengths (%s); --set a.tokens=MIN:MAX with a wide range shows it.", lengths)
}

func priceSentence(w *evidence.Worth) string {
	if w.WrittenBytes == nil || w.WrittenPerReadByte == nil {
		return ""
	}
	text := fmt.Sprintf("Price: %s were written to the SSD and %s read back, %s bytes written for each byte reused", format.Bytes(*w.WrittenBytes),
		format.Bytes(*w.ReadBytes), format.Digits(*w.WrittenPerReadByte))
	if w.WrittenPerTokenBytes != nil {
		text += fmt.Sprintf(", %s for each token that the SSD answered", format.Bytes(*w.WrittenPerTokenBytes))
	}
	return text + "."
}

func lifetimeSentence(w *evidence.Worth) string {
	if w.EngineRatio == nil {
		return ""
	}
	return fmt.Sprintf("Since the engine started, %s blocks were written to read %s: %s.", whole(*w.EngineWrittenBlocks), whole(*w.EngineReadBlocks), format.Digits(*w.EngineRatio))
}

func enduranceSentence(w *evidence.Worth) string {
	if w.EnduranceShare == nil {
		return ""
	}
	return fmt.Sprintf("A day of this load takes %s of the drive's rated endurance.", format.Ratio(*w.EnduranceShare))
}

// whole formats a count with commas: 54,896.
func whole(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, groups...), ",")
}
