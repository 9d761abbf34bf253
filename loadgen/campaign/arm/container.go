package arm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ran returns the names of the existing containers that a process there runs, by their label.
func (p place) ran(ctx context.Context, s Started, token string) ([]string, error) {
	if s.Runs == "" {
		return nil, nil
	}
	out, err := ask(ctx, question{args: p.command(s.Runs, "ps", "--no-trunc", "--filter", "label="+label(token), "--format", "{{.Names}}")})
	if err != nil {
		return nil, fmt.Errorf("containers of %s: %w", s.Name, err)
	}
	return strings.Fields(out), nil
}

// containers ends the containers that outlived the command that ran them.
func (e *ending) containers(ctx context.Context) error {
	asking := context.WithoutCancel(ctx)
	names, err := e.place.ran(asking, e.one, e.keeper.state.Token)
	if err != nil || len(names) == 0 {
		return err
	}
	wait := e.left(ctx).Round(time.Second)
	e.keeper.log.Warn("containers outlived the command that ran them: stopped", "process", e.one.Name, "containers", strings.Join(names, " "))
	args := append([]string{e.one.Runs, "stop", "-t", strconv.Itoa(int(wait.Seconds()))}, names...)
	asking, cancel := context.WithTimeout(asking, wait+placeTimeout)
	defer cancel()
	if _, err := askAsLongAs(asking, question{args: e.place.command(args...)}); err != nil {
		return fmt.Errorf("stopping containers %s: %w", strings.Join(names, " "), err)
	}
	return nil
}
