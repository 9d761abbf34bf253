package arm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/subprocess"
)

// guardianLog is the file in LogsFolder that a guardian writes when it stops an arm.
const guardianLog = "guardian.log"

// guardianRole is the role of the lock's holder while a guardian stops the arm.
const guardianRole = "guardian"

// orphanDelay is how long a guardian waits before it looks for processes: a process that its owner was about to
// execute when it was killed does not have the mark in its environment yet.
const orphanDelay = 50 * time.Millisecond

// guarded is one start of an arm, as its guardian reads it. It contains commands and environments, so it is sent
// through a pipe and never written to a file.
type guarded struct {
	Dir       string         `json:"dir"`
	Token     string         `json:"token"`
	Processes []plan.Process `json:"processes"`
}

// guard is the owner's side of a guardian. The kernel closes the pipe when the owner ends for any reason.
type guard struct {
	pipe      *os.File
	dismissed atomic.Bool
}

// startGuardian starts the guardian. It returns nil if the arm has none.
func (k *keeper) startGuardian(spec plan.Arm) (*guard, error) {
	if len(k.guardian) == 0 {
		return nil, nil
	}
	// Both ends are closed on exec: if a process of the arm inherited the write end, the guardian would never read end
	// of file.
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("guardian: %w", err)
	}
	defer read.Close()
	process, err := subprocess.Start(subprocess.Options{Args: append(k.guardian[:len(k.guardian):len(k.guardian)], k.dir), Stdin: read, Session: true})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("guardian: %w", err), write.Close())
	}
	g := &guard{pipe: write}
	go func() {
		<-process.Ended()
		if !g.dismissed.Load() {
			k.log.Warn("the guardian of the arm has ended: if this program is killed, the arm stays up until arm down", "arm", spec.Name, "guardian", process.Exit())
		}
	}()
	if err := json.NewEncoder(write).Encode(guarded{k.dir, k.seen().Token, spec.Processes}); err != nil {
		g.dismiss()
		return nil, fmt.Errorf("guardian: %w", err)
	}
	return g, nil
}

// dismiss ends the guardian without stopping the arm.
func (g *guard) dismiss() {
	if g == nil || g.dismissed.Swap(true) {
		return
	}
	_ = json.NewEncoder(g.pipe).Encode("done") // fails if the guardian was killed
	_ = g.pipe.Close()
}

// Guard does the work of a guardian. It reads from in which start of an arm it guards, and waits. If in ends before
// the owner dismisses the guardian, the owner was killed: then Guard stops the arm as Down does, and logs that to the
// guardian's log in the arm's folder. It does not stop another start of the arm, or an arm that is down.
func Guard(ctx context.Context, in io.Reader) error {
	messages := json.NewDecoder(in)
	var g guarded
	if err := messages.Decode(&g); err != nil {
		return fmt.Errorf("no arm to guard: %w", err)
	}
	var word string
	if err := messages.Decode(&word); err == nil {
		return nil
	}
	time.Sleep(orphanDelay)
	log, closeLog := openGuardianLog(g.Dir)
	defer closeLog()
	k := newKeeper(g.Dir, log)
	k.role = guardianRole
	began := time.Now()
	stopped, err := k.stopOrphan(ctx, g)
	took := time.Since(began).Round(time.Millisecond)
	switch {
	case err != nil:
		log.Error("uma-load was killed, and its guardian could not stop the arm: use arm down", "folder", g.Dir, "took", took, "error", err)
	case stopped:
		log.Warn("uma-load was killed: its guardian stopped the arm", "folder", g.Dir, "took", took)
	}
	return err
}

// stopOrphan stops the start of the arm that g names. stopped is false if another process did.
func (k *keeper) stopOrphan(ctx context.Context, g guarded) (stopped bool, err error) {
	for {
		state, err := readState(k.dir)
		if err != nil || !g.isUp(state) {
			return false, err
		}
		err = k.open(ctx)
		if err == nil {
			break
		}
		if _, held := errors.AsType[*LockedError](err); !held { // otherwise another process holds the arm: it stops the arm, unless it is killed too
			return false, err
		}
	}
	defer k.close()
	if !g.isUp(k.state) {
		return false, nil
	}
	return true, k.down(ctx, specsByName(g.Processes))
}

// isUp reports whether a state is of the guarded start, and not down.
func (g guarded) isUp(state *State) bool {
	return state != nil && state.Token == g.Token && state.DownAt == nil
}

// openGuardianLog opens the log of a guardian. On a full disk it returns a logger without a file, and the arm is still
// stopped.
func openGuardianLog(dir string) (*slog.Logger, func()) {
	file, err := os.OpenFile(filepath.Join(dir, LogsFolder, guardianLog), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return slog.New(slog.DiscardHandler), func() {}
	}
	return slog.New(slog.NewTextHandler(file, nil)), func() { _ = file.Close() }
}
