package arm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// The program of NVIDIA's driver that sets clocks, and its option that resets what --lock-gpu-clocks has set.
const (
	smi         = "nvidia-smi"
	resetOption = "--reset-gpu-clocks"
)

// lockClocks locks the clocks of all GPUs of this machine. The state has it before, so that Down of any process resets them.
func (k *keeper) lockClocks(ctx context.Context, clocks *plan.Clocks) error {
	if clocks == nil {
		return nil
	}
	if err := k.note(func(s *State) { s.LockedClock = clocks.Lock }); err != nil {
		return err
	}
	err := k.setClocks(ctx, fmt.Sprintf("--lock-gpu-clocks=%d,%[1]d", clocks.Lock.Megahertz()))
	if err != nil {
		// Where clocks cannot be set they cannot be reset either: an arm that waited for that would never be down.
		_ = k.setClocks(context.WithoutCancel(ctx), resetOption)
		err = errors.Join(fmt.Errorf("clocks.lock: %w", err), k.note(func(s *State) { s.LockedClock = 0 }))
	}
	return err
}

// resetClocks resets the clocks to the default of the driver, if this start of the arm has locked them. A reboot does it too.
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

// setClocks runs nvidia-smi as root. It ends well where it only warns that a GPU cannot do it.
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

// smiCommand is the command line of nvidia-smi as root.
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
