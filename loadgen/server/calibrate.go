package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
)

// Calibration is the input for measuring how many tokens texts have for a server.
type Calibration struct {
	Target Target
	Served Served
	Client *openai.Client // sends counts that need a completion request
	Stream bool
	// Sample is a text of the user's file that is counted too; empty means none.
	Sample string
	// Template turns a message into text if the server has no template of its own; nil means none.
	Template *traffic.Template
}

// Scale measures the scale within a minute: with the server's tokenizer if it has a route for that, else with
// usage.prompt_tokens of a few requests for one token each. The error is the reason if neither works.
func (c Calibration) Scale(ctx context.Context) (traffic.TokenScale, error) {
	ctx, cancel := context.WithTimeout(ctx, slowestCheck)
	defer cancel()
	api, err := newAPI(c.Target, c.Served.Key)
	if err != nil {
		return traffic.TokenScale{}, err
	}
	defer api.close()
	return counter{c, api}.scale(ctx)
}

// counter counts tokens through one server.
type counter struct {
	Calibration
	api *api
}

// way is one way to count the tokens of a text through the server.
type way struct {
	basis traffic.ScaleBasis
	count func(ctx context.Context, text string) (int, error)
}

// byRequests returns the ways that use usage.prompt_tokens. llama-cpp-python reports it only without streaming.
func (c counter) byRequests() []way {
	ways := []way{{traffic.ByUsage, c.usage(c.Stream)}}
	if c.Stream {
		ways = append(ways, way{traffic.ByUsage, c.usage(false)})
	}
	return ways
}

// firstOf returns the first way that counts the text, and its count. The error is the last way's.
func firstOf(ctx context.Context, ways []way, text string) (way, int, error) {
	var err error
	for _, w := range ways {
		n := 0
		if n, err = w.count(ctx, text); err == nil {
			return w, n, nil
		}
	}
	return way{}, 0, err
}

func (c counter) scale(ctx context.Context) (traffic.TokenScale, error) {
	probes := traffic.NewProbes()
	best, one, err := firstOf(ctx, append(c.byTokenizer(), c.byRequests()...), probes.One)
	if err != nil {
		return traffic.TokenScale{}, err
	}
	scale, err := scaleOf(ctx, best, probes, one)
	if err != nil {
		return traffic.TokenScale{}, err
	}
	if best.basis == traffic.ByUsage {
		added := one - 1
		scale.TemplateTokens = &added
	} else {
		scale.TemplateTokens = c.template(ctx, best, probes.Short)
		scale = words(ctx, scale, best)
	}
	if c.Template != nil {
		scale.TemplateTokens = c.framed(ctx, best, probes.Short, scale.TemplateTokens)
	}
	return c.file(ctx, scale, best, one), nil
}

// lead precedes every text that a tokenizer counts. Some tokenizers put a space before their input, which the text
// does not have within a chat.
const lead = "a\n"

// byTokenizer returns the ways that count, with the server's tokenizer, the tokens that a text adds to lead: one for each
// known route.
func (c counter) byTokenizer() []way {
	var ways []way
	for _, route := range tokenizerRoutes(c.Target.Known) {
		leading := 0
		ways = append(ways, way{traffic.ByTokenizer, func(ctx context.Context, text string) (int, error) {
			if leading == 0 {
				var err error
				if leading, err = c.tokenize(ctx, route, lead); err != nil {
					return 0, err
				}
			}
			n, err := c.tokenize(ctx, route, lead+text)
			return n - leading, err
		}})
	}
	return ways
}

// template returns how many tokens the server adds to a message, measured with one request; nil if unknown.
func (c counter) template(ctx context.Context, by way, text string) *int {
	plain, err := by.count(ctx, text)
	if err != nil {
		return nil
	}
	_, used, err := firstOf(ctx, c.byRequests(), text)
	if err != nil || used < plain {
		return nil
	}
	added := used - plain
	return &added
}

// framed returns how many tokens the server and our own template add to a message; nil if unknown.
func (c counter) framed(ctx context.Context, by way, text string, added *int) *int {
	whole, err := c.Template.Render([]traffic.Message{{Role: "user", Content: text}})
	if err != nil || added == nil {
		return nil
	}
	plain, err := by.count(ctx, text)
	if err != nil {
		return nil
	}
	framed, err := by.count(ctx, whole)
	if err != nil || framed < plain {
		return nil
	}
	sum := *added + framed - plain
	return &sum
}

// scaleOf counts the probes.
func scaleOf(ctx context.Context, by way, probes traffic.Probes, one int) (traffic.TokenScale, error) {
	counts := traffic.ProbeCounts{One: one}
	for _, probe := range []struct {
		text string
		into *int
	}{{probes.Short, &counts.Short}, {probes.Instructed, &counts.Instructed}, {probes.Whole, &counts.Whole}} {
		n, err := by.count(ctx, probe.text)
		if err != nil {
			return traffic.TokenScale{}, err
		}
		*probe.into = n
	}
	return traffic.NewTokenScale(by.basis, counts)
}

// words counts every word if some of them are more than one token. The tokenizer's route is fast, and lengths become
// exact again.
func words(ctx context.Context, scale traffic.TokenScale, by way) traffic.TokenScale {
	if scale.TokensPerWord == 1 {
		return scale
	}
	var counts []int
	for _, word := range traffic.Words() {
		n, err := by.count(ctx, word)
		if err != nil {
			return scale
		}
		counts = append(counts, n)
	}
	if exact, err := scale.WithWords(counts); err == nil {
		return exact
	}
	return scale
}

// file calibrates the texts of the user's file with a sample of them.
func (c counter) file(ctx context.Context, scale traffic.TokenScale, by way, one int) traffic.TokenScale {
	if c.Sample == "" {
		return scale
	}
	if n, err := by.count(ctx, c.Sample); err == nil && n >= one {
		scale.TokensPerByte = max(float64(n-one+1)/float64(len(c.Sample)), leastPerByte)
	}
	return scale
}

// leastPerByte is the fewest tokens per byte that are plausible for a text that repeats one word.
const leastPerByte = 0.02

// usage returns a function that counts a text with a request of its own, streaming or not.
func (c counter) usage(stream bool) func(context.Context, string) (int, error) {
	return func(ctx context.Context, text string) (int, error) {
		return c.promptTokens(ctx, openai.Params{Prompt: text, Stream: stream})
	}
}

// errUncounted is the error for a server whose answers do not report the length of the prompt.
var errUncounted = errors.New("the server does not count prompt tokens")

// promptTokens returns the prompt length that the answer to a request reports.
func (c counter) promptTokens(ctx context.Context, p openai.Params) (int, error) {
	p.Endpoint, p.Model, p.Vendor, p.Fields = c.Target.Endpoint, c.Served.Model.ID, VendorOf(c.Target.Known, c.Served.Engine), c.Served.Fields
	p.Omit = c.Served.Omit
	p.MaxTokens, p.TopP = 1, 1
	body, err := openai.Body(p)
	if err != nil {
		return 0, err
	}
	clock := func() int64 { return 0 } // times are not used
	record := c.Client.Do(ctx, openai.Request{Endpoint: p.Endpoint, Body: body}, clock, nil).Record
	switch {
	case record.Status != openai.StatusOK:
		return 0, fmt.Errorf("a probe failed: %s", record.Error)
	case record.TokensIn == nil || *record.TokensIn < 1:
		return 0, errUncounted
	}
	return *record.TokensIn, nil
}
