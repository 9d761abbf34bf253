// Package ledger has the memory of a machine in lines that add up to it: the names, titles and colours of the lines, the
// signed remainder, and the difference of two ledgers. It reads nothing.
package ledger

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// Line is an amount of memory with a name. The lines of a ledger have the names of Kinds.
type Line struct {
	Name string
	// Bytes is signed: remainders are differences of figures of different moments. It is 0 and has no meaning when the
	// line is Unknown.
	Bytes float64
	// Unknown reports that the memory exists and could not be read: its bytes are in the remainder.
	Unknown bool
}

// storedLine is a line in JSON: an unknown one has no bytes.
type storedLine struct {
	Name  string   `json:"line"`
	Bytes *float64 `json:"bytes,omitempty"`
}

// MarshalJSON returns the name, and the bytes of a known line.
func (l Line) MarshalJSON() ([]byte, error) {
	stored := storedLine{Name: l.Name}
	if !l.Unknown {
		stored.Bytes = &l.Bytes
	}
	return json.Marshal(stored)
}

// UnmarshalJSON reads a line. Without bytes it is unknown.
func (l *Line) UnmarshalJSON(text []byte) error {
	var stored storedLine
	if err := json.Unmarshal(text, &stored); err != nil {
		return err
	}
	*l = Line{Name: stored.Name, Unknown: stored.Bytes == nil}
	if stored.Bytes != nil {
		l.Bytes = *stored.Bytes
	}
	return nil
}

// Add adds memory to the line of this name.
func Add(lines []Line, name string, bytes float64) []Line {
	if at := slices.IndexFunc(lines, func(l Line) bool { return l.Name == name }); at >= 0 {
		lines[at].Bytes += bytes
		return lines
	}
	return append(lines, Line{Name: name, Bytes: bytes})
}

// BySize returns the lines with the largest first and the unknown ones last: a table of one moment.
func BySize(lines []Line) []Line {
	return slices.SortedStableFunc(slices.Values(lines), func(a, b Line) int {
		switch {
		case a.Unknown != b.Unknown && b.Unknown:
			return -1
		case a.Unknown != b.Unknown:
			return 1
		}
		return cmp.Compare(b.Bytes, a.Bytes)
	})
}

// Sum adds the known lines, in bytes.
func Sum(lines []Line) (bytes float64) {
	for _, line := range lines {
		bytes += line.Bytes
	}
	return bytes
}

// Split returns the lines of a pool, in order, with what they leave of it as Unattributed: negative where they count
// bytes twice. So they add up to the pool by construction.
func Split(pool float64, lines []Line) []Line {
	lines = append(slices.Clone(lines), Line{Name: Unattributed, Bytes: pool - Sum(lines)})
	order := Names()
	slices.SortStableFunc(lines, func(a, b Line) int {
		return cmp.Compare(slices.Index(order, a.Name), slices.Index(order, b.Name))
	})
	return lines
}

// Ledger is the memory of a pool at one moment, in bytes by line. A line that is not in it is not known, or not there:
// that is not 0.
type Ledger map[string]float64

// Of returns the known lines as a ledger.
func Of(lines []Line) Ledger {
	l := Ledger{}
	for _, line := range lines {
		if !line.Unknown {
			l[line.Name] = line.Bytes
		}
	}
	return l
}

// Lines returns the lines in order.
func (l Ledger) Lines() []Line {
	var lines []Line
	for _, name := range InOrder(l) {
		lines = append(lines, Line{Name: name, Bytes: l[name]})
	}
	return lines
}

// Sum adds the lines in order, so that the result does not vary. It is the pool if the ledger is Whole.
func (l Ledger) Sum() (bytes float64) { return Sum(l.Lines()) }

// Whole reports whether the ledger has the remainder, so that its lines add up to the pool.
func (l Ledger) Whole() bool {
	_, whole := l[Unattributed]
	return whole
}

// Free is MemFree, in bytes; false if the ledger does not have it.
func (l Ledger) Free() (bytes float64, known bool) {
	bytes, known = l[Free]
	return bytes + l[FreeCMA], known
}

// LeaveOut takes a line out: its bytes are unattributed then, so that a whole ledger still adds up to the pool.
func (l Ledger) LeaveOut(line string) {
	if l.Whole() && line != Unattributed {
		l[Unattributed] += l[line]
	}
	delete(l, line)
}

// Shared returns the ledger with the lines that another one has too.
func (l Ledger) Shared(with Ledger) Ledger {
	l = maps.Clone(l)
	for _, line := range InOrder(l) {
		if _, shared := with[line]; !shared {
			l.LeaveOut(line)
		}
	}
	return l
}

// Minus returns how much more each line has than in another ledger, of the lines that both have. Bytes of a line that
// only one has are in its remainder. It is nil if they share no line.
func (l Ledger) Minus(other Ledger) Ledger {
	var difference Ledger
	from := other.Shared(l)
	for line, bytes := range l.Shared(other) {
		if difference == nil {
			difference = Ledger{}
		}
		difference[line] = bytes - from[line]
	}
	return difference
}

// InOrder sorts the names of lines in the order of Kinds. Other names are last, by name.
func InOrder[V any](lines map[string]V) []string {
	order := Names()
	place := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	return slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}
