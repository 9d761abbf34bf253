package report

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/summary"
)

// speculationFacts has the figures of speculative decoding: of the answers, and of the engine.
func speculationFacts(s *summary.Speculation) []headline {
	if s == nil {
		return nil
	}
	return append(draftFacts(s.Answers, "by the answers"), draftFacts(s.Engine, "by the engine, of all its clients")...)
}

func draftFacts(c *summary.DraftCounts, by string) []headline {
	if c == nil {
		return nil
	}
	ratio := number("drafted tokens accepted", &c.AcceptanceRatio, percent())
	ratio.Note = fmt.Sprintf("of %d, %s", c.DraftTokens, by)
	if d := c.AcceptanceByRequest; d != nil && d.P50 != nil {
		ratio.Note += fmt.Sprintf("; p50 of requests %s", format.Ratio(*d.P50))
	}
	ratio.Value += " " + ratio.Note
	if c.MeanAcceptedLength == nil {
		return []headline{ratio}
	}
	length := number("tokens per step with a draft", c.MeanAcceptedLength, noUnit())
	length.Note = by
	if len(c.AcceptedByPosition) > 0 {
		var shares []string
		for _, tokens := range c.AcceptedByPosition {
			shares = append(shares, format.Ratio(float64(tokens)/float64(*c.Drafts)))
		}
		length.Note += "; accepted by position: " + strings.Join(shares, ", ")
	}
	length.Value += " " + length.Note
	return []headline{ratio, length}
}
