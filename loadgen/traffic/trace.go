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
)

// BlockTokens is how many tokens one block of a mooncake trace has.
const BlockTokens = 512

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
	// Blocks name the input's blocks of BlockTokens each; the last one may be shorter. Two requests that begin with the
	// same names begin with the same tokens. Nil in traces without block names.
	Blocks []int64
}

// Trace is a recorded sequence of requests, by time.
type Trace struct {
	Format string `json:"format"`
	// SHA256 is the hash of the file. It identifies the trace independent of its name.
	SHA256 string     `json:"sha256"`
	Rows   []TraceRow `json:"-"`
}

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
// error names the line.
//
// Mooncake (github.com/kvcache-ai/Mooncake, FAST25-release/traces), one object a line, timestamp in milliseconds,
// hash_ids optional:
//
//	{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 2353]}
//
// Azure LLM inference trace (github.com/Azure/AzurePublicDataset), times with or without zone:
//
//	TIMESTAMP,ContextTokens,GeneratedTokens
//	2023-11-16 18:17:03.9799600,4808,10
func ReadTrace(file io.Reader) (*Trace, error) {
	sum := sha256.New()
	limited := &io.LimitedReader{R: file, N: maxTraceBytes + 1}
	lines := bufio.NewScanner(io.TeeReader(limited, sum))
	lines.Buffer(make([]byte, 0, 64<<10), maxTraceLine)
	t := &Trace{}
	if err := t.read(lines); err != nil {
		return nil, err
	}
	if limited.N <= 0 {
		return nil, fmt.Errorf("longer than %d MiB", maxTraceBytes>>20)
	}
	t.SHA256 = hex.EncodeToString(sum.Sum(nil))
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
	case t.Format == "" && strings.EqualFold(string(line), azureHeader):
		t.Format = formatAzure
		return nil
	case t.Format == "":
		return fmt.Errorf("neither an object of a mooncake trace nor %s", azureHeader)
	}
	parse := parseMooncake
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

// order sorts the rows by time, keeps the order of equal times, and sets offsets from the first.
func (t *Trace) order() error {
	slices.SortStableFunc(t.Rows, func(a, b TraceRow) int { return int(min(max(a.Offset-b.Offset, -1), 1)) })
	if err := t.check(); err != nil {
		return err
	}
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
func parseMooncake(line []byte) (TraceRow, error) {
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
	ms := *object.Timestamp
	if !(ms >= 0 && ms <= float64(maxTraceTime.Milliseconds())) {
		return TraceRow{}, fmt.Errorf("timestamp %v is not a number of milliseconds within a year", ms)
	}
	row := TraceRow{Offset: duration(ms / 1e3), InputTokens: *object.Input, OutputTokens: *object.Output, Blocks: object.Blocks}
	if most := (row.InputTokens + BlockTokens - 1) / BlockTokens; len(row.Blocks) > max(most, 0) {
		return TraceRow{}, fmt.Errorf("%d hash_ids of %d tokens each are more than input_length %d", len(row.Blocks), BlockTokens, row.InputTokens)
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

// RepeatedTokens returns for each row how many of its tokens, from the first on, are in blocks that another row begins
// with too: at most so many can hit a prefix cache that was empty before.
func RepeatedTokens(rows []TraceRow) []int {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	// Sorted by blocks, the row with the longest common beginning is a neighbor.
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(rows[a].Blocks, rows[b].Blocks) })
	repeated := make([]int, len(rows))
	for at := 1; at < len(order); at++ {
		a, b := order[at-1], order[at]
		common := commonBlocks(rows[a].Blocks, rows[b].Blocks) * BlockTokens
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
