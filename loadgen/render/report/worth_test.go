package report

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/render"
)

func TestTheWorthOfReuseIsASentenceForEachFigure(t *testing.T) {
	real := evidence.Worth{
		PromptTokens: new(54950.), CachedTokens: new(54896.), SSDTokens: new(54896.), ComputedSeconds: new(0.1452), ReusedSeconds: new(0.4324), TimeRatio: new(0.4324 / 0.1452),
		BreakEven:    &evidence.BreakEven{Outcome: evidence.TooFewLengths, LeastTokens: 6020, MostTokens: 7600},
		WrittenBytes: new(10986. * 524288), ReadBytes: new(1798832128.), WrittenPerReadByte: new(10986. / 3431), WrittenPerTokenBytes: new(10986. * 524288 / 54896),
		EngineWrittenBlocks: new(28524.), EngineReadBlocks: new(3442.), EngineRatio: new(28524. / 3442), EnduranceShare: new(0.004),
	}
	got := strings.Join(worthSentences(&real), "\n")
	want := `54,896 of 54,950 prompt tokens came from the SSD; that took 2.98 times as long as computing them (432 ms against 145 ms to the first token).
Break-even length: not enough prompt lengths (prompts of 6,020 to 7,600 tokens); --set a.tokens=MIN:MAX with a wide range shows it.
Price: 5.36 GiB were written to the SSD and 1.68 GiB read back, 3.2 bytes written for each byte reused, 102 KiB for each token that the SSD answered.
Since the engine started, 28,524 blocks were written to read 3,442: 8.29.
A day of this load takes 0.4 % of the drive's rated endurance.`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	real.BreakEven = &evidence.BreakEven{Outcome: evidence.FasterAbove, Tokens: new(5560.4), LeastTokens: 100, MostTokens: 20000}
	if got := breakEvenSentence(&real); got != "Break-even length: reuse was faster than computing from 5,560 tokens on (prompts of 100 to 20,000 tokens)." {
		t.Error(got)
	}
	if got := worthSentences(&evidence.Worth{CachedTokens: new(0.), BreakEven: real.BreakEven}); len(got) > 0 {
		t.Errorf("nothing was reused: %q", got)
	}
	if worthSentences(nil) != nil {
		t.Error("no worth has sentences")
	}
	s := graded(t, &evidence.Signals{
		SSDRehydrate: evidence.Signal{Grade: evidence.Proven, Figures: []evidence.Figure{evidence.NewFigure("process_read", 1798832128, "bytes", evidence.Range{1762855485, 1834808771})},
			Missing: []evidence.Missing{{Name: "device", Reason: "the exporter has no counters of vda"}}},
		Worth: &real,
	})
	for name, write := range map[string]func(*strings.Builder) error{
		"text": func(b *strings.Builder) error { return Text(b, s) },
		"page": func(b *strings.Builder) error { return render.Markdown(b, (Page{Title: "Run", Summary: s}).Document()) },
	} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		wanted := []string{"54,896 of 54,950 prompt tokens came from the SSD"}
		if name == "page" {
			wanted = append(wanted, "1798832128 bytes", "device: the exporter has no counters of vda")
		}
		for _, want := range wanted {
			if !strings.Contains(b.String(), want) {
				t.Errorf("the %s lacks %q:\n%s", name, want, b.String())
			}
		}
	}
}
