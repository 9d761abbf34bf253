package traffic

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of a trace file. It is held in memory, since its order is complete only at its end.
const (
	maxTraceRows  = 4 << 20
	maxTraceLine  = 4 << 20 // bytes
	maxTraceBytes = 1 << 30
	maxTraceTime  = 365 * 24 * time.Hour
	// maxTraceTokens bounds each length of a row.
	maxTraceTokens = 1 << 20
	// maxTimestamp bounds a timestamp, in nanoseconds.
	maxTimestamp float64 = 1 << 62
)

// Formats of traces.
const (
	formatMooncake = "mooncake"
	formatAzure    = "azure"
)

// azureHeader is the first line of Azure's traces.
const azureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens"

// TraceRow is one recorded request.
type TraceRow struct {
	// Offset is the time since the first request of the trace.
	Offset       time.Duration
	InputTokens  int
	OutputTokens int
	// Blocks name the input's blocks of Trace.BlockTokens each; the last one may be shorter. Two requests that begin with
	// the same names begin with the same tokens. Nil in traces without block names.
	Blocks []int64
}

// Trace is a recorded sequence of requests, by time.
type Trace struct {
	Format string `json:"format" pack:"word"`
	// SHA256 is the hash of the file. It identifies the trace independent of its name.
	SHA256 string `json:"sha256" pack:"sum"`
	// Unit is that of the file's timestamps: ns, us, ms or s; empty if they are dates. Like BlockTokens, it is not part of
	// the hash of a workload, which has the moments and prompts that follow from it.
	Unit string `json:"-"`
	// BlockTokens is how many tokens a block has; 0 if the file names no blocks.
	BlockTokens int        `json:"-"`
	Rows        []TraceRow `json:"-"`

	// While the file is read: the nanoseconds of a unit, and the first and the last timestamp.
	perUnit, first, last float64
}

// TraceUnits are what a trace does not say of itself. Published traces of one form have timestamps in seconds or in
// milliseconds, and blocks of 16 or 512 tokens, so neither is guessed.
type TraceUnits struct {
	// Time is the unit of timestamps, one of TimeUnits; empty if it was not given.
	Time string
	// BlockTokens is how many tokens a block has; 0 if it was not given.
	BlockTokens int
}

// nsPerUnit returns the nanoseconds of a unit of time; 0 if it was not given.
func nsPerUnit(unit string) float64 {
	switch unit {
	case "ns":
		return 1
	case "us":
		return 1e3
	case "ms":
		return 1e6
	case "s":
		return 1e9
	}
	return 0
}

// TimeUnits returns the units of timestamps.
func TimeUnits() []string { return []string{"ns", "us", "ms", "s"} }

// Errors of traces whose units were not given, or do not fit.
var (
	// ErrTimeUnit concerns the unit of timestamps, ErrBlockTokens the tokens of a block.
	ErrTimeUnit    = errors.New("unit of timestamps")
	ErrBlockTokens = errors.New("tokens of a block")
)

// unitError is one of these, with words of its own.
type unitError struct {
	kind error
	says string
}

func (e unitError) Error() string { return e.says }

func (e unitError) Unwrap() error { return e.kind }

func (t *Trace) check() error {
	if len(t.Rows) == 0 {
		return errors.New("the trace has no request")
	}
	return nil
}

func (t *Trace) offset(index int) (time.Duration, bool) {
	if index >= len(t.Rows) {
		return 0, false
	}
	return t.Rows[index].Offset, true
}

// ReadTrace reads a trace in one of two formats, selected by the first line. Offsets count from the earliest row. An
// error names the line, or is an ErrTimeUnit or ErrBlockTokens.
//
// Mooncake (github.com/kvcache-ai/Mooncake, FAST25-release/traces, milliseconds and blocks of 512), and others of the
// same form (Alibaba's Bailian traces, seconds and blocks of 16), one object a line, hash_ids optional:
//
//	{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 2353]}
//
// Azure LLM inference trace (github.com/Azure/AzurePublicDataset), times with or without zone:
//
//	TIMESTAMP,ContextTokens,GeneratedTokens
//	2023-11-16 18:17:03.9799600,4808,10
func ReadTrace(file io.Reader, units TraceUnits) (*Trace, error) {
	sum := sha256.New()
	limited := &io.LimitedReader{R: file, N: maxTraceBytes + 1}
	lines := bufio.NewScanner(io.TeeReader(limited, sum))
	lines.Buffer(make([]byte, 0, 64<<10), maxTraceLine)
	t := &Trace{Unit: units.Time, BlockTokens: units.BlockTokens}
	if err := t.read(lines); err != nil {
		return nil, err
	}
	if limited.N <= 0 {
		return nil, fmt.Errorf("longer than %d MiB", maxTraceBytes>>20)
	}
	t.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := t.checkUnits(); err != nil {
		return nil, err
	}
	return t, t.order()
}

