package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

const (
	mostParts = 4                // parts of a memory that a sentence names
	leastPart = 100              // a sentence names parts of at least one in so many of a memory
	tenth     = (1 << 30) / 10.0 // unit of a sentence, in bytes
)

// OtherPart is the name of what a sentence does not name.
const OtherPart = "other"

// MemoryPart is a holder of memory.
type MemoryPart struct {
	Name  string
	Bytes int64 // negative for a remainder that is
}

// AddPart adds memory to the part of this name.
func AddPart(parts []MemoryPart, name string, bytes int64) []MemoryPart {
	if at := slices.IndexFunc(parts, func(p MemoryPart) bool { return p.Name == name }); at >= 0 {
		parts[at].Bytes += bytes
		return parts
	}
	return append(parts, MemoryPart{name, bytes})
}

// Occupied is a memory: what is free and what occupies the rest, in bytes.
type Occupied struct {
	Free  int64
	Parts []MemoryPart
}

// Sentence returns how much is occupied, with the largest parts, in GiB: 96.3 of 121.7 GiB occupied: vLLM 73.7, page
// cache 11.2, other 11.4. When is the moment, such as " when ready", or empty. The figures add up as they are printed.
func (o Occupied) Sentence(when string) string {
	total := o.Free
	for _, p := range o.Parts {
		total += p.Bytes
	}
	bySize := slices.SortedStableFunc(slices.Values(o.Parts), func(a, b MemoryPart) int { return cmp.Compare(b.Bytes, a.Bytes) })
	var other int64 // bytes
	var named []MemoryPart
	for _, p := range bySize {
		if p.Name != OtherPart && len(named) < mostParts && p.Bytes >= max(total/leastPart, 1) {
			named = append(named, p)
		} else {
			other += p.Bytes
		}
	}
	sum := tenths(total) - tenths(o.Free)
	text := fmt.Sprintf("%s of %s GiB occupied%s", inTenths(sum), inTenths(tenths(total)), when)
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
func inTenthsOf(sum int64, named []MemoryPart, other int64) (texts []string) {
	if len(named) == 0 {
		return nil
	}
	rest := sum
	for _, p := range named {
		rest -= tenths(p.Bytes)
	}
	for i, p := range named {
		size := tenths(p.Bytes)
		if i == 0 && rest < 0 && other >= 0 {
			size, rest = size+rest, 0
		}
		texts = append(texts, p.Name+" "+inTenths(size))
	}
	if rest != 0 {
		texts = append(texts, OtherPart+" "+inTenths(rest))
	}
	return texts
}

// GiBTenths formats bytes in GiB with one digit after the point, as sentences do.
func GiBTenths(bytes int64) string { return inTenths(tenths(bytes)) }

// tenths rounds bytes to tenths of a GiB, and inTenths prints these.
func tenths(bytes int64) int64 { return int64(math.Round(float64(bytes) / tenth)) }

func inTenths(n int64) string { return fmt.Sprintf("%.1f", float64(n)/10) }
