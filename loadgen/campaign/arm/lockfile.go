package arm

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Holder is the process that holds a lock.
type Holder struct {
	PID int
	// Since is when the process took the lock; zero if the file has no time.
	Since time.Time
	// Role is what the process holds the lock for, in one word; empty means the usual role.
	Role string
}

// String describes the holder for people, in local time.
func (h Holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	text := strings.TrimSpace(h.Role + " process " + strconv.Itoa(h.PID))
	if !h.Since.IsZero() {
		text += " since " + h.Since.Local().Format(time.DateTime)
	}
	return text
}

// LockedError is the error if another process holds the lock.
type LockedError struct{ Holder Holder }

func (e *LockedError) Error() string { return "in use by " + e.Holder.String() }

// mostLockText is the most of a lock file that is read, in bytes.
const mostLockText = 100

// lockPause is the time between two attempts to take a lock.
const lockPause = 20 * time.Millisecond

// TakeLock takes the lock until the file is closed, for a role of one word or the usual one. It creates the file if
// needed. Another process may hold the lock for a moment, such as one that calls FindLockHolder; patience is how long TakeLock waits
// for it.
func TakeLock(path, role string, patience time.Duration) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o640)
	if err != nil {
		return nil, err
	}
	if err := flock(file, patience); err != nil {
		defer file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			holder, _ := readHolder(file) // a process that has not written its line yet is another process
			return nil, &LockedError{holder}
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	text := strings.TrimSpace(fmt.Sprintf("%d %s %s", os.Getpid(), time.Now().UTC().Format(time.RFC3339), role)) + "\n"
	if _, err = file.WriteAt([]byte(text), 0); err == nil { // overwrite the last holder's text, which needs no new space on a full disk
		err = file.Truncate(int64(len(text)))
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

func flock(file *os.File, patience time.Duration) error {
	for began := time.Now(); ; time.Sleep(lockPause) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Since(began) >= patience {
			return err
		}
	}
}

// FindLockHolder returns the process that holds the lock, or the zero Holder if none does.
func FindLockHolder(path string) (Holder, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Holder{}, nil
	}
	if err != nil {
		return Holder{}, err
	}
	defer file.Close()
	if unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
		return Holder{}, nil // closing the file releases it
	}
	holder, err := readHolder(file)
	if err != nil {
		return Holder{}, fmt.Errorf("%s: %w", path, err)
	}
	return holder, nil
}

func readHolder(file *os.File) (Holder, error) {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, mostLockText))
	if err != nil {
		return Holder{}, err
	}
	return parseHolder(string(text))
}

// parseHolder reads the line "PID TIME ROLE", where TIME is in RFC 3339. ROLE, or TIME and ROLE, may be missing.
func parseHolder(text string) (Holder, error) {
	line, _, _ := strings.Cut(text, "\n")
	number, rest, timed := strings.Cut(strings.TrimSpace(line), " ")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 0 {
		return Holder{}, fmt.Errorf("%q is no process", number)
	}
	h := Holder{PID: pid}
	if timed {
		since, role, _ := strings.Cut(rest, " ")
		if h.Since, err = time.Parse(time.RFC3339, since); err != nil {
			return Holder{}, fmt.Errorf("%q is no time", since)
		}
		h.Role = role
	}
	return h, nil
}