// read reads all lines.
func (t *Trace) read(lines *bufio.Scanner) error {
	number := 1
	for ; lines.Scan(); number++ {
		line := bytes.TrimSpace(bytes.TrimPrefix(lines.Bytes(), []byte("\xef\xbb\xbf")))
		if len(line) == 0 {
			continue
		}
		if err := t.add(line); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d: longer than %d MiB", number, maxTraceLine>>20)
	}
	return lines.Err()
}

// add adds one line; the first one selects the format.
func (t *Trace) add(line []byte) error {
	switch {
	case t.Format == "" && line[0] == '{':
		t.Format = formatMooncake
		t.perUnit, t.first = nsPerUnit(t.Unit), math.MaxFloat64
	case t.Format == "" && strings.EqualFold(string(line), azureHeader):
		t.Format = formatAzure
		return nil
	case t.Format == "":
		return fmt.Errorf("neither an object of a mooncake trace nor %s", azureHeader)
	}
	parse := t.parseMooncake
	if t.Format == formatAzure {
		parse = parseAzure
	}
	row, err := parse(line)
	if err != nil {
		return err
	}
	if len(t.Rows) == maxTraceRows {
		return fmt.Errorf("more than %d requests: cut the trace", maxTraceRows)
	}
	t.Rows = append(t.Rows, row)
	return nil
}

// checkUnits refuses units that were not given, that do not fit the rows, or that the trace has no use for.
func (t *Trace) checkUnits() error {
	blocks, tokens := 0, 0 // of the row whose blocks bound their size best
	for _, row := range t.Rows {
		if len(row.Blocks) > 0 && (blocks == 0 || row.InputTokens*blocks < tokens*len(row.Blocks)) {
			blocks, tokens = len(row.Blocks), row.InputTokens
		}
	}
	switch {
	case t.Format == formatAzure && t.Unit != "":
		return unitError{ErrTimeUnit, "the trace has dates, which need no unit"}
	case t.Format == formatMooncake && t.Unit == "":
		span := t.last - t.first
		return unitError{ErrTimeUnit, fmt.Sprintf("the trace does not say the unit of its timestamps: its %d requests span %.4g s if that is s, %.4g s if it is ms; give one of %s",
			len(t.Rows), span, span/1e3, strings.Join(TimeUnits(), ", "))}
	case blocks == 0 && t.BlockTokens > 0:
		return unitError{ErrBlockTokens, "the trace names no blocks"}
	case blocks > 0 && t.BlockTokens == 0:
		return unitError{ErrBlockTokens, fmt.Sprintf("the trace does not say how many tokens a block has: %d hash_ids name %d tokens, so %s", blocks, tokens, fittingBlocks(blocks, tokens))}
	case blocks > 0 && (tokens+t.BlockTokens-1)/t.BlockTokens < blocks:
		return unitError{ErrBlockTokens, fmt.Sprintf("%d hash_ids of %d tokens each are more than input_length %d: %s", blocks, t.BlockTokens, tokens, fittingBlocks(blocks, tokens))}
	}
	return nil
}

// fittingBlocks names the usual sizes of a block with which so many blocks name so many tokens.
func fittingBlocks(blocks, tokens int) string {
	var fitting []string
	for _, size := range []int{1, 16, 32, 64, 128, 256, 512, 1024} {
		if (tokens+size-1)/size == blocks {
			fitting = append(fitting, strconv.Itoa(size))
		}
	}
	if len(fitting) == 0 {
		return fmt.Sprintf("blocks of about %d fit", max(tokens/blocks, 1))
	}
	return "blocks of " + strings.Join(fitting, " or ") + " fit"
}

// String describes the trace by its own figures, so that a wrong unit is seen before the load.
func (t *Trace) String() string {
	span, longest, named, tokens := t.Rows[len(t.Rows)-1].Offset, 0, 0, 0
	for _, row := range t.Rows {
		longest, tokens = max(longest, row.InputTokens), tokens+row.InputTokens
		named += min(len(row.Blocks)*t.BlockTokens, row.InputTokens)
	}
	text := fmt.Sprintf("the trace has %d requests", len(t.Rows))
	if span > 0 {
		text += fmt.Sprintf(" in %s, %.4g a second", span, float64(len(t.Rows))/span.Seconds())
	} else {
		text += " at one moment"
	}
	if t.Unit != "" {
		text += fmt.Sprintf(" (timestamps in %s)", t.Unit)
	}
	text += fmt.Sprintf(", the longest prompt has %d tokens", longest)
	if t.BlockTokens > 0 {
		text += fmt.Sprintf(", blocks of %d tokens name %.3g %% of the prompts", t.BlockTokens, 100*float64(named)/float64(tokens))
	}
	return text
}

