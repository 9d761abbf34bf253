package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// Answer returns what a run shows in a few words: whether it is valid, where the memory was when the engine was ready,
// how fast the answers came.
func Answer(s summary.Summary) string {
	var sentences []string
	if !s.Valid {
		var codes []string
		for _, reason := range s.InvalidReasons {
			codes = append(codes, string(reason.Code))
		}
		sentences = append(sentences, "INVALID: "+strings.Join(codes, ", "))
	}
	if text := occupiedText(s); text != "" {
		sentences = append(sentences, text)
	}
	if text := loadText(s); text != "" {
		sentences = append(sentences, text)
	}
	if len(sentences) == 0 {
		return ""
	}
	return strings.Join(sentences, ". ") + "."
}

// answerBlock returns the answer for a page, with the grounds of a run that is invalid.
func answerBlock(s summary.Summary) render.Block {
	text, items := Answer(s), reasonItems(s)
	switch {
	case text != "":
	case s.Tool != nil:
		text = "Figures of " + s.Tool.Program + ": the tool reported them, none was measured here."
	default:
		text = "This run has no figures of memory or of answers."
	}
	return verdictBlock(s.Valid, text, items)
}

// occupiedText states how much of the pool was occupied and by what: when the engine was ready, else when least memory
// was available. It is empty where the telemetry has no ledger with free memory.
func occupiedText(s summary.Summary) string {
	m := s.Memory
	if m == nil || m.LedgerAt == nil {
		return ""
	}
	at, when := m.LedgerAt.Ready, " when ready"
	if len(at) == 0 {
		at, when = m.LedgerAt.Peak, " at the peak"
	}
	free, known := at.Free()
	if !known {
		return ""
	}
	if s.Together != nil {
		when = " on " + m.Source + when
	}
	if !m.Live() {
		when += " (" + m.Mode + ")"
	}
	return ledger.Occupied{Free: free, Parts: memoryParts(m.LedgerLines(at), s.KV)}.Sentence(when)
}

// readyBar draws the ledger of the moment that the answer is about.
func readyBar(s summary.Summary) render.Figures {
	m := s.Memory
	if m == nil || m.LedgerAt == nil {
		return nil
	}
	title, at := "Memory when the engine was ready", m.LedgerAt.Ready
	if len(at) == 0 {
		title, at = "Memory at the peak", m.LedgerAt.Peak
	}
	return render.Figures{LedgerBar(title, "n = 1 sample of "+m.Source+", "+m.Mode+". The parts add up to the pool, MemTotal.", at)}
}

// memoryParts returns the lines of a ledger but free. Where the size of the KV cache is known and GPU-held memory is
// at least as large, that line is two parts.
func memoryParts(lines []ledger.Line, kv *summary.KV) []ledger.Line {
	var parts []ledger.Line
	for _, line := range lines {
		bytes := math.Trunc(line.Bytes)
		switch {
		case slices.Contains(ledger.FreeNames(), line.Name):
		case line.Name == ledger.GPUProcess && kv != nil && kv.CapacityBytes != nil && line.Bytes >= *kv.CapacityBytes:
			cache := math.Trunc(*kv.CapacityBytes)
			parts = append(parts, ledger.Line{Name: "KV cache", Bytes: cache}, ledger.Line{Name: "weights and runtime", Bytes: bytes - cache})
		default:
			parts = append(parts, ledger.Line{Name: ledger.Named(line.Name).Title, Bytes: bytes})
		}
	}
	return parts
}

// loadText states how fast the answers came, by uma-load or by the tool that sent the load.
func loadText(s summary.Summary) string {
	var parts []string
	if rate := s.Throughput.OutputTokensPerSecond; rate != nil && s.Tool == nil {
		text := format.Digits(*rate) + " output tokens per second"
		if s.Model.Simulated {
			text += " (simulated)"
		}
		parts = append(parts, text)
	}
	if l := s.Latency; l != nil && l.TTFT != nil && l.TTFT.Intended != nil && s.Tool == nil {
		switch d := l.TTFT.Intended; {
		case d.P50 != nil:
			parts = append(parts, "TTFT "+format.Seconds(*d.P50)+" (p50)")
		case d.Max != nil:
			parts = append(parts, "TTFT at most "+format.Seconds(*d.Max))
		}
	}
	if s.Tool == nil {
		all := 0
		for _, status := range openai.Statuses() {
			all += s.Requests[status]
		}
		parts = append(parts, fmt.Sprintf("%d of %d requests ok", s.Requests[openai.StatusOK], all))
	}
	return strings.Join(parts, ", ")
}
