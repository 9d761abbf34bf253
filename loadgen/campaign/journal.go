package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

// Events of the journal.
const (
	eventBegin    = "begin"    // an invocation begins
	eventSlot     = "slot"     // a run begins in a slot
	eventGates    = "gates"    // the gates before it have opened or timed out
	eventUp       = "up"       // the engine is ready
	eventDown     = "down"     // the engine is stopped
	eventRun      = "run"      // the run has ended
	eventSkip     = "skip"     // a slot is skipped, since its arm is optional
	eventLeftover = "leftover" // of an earlier invocation
	eventAdd      = "add"      // a round is repeated after the slots of the plan
	eventEnd      = "end"      // an invocation ends
)

// Event is a line of journal.jsonl. Lines are only appended. Each is durable before the campaign continues.
type Event struct {
	At    time.Time `json:"at"`
	Event string    `json:"event"`
	// Slot and the fields below it name the position in the plan's order.
	Slot      int    `json:"slot,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`
	Run       string `json:"run,omitempty"`
	Model     string `json:"model,omitempty"`
	Arm       string `json:"arm,omitempty"`
	Scenario  string `json:"scenario,omitempty"`
	Iteration int    `json:"iteration,omitempty"`
	// Status is of a run, State of the campaign.
	Status Status  `json:"status,omitempty"`
	State  State   `json:"state,omitempty"`
	Text   string  `json:"text,omitempty"` // the reason, or a description
	BootID string  `json:"boot_id,omitempty"`
	PID    int     `json:"pid,omitempty"`
	Plan   string  `json:"plan_sha256,omitempty"`
	Second float64 `json:"seconds,omitempty"`
	// Selected is how many slots an invocation has to make.
	Selected int           `json:"selected,omitempty"`
	Gates    []rundir.Gate `json:"gates,omitempty"`
	// Celsius and MemFree are values of the machine immediately before the engine's start.
	Celsius *float64 `json:"celsius,omitempty"`
	MemFree *float64 `json:"mem_free_bytes,omitempty"`
	Proven  []string `json:"proven,omitempty"`
	// Served is the model name in the answers of a run's server, if the plan names none. Later runs must have the
	// same.
	Served string `json:"served_model,omitempty"`
	// Decides is what an invocation decides by. Compared is true if the arms were compared before it.
	Decides  *Decides `json:"decides,omitempty"`
	Compared bool     `json:"compared,omitempty"`
	// Placement is where an invocation places the processes of arms.
	Placement string `json:"placement,omitempty"`
	// Repeats is the round that an added round repeats. Iteration is the added round's number and Slot its first slot.
	Repeats int `json:"repeats_round,omitempty"`
}

// mostJournal is the most of a journal that is read, in bytes.
const mostJournal = 256 << 20

// readJournal reads the events. It leaves out an incomplete last line. whole is the length of the complete lines in
// bytes.
func readJournal(path string) (events []Event, whole int64, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostJournal+1))
	if err == nil && len(text) > mostJournal {
		err = fmt.Errorf("%s: more than %d MiB", path, mostJournal>>20)
	}
	if err != nil {
		return nil, 0, err
	}
	events, n, err := parseJournal(text)
	if err != nil {
		err = fmt.Errorf("%s:%w", path, err)
	}
	return events, int64(n), err
}

// parseJournal parses lines. whole is the length of the complete lines in bytes.
func parseJournal(text []byte) (events []Event, whole int, err error) {
	for number := 1; ; number++ {
		line, _, complete := bytes.Cut(text[whole:], []byte("\n"))
		if !complete {
			return events, whole, nil // incomplete, or empty
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, 0, fmt.Errorf("%d: %w", number, err)
		}
		events = append(events, e)
		whole += len(line) + 1
	}
}

// journal is the file that events are appended to.
type journal struct {
	file *os.File
	size int64
}

// openJournal opens the journal for appending after its last complete line.
func openJournal(dir string) (*journal, []Event, error) {
	path := filepath.Join(dir, JournalFile)
	events, whole, err := readJournal(path)
	if err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o640)
	if err == nil {
		err = file.Truncate(whole)
	}
	if err == nil {
		_, err = file.Seek(whole, io.SeekStart)
	}
	return &journal{file, whole}, events, err
}

// add writes an event and makes it durable. After an error the file ends with the last complete line.
func (j *journal) add(e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	n, err := j.file.Write(append(line, '\n'))
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		_ = j.file.Truncate(j.size)
		_, _ = j.file.Seek(j.size, io.SeekStart)
		return fmt.Errorf("%s: %w", JournalFile, err)
	}
	j.size += int64(n)
	return nil
}