// order sorts the rows, of which there is at least one, by time, keeps the order of equal times, and sets offsets from the first.
func (t *Trace) order() error {
	slices.SortStableFunc(t.Rows, func(a, b TraceRow) int { return int(min(max(a.Offset-b.Offset, -1), 1)) })
	first := t.Rows[0].Offset
	for i := range t.Rows {
		// An absolute time of another century wraps around; the remainder is negative or long.
		if t.Rows[i].Offset -= first; t.Rows[i].Offset < 0 || t.Rows[i].Offset > maxTraceTime {
			return errors.New("the trace is longer than a year")
		}
	}
	return nil
}

// parseMooncake reads one object.
func (t *Trace) parseMooncake(line []byte) (TraceRow, error) {
	var object struct {
		Timestamp *float64 `json:"timestamp"`
		Input     *int     `json:"input_length"`
		Output    *int     `json:"output_length"`
		Blocks    []int64  `json:"hash_ids"`
	}
	if err := json.Unmarshal(line, &object); err != nil {
		return TraceRow{}, fmt.Errorf("not an object of a mooncake trace: %w", err)
	}
	if object.Timestamp == nil || object.Input == nil || object.Output == nil {
		return TraceRow{}, errors.New("timestamp, input_length or output_length is missing")
	}
	// Times since 1970 are as good as times since the first request.
	ns := *object.Timestamp * t.perUnit
	if !(*object.Timestamp >= 0 && ns <= maxTimestamp) {
		return TraceRow{}, fmt.Errorf("timestamp %v is not from 0 to %.4g %s", *object.Timestamp, maxTimestamp/t.perUnit, t.Unit)
	}
	t.first, t.last = min(t.first, *object.Timestamp), max(t.last, *object.Timestamp)
	row := TraceRow{Offset: time.Duration(math.Round(ns)), InputTokens: *object.Input, OutputTokens: *object.Output, Blocks: object.Blocks}
	if len(row.Blocks) > max(row.InputTokens, 0) {
		return TraceRow{}, fmt.Errorf("%d hash_ids are more than input_length %d", len(row.Blocks), row.InputTokens)
	}
	return row.checked("input_length", "output_length")
}

// parseAzure reads one line of the table.
func parseAzure(line []byte) (TraceRow, error) {
	fields := strings.Split(string(line), ",")
	if len(fields) != 3 {
		return TraceRow{}, fmt.Errorf("%d fields, want %s", len(fields), azureHeader)
	}
	at, err := parseTime(fields[0])
	if err != nil {
		return TraceRow{}, fmt.Errorf("TIMESTAMP %q is no time such as 2023-11-16 18:17:03.9799600", fields[0])
	}
	var row TraceRow
	row.Offset = time.Duration(at.UnixNano())
	if row.InputTokens, err = strconv.Atoi(fields[1]); err != nil {
		return TraceRow{}, fmt.Errorf("ContextTokens %q is no whole number", fields[1])
	}
	if row.OutputTokens, err = strconv.Atoi(fields[2]); err != nil {
		return TraceRow{}, fmt.Errorf("GeneratedTokens %q is no whole number", fields[2])
	}
	return row.checked("ContextTokens", "GeneratedTokens")
}

// parseTime reads the times of 2023 (without zone) and of 2024 (with one).
func parseTime(text string) (time.Time, error) {
	at, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		at, err = time.Parse("2006-01-02 15:04:05Z07:00", text)
	}
	if year := at.Year(); err == nil && (year < 1970 || year > 2200) {
		err = fmt.Errorf("year %d", year)
	}
	return at, err
}

// checked refuses impossible lengths. An output of 0 tokens is an answer that ended at once; a server cannot be asked
// for it, so it becomes 1.
func (r TraceRow) checked(input, output string) (TraceRow, error) {
	if r.InputTokens < 1 || r.InputTokens > maxTraceTokens {
		return TraceRow{}, fmt.Errorf("%s %d is not from 1 to %d", input, r.InputTokens, maxTraceTokens)
	}
	if r.OutputTokens < 0 || r.OutputTokens > maxTraceTokens {
		return TraceRow{}, fmt.Errorf("%s %d is not from 0 to %d", output, r.OutputTokens, maxTraceTokens)
	}
	r.OutputTokens = max(r.OutputTokens, 1)
	return r, nil
}

// RepeatedTokens returns for each row, with blocks of the given number of tokens, how many of its tokens, from the first on, are in blocks that another row begins
// with too: at most so many can hit a prefix cache that was empty before.
func RepeatedTokens(rows []TraceRow, blockTokens int) []int {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	// Sorted by blocks, the row with the longest common beginning is a neighbor.
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(rows[a].Blocks, rows[b].Blocks) })
	repeated := make([]int, len(rows))
	for at := 1; at < len(order); at++ {
		a, b := order[at-1], order[at]
		common := commonBlocks(rows[a].Blocks, rows[b].Blocks) * blockTokens
		for _, row := range []int{a, b} {
			repeated[row] = max(repeated[row], min(common, rows[row].InputTokens))
		}
	}
	return repeated
}

func commonBlocks(a, b []int64) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
