package arm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// The program of NVIDIA's driver that sets clocks, and its option that resets the effect of --lock-gpu-clocks.
const (
	smi         = "nvidia-smi"
	resetOption = "--reset-gpu-clocks"
)

// lockClocks locks the clocks of all GPUs of this machine. It first writes the state, so that Down in any process
// resets them.
func (k *keeper) lockClocks(ctx context.Context, clocks *plan.Clocks) error {
	if clocks == nil {
		return nil
	}
	if err := k.note(func(s *State) { s.LockedClock = clocks.Lock }); err != nil {
		return err
	}
	err := k.setClocks(ctx, fmt.Sprintf("--lock-gpu-clocks=%d,%[1]d", clocks.Lock.Megahertz()))
	if err != nil {
		// If clocks cannot be set, they cannot be reset either. An arm that waited for the reset would never be down.
		_ = k.setClocks(context.WithoutCancel(ctx), resetOption)
		err = errors.Join(fmt.Errorf("clocks.lock: %w", err), k.note(func(s *State) { s.LockedClock = 0 }))
	}
	return err
}

// resetClocks resets the clocks to the driver's default, if this start of the arm locked them. A reboot resets them
// too.
func (k *keeper) resetClocks(ctx context.Context) error {
	if state := k.seen(); state.LockedClock == 0 {
		return nil
	} else if state.BootID == k.boot() {
		if err := k.setClocks(context.WithoutCancel(ctx), resetOption); err != nil {
			return fmt.Errorf("the clocks of the GPUs stay locked to %s: sudo %s %s: %w", state.LockedClock, smi, resetOption, err)
		}
	}
	return k.note(func(s *State) { s.LockedClock = 0 })
}

// setClocks runs nvidia-smi as root. nvidia-smi exits with 0 even if it only warns that a GPU does not support the
// option.
func (k *keeper) setClocks(ctx context.Context, option string) error {
	args, err := k.smiCommand(option)
	if err != nil {
		return err
	}
	printed, err := ask(ctx, question{args: args})
	if err == nil && !strings.Contains(printed, "not supported") {
		return nil
	}
	if err == nil {
		err = errors.New("the driver does not set them")
	}
	return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(strings.SplitN(strings.TrimSpace(printed), "\n", 2)[0]))
}

// smiCommand returns the command line of nvidia-smi as root.
func (k *keeper) smiCommand(option string) ([]string, error) {
	path, err := program(smi, "", nil)
	if err != nil {
		return nil, err
	}
	if k.root {
		return []string{path, option}, nil
	}
	return []string{"sudo", "-n", path, option}, nil
}

// checkClocks reports whether the clocks may be set here, without setting them.
func (k *keeper) checkClocks(ctx context.Context) error {
	args, err := k.smiCommand(resetOption)
	if err != nil {
		return err
	}
	if !k.root {
		if _, err := ask(ctx, question{args: append([]string{"sudo", "-n", "-l"}, args[2:]...)}); err != nil {
			return fmt.Errorf("sudo -n does not run %s: %w", strings.Join(args[2:], " "), err)
		}
	}
	return nil
}
