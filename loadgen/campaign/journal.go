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

// What happened, in the journal.
const (
	eventBegin    = "begin"    // an invocation begins
	eventSlot     = "slot"     // a run begins in a slot
	eventGates    = "gates"    // what was waited for before it
	eventUp       = "up"       // the engine is ready
	eventDown     = "down"     // the engine is stopped
	eventRun      = "run"      // the run is over
	eventSkip     = "skip"     // a slot is given up, since its arm is optional
	eventLeftover = "leftover" // of an invocation before this one
	eventAdd      = "add"      // a round is repeated behind the slots of the plan
	eventEnd      = "end"      // an invocation ends
)

// Event is a line of journal.jsonl. Lines are only ever added, each durable before what it says goes on.
type Event struct {
	At    time.Time `json:"at"`
	Event string    `json:"event"`
	// Slot and the rest of its block name the place in the plan's order.
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
	Text   string  `json:"text,omitempty"` // why, or what
	BootID string  `json:"boot_id,omitempty"`
	PID    int     `json:"pid,omitempty"`
	Plan   string  `json:"plan_sha256,omitempty"`
	Second float64 `json:"seconds,omitempty"`
	// Selected is how many slots an invocation has to go through.
	Selected int           `json:"selected,omitempty"`
	Gates    []rundir.Gate `json:"gates,omitempty"`
	// Celsius and MemFree are of the machine when the engine was about to be started.
	Celsius *float64 `json:"celsius,omitempty"`
	MemFree *float64 `json:"mem_free_bytes,omitempty"`
	Proven  []string `json:"proven,omitempty"`
	// Served is the model that the server of a run answered as, if the plan names none: later runs are held to it.
	Served string `json:"served_model,omitempty"`
	// Decides is what an invocation decides by, Compared says that the arms were compared before it.
	Decides  *Decides `json:"decides,omitempty"`
	Compared bool     `json:"compared,omitempty"`
	// Repeats is the round that an added one repeats. Iteration is that of the added one and Slot its first.
	Repeats int `json:"repeats_round,omitempty"`
}

// mostJournal bounds what is read of a journal.
const mostJournal = 256 << 20

// readJournal reads the events. A last line that was torn is left out; whole is how many bytes the rest has.
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

// parseJournal reads lines; whole is how many bytes those have that are complete.
func parseJournal(text []byte) (events []Event, whole int, err error) {
	for number := 1; ; number++ {
		line, _, complete := bytes.Cut(text[whole:], []byte("\n"))
		if !complete {
			return events, whole, nil // torn, or nothing
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, 0, fmt.Errorf("%d: %w", number, err)
		}
		events = append(events, e)
		whole += len(line) + 1
	}
}

// journal is the file that events are added to.
type journal struct {
	file *os.File
	size int64
}

// openJournal opens the journal behind its last whole line.
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

// add writes an event and makes it durable. After an error the file ends with the last whole line.
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

func (j *journal) close() error { return j.file.Close() }
