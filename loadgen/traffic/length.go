package traffic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// MaxTokens bounds every length: no engine takes more, and a mistyped figure must not fill the client's memory.
const MaxTokens = 1 << 20

// Lengths is a distribution of lengths in tokens: uniform over Min to Max or, with SD above 0, normal and truncated to
// them.
type Lengths struct {
	Min  int     `json:"min"`
	Max  int     `json:"max"`
	Mean float64 `json:"mean,omitempty"`
	SD   float64 `json:"sd,omitempty"`
}

// ParseLengths reads N (always N), MIN:MAX (uniform) or MEAN,SD (normal, truncated three
// standard deviations from the mean and below 1). Lengths are 1 to MaxTokens.
func ParseLengths(text string) (Lengths, error) {
	if low, high, ok := strings.Cut(text, ":"); ok {
		return parseRange(low, high)
	}
	if mean, sd, ok := strings.Cut(text, ","); ok {
		return parseNormal(mean, sd)
	}
	n, err := parseTokens(text)
	return Lengths{Min: n, Max: n}, err
}

func parseRange(low, high string) (Lengths, error) {
	least, err := parseTokens(low)
	if err != nil {
		return Lengths{}, err
	}
	most, err := parseTokens(high)
	if err != nil {
		return Lengths{}, err
	}
	if least > most {
		return Lengths{}, fmt.Errorf("%d:%d runs backwards", least, most)
	}
	return Lengths{Min: least, Max: most}, nil
}

func parseNormal(mean, sd string) (Lengths, error) {
	m, err := parseTokens(mean)
	if err != nil {
		return Lengths{}, err
	}
	s, err := strconv.ParseFloat(sd, 64)
	if err != nil || !(s >= 0 && s <= MaxTokens) {
		return Lengths{}, fmt.Errorf("%q is not a standard deviation from 0 to %d", sd, MaxTokens)
	}
	return Lengths{
		Min:  max(1, int(math.Ceil(float64(m)-3*s))),
		Max:  min(MaxTokens, int(math.Floor(float64(m)+3*s))),
		Mean: float64(m), SD: s,
	}, nil
}

func parseTokens(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxTokens {
		return 0, fmt.Errorf("%q is not a number of tokens from 1 to %d", text, MaxTokens)
	}
	return n, nil
}

// Draw returns one length in tokens.
func (l Lengths) Draw(random *rand.Rand) int {
	if l.SD == 0 {
		return l.Min + random.IntN(l.Max-l.Min+1)
	}
	// The mean is inside, so nearly half of all draws are or more; 64 misses mean a bound that clipping moved far away,
	// and then the nearest bound is the best answer.
	length := l.Mean
	for range 64 {
		length = math.Round(random.NormFloat64()*l.SD + l.Mean)
		if length >= float64(l.Min) && length <= float64(l.Max) {
			break
		}
	}
	return int(min(max(length, float64(l.Min)), float64(l.Max)))
}

// Clip lowers the upper bound to most; false if no length would be left.
func (l Lengths) Clip(most int) (Lengths, bool) {
	if l.Min > most {
		return l, false
	}
	l.Max = min(l.Max, most)
	return l, true
}

// String returns the distribution in the format of ParseLengths; a clipped normal one includes its bounds.
func (l Lengths) String() string {
	switch {
	case l.SD > 0:
		return fmt.Sprintf("%.0f,%g within %d:%d", l.Mean, l.SD, l.Min, l.Max)
	case l.Min == l.Max:
		return strconv.Itoa(l.Min)
	default:
		return fmt.Sprintf("%d:%d", l.Min, l.Max)
	}
}
