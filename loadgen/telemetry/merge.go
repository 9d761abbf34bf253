package telemetry

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/umascope/umascope/loadgen/runfile"
)

// Part is the telemetry of one of the processes that shared a load.
type Part struct {
	// Path is the path of its telemetry.jsonl.gz.
	Path string
	// ShiftNS is added to its offsets, so that they count from the start of the whole run.
	ShiftNS int64
}

// Merged is the outcome of the merge.
type Merged struct {
	// From is the index of the part that each source was taken from, by the source's name.
	From map[string]int
	// Elsewhere are the names of the sources that another part read at another address.
	Elsewhere []string
	// Torn are the indexes of the parts whose file ends in the middle.
	Torn []int
}

// Merge writes one file from the telemetry of several processes. A source is named after the host that it measures. A
// source that several processes followed is taken once, from the part that covers it best: two samplers of one page
// would count everything twice. The phases are those of the whole run, with the moments at which they began; a border
// stays the sample that its own process took. Lines are written in order of time, with one line of each part in memory;
// the survey before it reads one part at a time.
func Merge(path string, parts []Part, phases []Phase) (Merged, error) {
	m := merger{phases: phases, numbers: map[string]int{}}
	for i, part := range parts {
		if err := m.survey(i, part); err != nil {
			return Merged{}, err
		}
	}
	if len(m.best) == 0 {
		return Merged{}, errors.New("telemetry: no source in any part")
	}
	out, err := newWriter(path, m.header())
	if err != nil {
		return Merged{}, err
	}
	m.out = out
	err = m.write(parts)
	if _, closeErr := out.close(); err == nil && closeErr != nil {
		err = fmt.Errorf("telemetry: %w", closeErr)
	}
	return m.merged(), err
}

// merger makes one file of several.
type merger struct {
	phases  []Phase
	out     *writer
	written int // phases

	numbers    map[string]int // index of a source in best
	best       []coverage
	intervalNS int64
	elsewhere  []string
	torn       []int
}

// coverage is how well a part follows a source.
type coverage struct {
	part    int
	header  headerSource
	missing int // borders
	samples int
}

// better compares whole phases first: without its borders a phase has no figures at all.
func (c coverage) better(than coverage) bool {
	if c.missing != than.missing {
		return c.missing < than.missing
	}
	return c.samples > than.samples
}

// survey reads a part and keeps the sources that it covers best so far.
func (m *merger) survey(part int, p Part) error {
	log, err := Read(p.Path)
	if err != nil {
		return err
	}
	if log.Torn {
		m.torn = append(m.torn, part)
	}
	m.intervalNS = max(m.intervalNS, log.IntervalNS)
	for _, source := range log.Sources {
		c := coverage{part, headerSource{source.Name, source.URL, source.Foreign}, len(log.MissingBorders(source)), len(source.Samples)}
		at, known := m.numbers[source.Name]
		if !known {
			m.numbers[source.Name] = len(m.best)
			m.best = append(m.best, c)
			continue
		}
		if m.best[at].header != c.header && !slices.Contains(m.elsewhere, source.Name) {
			m.elsewhere = append(m.elsewhere, source.Name)
		}
		if c.better(m.best[at]) {
			m.best[at] = c
		}
	}
	return nil
}

func (m *merger) header() Header {
	h := Header{Schema: schema, IntervalNS: m.intervalNS, PerSource: SeriesLimit}
	for _, c := range m.best {
		h.Sources = append(h.Sources, c.header)
	}
	return h
}

func (m *merger) merged() Merged {
	merged := Merged{From: map[string]int{}, Elsewhere: m.elsewhere, Torn: m.torn}
	for _, c := range m.best {
		merged.From[c.header.Name] = c.part
	}
	return merged
}

// write writes the lines of all parts.
func (m *merger) write(parts []Part) error {
	var open []*partLines
	defer func() {
		for _, p := range open {
			p.close()
		}
	}()
	for i, part := range parts {
		if !slices.ContainsFunc(m.best, func(c coverage) bool { return c.part == i }) {
			continue
		}
		p, err := m.open(i, part)
		if err != nil {
			return err
		}
		open = append(open, p)
	}
	for {
		next := earliest(open)
		if next == nil {
			m.begin(len(m.phases), math.MaxInt64)
			m.out.put(Line{End: true})
			return nil
		}
		m.pass(next)
		if err := next.read(); err != nil {
			return fmt.Errorf("telemetry: %s: %w", next.path, err)
		}
	}
}

