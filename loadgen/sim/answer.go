package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// finishReason is why a sequence ended, in the terms of vLLM's metrics; the first two are also sent to clients.
type finishReason string

const (
	finishStop   finishReason = "stop"
	finishLength finishReason = "length"
	finishAbort  finishReason = "abort" // the client went away
	finishError  finishReason = "error" // the engine was stopped
)

func finishReasons() []finishReason {
	return []finishReason{finishStop, finishLength, finishAbort, finishError}
}

// vocabulary is what answers are composed of. Each entry is one token in any context.
var vocabulary = [64]string{
	" a", " after", " air", " all", " and", " as", " at", " before",
	" blue", " boat", " bridge", " by", " city", " clear", " cloud", " cold",
	" dark", " day", " door", " down", " far", " field", " fire", " first",
	" for", " forest", " from", " garden", " green", " hand", " hill", " house",
	" in", " lake", " light", " long", " moon", " morning", " near", " night",
	" north", " of", " old", " on", " open", " over", " path", " quiet",
	" rain", " river", " road", " sea", " sky", " slow", " snow", " stone",
	" sun", " the", " town", " tree", " warm", " water", ",", ".",
}

// answer is the whole answer to one request. Its content depends on the engine's seed and the request only; the batch
// decides when it is sent.
type answer struct {
	text string
	// ends holds the end of each token's text. A token may have no text: the one that ends the answer, and those of a
	// stop string.
	ends   []int
	reason finishReason
}

// tokens returns the number of generated tokens, the ending one included, as engines do in usage.
func (a answer) tokens() int { return len(a.ends) }

// between returns the text of tokens from up to, and not including, to.
func (a answer) between(from, to int) string {
	start := 0
	if from > 0 {
		start = a.ends[from-1]
	}
	return a.text[start:a.ends[to-1]]
}

// twist makes an answer diverge from token at on; key selects the new words.
type twist struct {
	at  int
	key uint64
}

// straight is the twist of an answer that does not diverge.
func straight() twist { return twist{at: math.MaxInt} }

// write answers a request. max_tokens, min_tokens, ignore_eos and stop only cut one and the same
// endless text, so an answer with a lower cap is the beginning of one with a higher cap.
func write(c Config, r request) answer { return writeTwisted(c, r, straight()) }

// writeTwisted is write with another source of words from some token on.
func writeTwisted(c Config, r request, t twist) answer {
	random := r.random(c.Seed)
	ending := uint64(math.Ceil(math.Exp2(32) / float64(max(c.MeanAnswerTokens-1, 1))))
	least := max(r.minTokens, 1)
	var text []byte
	var ends []int
	for len(ends) < r.maxTokens {
		if len(ends) == t.at {
			random = rand.New(rand.NewPCG(t.key, random.Uint64()))
		}
		draw := random.Uint64()
		if draw>>32 < ending && !r.ignoreEOS && len(ends) >= least {
			return answer{string(text), append(ends, len(text)), finishStop}
		}
		piece := vocabulary[draw%uint64(len(vocabulary))]
		if len(text) == 0 {
			piece = vocabulary[draw%wordsOnly][1:]
		}
		text = append(text, piece...)
		ends = append(ends, len(text))
		if len(ends) > r.minTokens {
			if cut := stopStart(text, len(piece), r.stop); cut >= 0 {
				return cutAt(text, ends, cut)
			}
		}
	}
	return answer{string(text), ends, finishLength}
}

// wordsOnly is how many entries of the vocabulary may come first: those that begin with a space.
const wordsOnly = uint64(len(vocabulary) - 2)

// stopStart returns the start of the first stop string that the last fresh bytes complete, else -1.
func stopStart(text []byte, fresh int, stops []string) int {
	first := -1
	for _, stop := range stops {
		from := max(0, len(text)-fresh-len(stop)+1)
		if at := bytes.Index(text[from:], []byte(stop)); at >= 0 && (first < 0 || from+at < first) {
			first = from + at
		}
	}
	return first
}

// cutAt removes the stop string from the text. Its tokens stay, since they were generated.
func cutAt(text []byte, ends []int, cut int) answer {
	for i := range ends {
		ends[i] = min(ends[i], cut)
	}
	return answer{string(text[:cut]), ends, finishStop}
}

// random returns the source of everything drawn for one answer. At temperature 0 it depends on seed and prompt only, so
// that a request's own seed has no effect, as in greedy decoding. A request without its own seed gets the same answer
// every time, where a real engine would vary.
func (r request) random(seed uint64) *rand.Rand {
	key := binary.LittleEndian.AppendUint64(nil, seed)
	if r.temperature > 0 {
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(r.temperature))
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(r.topP))
		key = binary.LittleEndian.AppendUint64(key, uint64(r.seed))
	}
	prompt := sha256.Sum256([]byte(r.prompt))
	sum := sha256.Sum256(append(key, prompt[:]...))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[0:8]), binary.LittleEndian.Uint64(sum[8:16])))
}
