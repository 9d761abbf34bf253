package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
)

// probeIDs is how many ids the probe has: enough to distinguish a count of tokens from other counts.
const probeIDs = 64

// IDs finds token ids that prompts can be made of: those of our words if the server has a route for its tokenizer,
// else the range that every large vocabulary has. One request proves that the server accepts ids and counts as many
// tokens; if it does not, the error describes its answer.
func (c Calibration) IDs(ctx context.Context) (traffic.TokenIDs, error) {
	ctx, cancel := context.WithTimeout(ctx, slowestCheck)
	defer cancel()
	api, err := newAPI(c.Target, c.Served.Key)
	if err != nil {
		return traffic.TokenIDs{}, err
	}
	defer api.close()
	counter := counter{c, api}
	ids, err := counter.listed(ctx)
	if err != nil {
		ids = traffic.AnyTokenIDs()
	}
	return ids, counter.prove(ctx, ids)
}

// listed asks the tokenizer for the words that are a single token.
func (c counter) listed(ctx context.Context) (traffic.TokenIDs, error) {
	var ids []uint32
	for _, word := range traffic.Words() {
		answer, err := c.tokenized(ctx, tokenizerRoutes(c.Target.Known)[0], word)
		if err != nil {
			return traffic.TokenIDs{}, err
		}
		if id, single := singleID(answer); single {
			ids = append(ids, id)
		}
	}
	return traffic.NewTokenIDs(ids)
}

// singleID reads the answer for a word that is one token: {"count": 1, "tokens": [2201]}.
func singleID(answer []byte) (id uint32, single bool) {
	var output struct {
		Tokens []uint32 `json:"tokens"`
	}
	if json.Unmarshal(answer, &output) != nil || len(output.Tokens) != 1 {
		return 0, false
	}
	return output.Tokens[0], true
}

// prove sends a prompt of ids and compares the counts.
func (c counter) prove(ctx context.Context, ids traffic.TokenIDs) error {
	probe := openai.Params{PromptIDs: ids.Probe(probeIDs), Stream: c.Stream}
	counted, err := c.promptTokens(ctx, probe)
	if errors.Is(err, errUncounted) && probe.Stream {
		probe.Stream = false // llama-cpp-python reports counts only without streaming
		counted, err = c.promptTokens(ctx, probe)
	}
	switch {
	case errors.Is(err, errUncounted):
		return fmt.Errorf("%w: whether it takes token ids as tokens cannot be shown", err)
	case err != nil:
		return fmt.Errorf("the server takes no token ids: %w", err)
	case counted != probeIDs:
		return fmt.Errorf("the server counts %d tokens in a prompt of %d token ids", counted, probeIDs)
	}
	return nil
}
