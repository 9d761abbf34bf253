package campaign

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lock keeps a second invocation out of the folder. The kernel gives it back, however the holder ends.
func lock(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := flock(file); err != nil {
		defer file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			pid, _ := holder(dir)
			return nil, fmt.Errorf("%s: a campaign runs there already, as process %d", dir, pid)
		}
		return nil, fmt.Errorf("%s: %w", lockFile, err)
	}
	if err := file.Truncate(0); err == nil {
		_, err = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
		if err != nil {
			file.Close()
			return nil, fmt.Errorf("%s: %w", lockFile, err)
		}
	}
	return file, nil
}

// lockPatience is how long a lock is waited for that somebody has for a moment: who looks whether there is
// a holder, or a process that a killed holder was about to start, until it is a program of its own.
const lockPatience = time.Second

func flock(file *os.File) error {
	for began := time.Now(); ; time.Sleep(lockPatience / 20) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Since(began) > lockPatience {
			return err
		}
	}
}

// holder is the process that carries out the campaign of a folder; 0 if none does.
func holder(dir string) (int, error) {
	file, err := os.Open(filepath.Join(dir, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
		return 0, nil // given back when the file is closed
	}
	text := make([]byte, 32)
	n, _ := file.Read(text)
	return strconv.Atoi(strings.TrimSpace(string(text[:n])))
}

// Stop asks the process that carries out the campaign to end: at once, as Ctrl-C does, or when the run
// that it makes is over. It returns that process, 0 if there is none.
func Stop(dir string, afterRun bool) (pid int, err error) {
	pid, err = holder(dir)
	if err != nil || pid == 0 {
		return 0, err
	}
	if afterRun {
		return pid, os.WriteFile(filepath.Join(dir, stopFile), nil, 0o644)
	}
	return pid, unix.Kill(pid, unix.SIGINT)
}

// Holder is the process that carries out the campaign of a folder; 0 if none does.
func Holder(dir string) (int, error) { return holder(dir) }
