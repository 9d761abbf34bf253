package ledger

import (
	"fmt"
	"math"
)

const (
	mostParts = 4                // parts of a memory that a sentence names
	leastPart = 100              // a sentence names parts of at least one in so many of a memory
	tenth     = (1 << 30) / 10.0 // unit of a sentence, in bytes
)

// OtherPart is the name of what a sentence does not name.
const OtherPart = "other"

// Occupied is a memory: what is free and what occupies the rest, in bytes.
type Occupied struct {
	Free  float64
	Parts []Line
}

// Sentence returns how much is occupied, with the largest parts, in GiB: 96.3 of 121.7 GiB occupied: vLLM 73.7, page
// cache 11.2, other 11.4. When is the moment, such as " when ready", or empty. The figures add up as they are printed.
func (o Occupied) Sentence(when string) string {
	total := o.Free + Sum(o.Parts)
	var other float64 // bytes
	var named []Line
	for _, p := range BySize(o.Parts) {
		if p.Name != OtherPart && len(named) < mostParts && p.Bytes >= max(total/leastPart, 1) {
			named = append(named, p)
		} else {
			other += p.Bytes
		}
	}
	sum := InTenths(total) - InTenths(o.Free)
	text := fmt.Sprintf("%s of %s GiB occupied%s", sum, InTenths(total), when)
	for i, part := range inTenthsOf(sum, named, other) {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		text += separator + part
	}
	return text
}

// inTenthsOf returns the parts of a memory and the rest of it, which add up to the sum. What rounding costs is the
// rest's, and the largest part's where the rest would be less than nothing.
func inTenthsOf(sum Tenths, named []Line, other float64) (texts []string) {
	if len(named) == 0 {
		return nil
	}
	rest := sum
	for _, p := range named {
		rest -= InTenths(p.Bytes)
	}
	for i, p := range named {
		size := InTenths(p.Bytes)
		if i == 0 && rest < 0 && other >= 0 {
			size, rest = size+rest, 0
		}
		texts = append(texts, p.Name+" "+size.String())
	}
	if rest != 0 {
		texts = append(texts, OtherPart+" "+rest.String())
	}
	return texts
}

// Tenths is an amount of memory in tenths of a GiB. Sentences are in them, so that their figures add up as printed.
type Tenths int64

// InTenths rounds bytes.
func InTenths[N int64 | float64](bytes N) Tenths { return Tenths(math.Round(float64(bytes) / tenth)) }

// String returns GiB with one digit after the point.
func (t Tenths) String() string { return fmt.Sprintf("%.1f", float64(t)/10) }
