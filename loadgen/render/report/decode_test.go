package report

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/roofline"
	"github.com/umascope/umascope/loadgen/summary"
)

// TestDecodingWithoutPromptsIsShownWherePromptsHeldItBack: elsewhere it is the same figure again.
func TestDecodingWithoutPromptsIsShownWherePromptsHeldItBack(t *testing.T) {
	without := &summary.Undisturbed{TokensPerSecond: 342, Concurrency: 6.9, Share: &roofline.Range{Low: 0.088, High: 0.088}}
	for _, c := range []struct {
		certainty roofline.Certainty
		prefill   *summary.Prefill
		want      string
	}{
		{roofline.Proven, &summary.Prefill{Without: without}, " While no prompt was read: 342 tokens per second with 6.9 sequences, at 9 % of their memory limit."},
		{roofline.Likely, &summary.Prefill{Without: &summary.Undisturbed{TokensPerSecond: 60, Concurrency: 1}}, " While no prompt was read: 60 tokens per second with 1 sequence."},
		{roofline.NotSeen, &summary.Prefill{Without: without}, ""},
		{roofline.Likely, &summary.Prefill{}, ""},
		{roofline.NotObservable, nil, ""},
	} {
		d := summary.Decode{Prefill: c.prefill, HeldBack: []roofline.Finding{{Cause: roofline.Heat, Certainty: roofline.Proven}, {Cause: roofline.Prefill, Certainty: c.certainty}}}
		if got := withoutText(d); got != c.want {
			t.Errorf("%s: %q, want %q", c.certainty, got, c.want)
		}
		var page strings.Builder
		if err := render.Text(&page, render.Document{Blocks: decodeAnswer(d)}); err != nil || !strings.Contains(page.String(), c.want) {
			t.Errorf("%s: the page lacks it: %v\n%s", c.certainty, err, page.String())
		}
	}
}
