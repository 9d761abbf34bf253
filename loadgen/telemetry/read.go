package telemetry

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/umascope/umascope/loadgen/runfile"
)

const (
	// maxLineBytes bounds one line of the file.
	maxLineBytes = 1 << 20
	// maxLogBytes bounds the file after decompression: 300 series that all change make about 5 kB a sample, so this is
	// half a day at ten samples a second, and five days at one. Of the series of a machine with many containers a tenth
	// changes.
	maxLogBytes = 2 << 30
)

// Read reads a telemetry.jsonl.gz. A truncated file, as after a kill, is read up to its end and is Torn; any other
// fault is an error that names the line.
func Read(path string) (*Log, error) {
	file, err := runfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	defer file.Close()
	log, err := decode(file)
	if err != nil {
		return nil, fmt.Errorf("telemetry: %s: %w", path, err)
	}
	return log, nil
}

// decode reads the compressed form.
func decode(compressed io.Reader) (*Log, error) {
	plain, err := gzip.NewReader(compressed)
	if err != nil {
		return nil, fmt.Errorf("not a gzip file: %w", err)
	}
	return decodeLines(plain)
}

// decodeLines reads the lines, up to an incomplete last one.
func decodeLines(plain io.Reader) (*Log, error) {
	limited := &io.LimitedReader{R: plain, N: maxLogBytes}
	lines := bufio.NewReader(limited)
	r := reader{log: &Log{Torn: true}}
	var buffer []byte
	for number := 1; ; number++ {
		text, err := runfile.ReadLine(lines, buffer[:0], maxLineBytes)
		buffer = text
		if limited.N == 0 {
			return nil, fmt.Errorf("more than %d MiB of text", maxLogBytes>>20)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return r.log, r.emptiness(number)
		}
		if err == nil {
			err = r.take(number, text)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
}

// reader builds a log from lines and refuses lines that no sampler writes.
type reader struct {
	log *Log
}

// emptiness returns the error of a file that ends before its header does.
func (r *reader) emptiness(lines int) error {
	if lines == 1 {
		return errors.New("no header")
	}
	return nil
}

func (r *reader) take(number int, text []byte) error {
	if number == 1 {
		return r.takeHeader(text)
	}
	if !r.log.Torn {
		return errors.New("text after the end")
	}
	var l Line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	switch {
	case l.Sample != nil:
		return r.takeSample(*l.Sample)
	case l.Series != nil:
		return r.takeSeries(*l.Series)
	case l.Gap != nil:
		return r.takeGap(*l.Gap)
	case l.Phase != nil:
		return r.takePhase(*l.Phase)
	case l.Dropped != nil:
		return r.takeDropped(*l.Dropped)
	case l.End:
		r.log.Torn = false
		return nil
	default:
		return errors.New("unknown kind of line")
	}
}

func (r *reader) takeHeader(text []byte) error {
	var h Header
	if err := json.Unmarshal(text, &h); err != nil {
		return err
	}
	if h.Schema != schema {
		return fmt.Errorf("schema %q, expected %q", h.Schema, schema)
	}
	r.log.IntervalNS = h.IntervalNS
	for _, source := range h.Sources {
		if r.log.Source(source.Name) != nil {
			return fmt.Errorf("source %q twice", source.Name)
		}
		r.log.Sources = append(r.log.Sources, &SourceLog{
			Name: source.Name, URL: source.URL, Foreign: source.Foreign, Dropped: map[string]int{}, borders: map[int]int64{},
		})
	}
	return nil
}

func (r *reader) source(index int) (*SourceLog, error) {
	if index < 0 || index >= len(r.log.Sources) {
		return nil, fmt.Errorf("source %d is not in the header", index)
	}
	return r.log.Sources[index], nil
}

func (r *reader) takeSeries(l seriesLine) error {
	source, err := r.source(l.Source)
	if err != nil {
		return err
	}
	if len(source.Series) == SeriesLimit {
		return fmt.Errorf("more than %d series", SeriesLimit)
	}
	source.add(&Series{Name: l.Name, Labels: l.Labels, Counter: l.Counter})
	return nil
}

func (r *reader) takeSample(l sampleLine) error {
	source, err := r.source(l.Source)
	if err != nil {
		return err
	}
	if len(l.Index) != len(l.Values) {
		return fmt.Errorf("%d values for %d series", len(l.Values), len(l.Index))
	}
	if err := source.ascends(l.AtNS); err != nil {
		return err
	}
	if l.Border != nil {
		if *l.Border < 0 || *l.Border >= len(r.log.Phases) {
			return fmt.Errorf("border %d before its phase", *l.Border)
		}
		source.borders[*l.Border] = l.AtNS
	}
	source.Samples = append(source.Samples, l.AtNS)
	for i, index := range l.Index {
		if err := source.change(index, change{atNS: l.AtNS, value: l.Values[i]}); err != nil {
			return err
		}
	}
	for _, index := range l.Gone {
		if err := source.change(index, change{atNS: l.AtNS, gone: true}); err != nil {
			return err
		}
	}
	return nil
}

// ascends checks that a sample or gap does not come before the source's last one.
func (s *SourceLog) ascends(at int64) error {
	last := int64(math.MinInt64)
	if n := len(s.Samples); n > 0 {
		last = s.Samples[n-1]
	}
	if n := len(s.Gaps); n > 0 {
		last = max(last, s.Gaps[n-1].AtNS)
	}
	if at < last {
		return fmt.Errorf("offset %d after %d", at, last)
	}
	return nil
}

func (s *SourceLog) change(index int, c change) error {
	if index < 0 || index >= len(s.Series) {
		return fmt.Errorf("series %d was not introduced", index)
	}
	s.Series[index].changes = append(s.Series[index].changes, c)
	return nil
}

func (r *reader) takeGap(l gapLine) error {
	source, err := r.source(l.Source)
	if err != nil {
		return err
	}
	if l.Samples < 1 {
		return fmt.Errorf("a gap of %d samples", l.Samples)
	}
	if err := source.ascends(l.AtNS); err != nil {
		return err
	}
	source.Gaps = append(source.Gaps, Gap{l.AtNS, l.Samples, l.Reason})
	return nil
}

func (r *reader) takePhase(l phaseLine) error {
	if n := len(r.log.Phases); n > 0 && l.AtNS < r.log.Phases[n-1].AtNS {
		return fmt.Errorf("phase %q before the one that it follows", l.Name)
	}
	r.log.Phases = append(r.log.Phases, Phase{l.Name, l.AtNS})
	return nil
}

func (r *reader) takeDropped(l droppedLine) error {
	source, err := r.source(l.Source)
	if err != nil {
		return err
	}
	if l.Series < 1 {
		return fmt.Errorf("%d series of %s dropped", l.Series, l.Name)
	}
	source.Dropped[l.Name] += l.Series
	return nil
}
