package arm

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestALockNamesItsHolderUntilItIsReleased(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	before := time.Now().Truncate(time.Second)
	file, err := TakeLock(path, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = TakeLock(path, "", 0)
	held, ok := errors.AsType[*LockedError](err)
	if !ok || held.Holder.PID != os.Getpid() || held.Holder.Since.Before(before) {
		t.Errorf("%v", err)
	}
	if found, err := FindLockHolder(path); err != nil || held == nil || found != held.Holder {
		t.Errorf("%v, %v", found, err)
	}
	file.Close()
	if found, err := FindLockHolder(path); err != nil || found != (Holder{}) {
		t.Errorf("%v, %v", found, err)
	}
	again, err := TakeLock(path, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestALockWaitsForAHolderOfAMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	file, err := TakeLock(path, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { file.Close() })
	again, err := TakeLock(path, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestTheHolderOfAnOlderVersionHasNoTime(t *testing.T) {
	if h, err := parseHolder("42\n"); err != nil || h.String() != "process 42" {
		t.Errorf("%v, %v", h, err)
	}
}

func TestAHolderThatHasNotWrittenIsAnotherProcess(t *testing.T) {
	if text := (&LockedError{}).Error(); text != "in use by another process" {
		t.Error(text)
	}
}

// FuzzLockHolder: what is read is a process; an error comes without one.
func FuzzLockHolder(f *testing.F) {
	for _, seed := range []string{"42\n", "42 2026-11-23T20:41:07Z\n", "42 2026-11-23T20:41:07Z guardian\n", "42 ", "-1", "", "1 2 3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if h, err := parseHolder(text); (err == nil) != (h.PID > 0) || err != nil && h != (Holder{}) {
			t.Errorf("%q: %v, %v", text, h, err)
		}
	})
}

func TestALockNamesTheRoleOfItsHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	for _, role := range []string{"guardian", ""} { // the longer text first: none of it may stay
		file, err := TakeLock(path, role, 0)
		if err != nil {
			t.Fatal(err)
		}
		if found, err := FindLockHolder(path); err != nil || found.PID != os.Getpid() || found.Role != role || found.Since.IsZero() {
			t.Errorf("%q: %+v, %v", role, found, err)
		}
		file.Close()
	}
}