// earliest returns the part whose line is due; nil if all have ended.
func earliest(parts []*partLines) *partLines {
	var first *partLines
	for _, p := range parts {
		if !p.ended && (first == nil || p.atNS < first.atNS) {
			first = p
		}
	}
	return first
}

// pass writes the line of a part, after the phases that it belongs to.
func (m *merger) pass(p *partLines) {
	if p.line.Sample != nil && p.line.Sample.Border != nil {
		m.begin(*p.line.Sample.Border+1, p.atNS)
	} else {
		m.begin(0, p.atNS)
	}
	m.out.put(p.line)
}

// begin writes the phases that have begun, and the first ones up to a number in any case.
func (m *merger) begin(number int, atNS int64) {
	for ; m.written < len(m.phases) && (m.written < number || m.phases[m.written].AtNS <= atNS); m.written++ {
		p := m.phases[m.written]
		m.out.put(Line{Phase: &phaseLine{p.AtNS, p.Name}})
	}
}

// partLines are the kept lines of a part, one at a time.
type partLines struct {
	path    string
	file    *os.File
	lines   *bufio.Reader
	buffer  []byte
	shiftNS int64
	sources map[int]int // number here to number in the merged file, of the sources that are kept
	borders map[int]int // the same of phases
	phases  []Phase     // of the whole run
	begun   int         // phases of this part

	line  Line
	atNS  int64 // in the whole run; lines without a time have that of the line before them
	ended bool
}

// open opens a part and reads its first line.
func (m *merger) open(number int, part Part) (*partLines, error) {
	file, err := runfile.Open(part.Path)
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	p := &partLines{
		path: part.Path, file: file, shiftNS: part.ShiftNS, phases: m.phases,
		sources: map[int]int{}, borders: map[int]int{}, atNS: math.MinInt64,
	}
	plain, err := gzip.NewReader(file)
	if err == nil {
		p.lines = bufio.NewReader(plain)
		err = p.readHeader(m, number)
	}
	if err == nil {
		err = p.read()
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("telemetry: %s: %w", part.Path, err)
	}
	return p, nil
}

func (p *partLines) close() { _ = p.file.Close() } // it was only read

// readHeader selects the sources of the part that are kept.
func (p *partLines) readHeader(m *merger, number int) error {
	text, err := runfile.ReadLine(p.lines, nil, maxLineBytes)
	if err != nil {
		return err
	}
	var h Header
	if err := json.Unmarshal(text, &h); err != nil {
		return err
	}
	for i, source := range h.Sources {
		if at := m.numbers[source.Name]; m.best[at].part == number {
			p.sources[i] = at
		}
	}
	return nil
}

// read advances to the next kept line. The survey has read the file before and has reported its errors.
func (p *partLines) read() error {
	for {
		text, err := runfile.ReadLine(p.lines, p.buffer[:0], maxLineBytes)
		p.buffer = text
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			p.ended = true
			return nil
		}
		if err != nil {
			return err
		}
		p.line = Line{}
		if err := json.Unmarshal(text, &p.line); err != nil {
			return err
		}
		if p.take() {
			return nil
		}
	}
}

// take converts the line to the whole run; false if it is not part of it.
func (p *partLines) take() bool {
	switch l := &p.line; {
	case l.Phase != nil:
		// The merged file has its own phase lines; this line only gives the border's number.
		name := l.Phase.Name
		if at := slices.IndexFunc(p.phases, func(phase Phase) bool { return phase.Name == name }); at >= 0 {
			p.borders[p.begun] = at
		}
		p.begun++
		return false
	case l.Sample != nil:
		l.Sample.Border = p.border(l.Sample.Border)
		return p.move(&l.Sample.Source, &l.Sample.AtNS)
	case l.Gap != nil:
		return p.move(&l.Gap.Source, &l.Gap.AtNS)
	case l.Series != nil:
		return p.move(&l.Series.Source, nil)
	case l.Dropped != nil:
		return p.move(&l.Dropped.Source, nil)
	}
	return false
}

// border returns the number of a phase in the whole run, or nil if the whole run does not have it.
func (p *partLines) border(own *int) *int {
	if own == nil {
		return nil
	}
	if at, known := p.borders[*own]; known {
		return &at
	}
	return nil
}

// move numbers the source and shifts the moment of a line.
func (p *partLines) move(source *int, atNS *int64) bool {
	number, taken := p.sources[*source]
	if !taken {
		return false
	}
	*source = number
	if atNS != nil {
		*atNS += p.shiftNS
		p.atNS = *atNS
	}
	return true
}
