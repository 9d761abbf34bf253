package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/subprocess"
)

// takenOver is the longest that a detached campaign may need to take over its folder.
const takenOver = 30 * time.Second

// detached returns the arguments of the background process.
func (l *campaignLine) detached() []string {
	args := l.arguments()
	if l.retry {
		args = append(args, "--retry")
	}
	if l.changed {
		args = append(args, "--plan-changed")
	}
	if l.repeatOutliers {
		args = append(args, "--repeat-outliers")
	}
	if l.web.Explicit {
		args = append(args, "--web.listen-address="+l.web.HostPort)
	}
	if l.web.ConfigFile != "" {
		args = append(args, "--web.config.file="+l.web.ConfigFile)
	}
	for _, name := range l.web.AllowHosts {
		args = append(args, "--web.allow-host="+name)
	}
	args = append(args, l.log.Args()...)
	return append(args, "--web.linger="+l.linger.String(), "--progress="+string(l.progress))
}

// startDetached runs the campaign in a separate process that survives this process and the terminal. It first takes
// the folder itself for a moment, to refuse at once if another process holds it.
func (l *campaignLine) startDetached(ctx context.Context, stdout io.Writer, c *campaign.Campaign) error {
	invocation, err := c.Open()
	if err != nil {
		return usage(err)
	}
	invocation.Close()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	path := filepath.Join(c.Dir, campaign.LogFile)
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return runner.BadOut(err)
	}
	defer log.Close()
	from, _ := log.Seek(0, 2) // earlier output is not from this process
	process, err := subprocess.Start(subprocess.Options{
		Args: append([]string{program}, l.detached()...), Stdout: log, Stderr: log, Session: true, Env: append(os.Environ(), subprocess.NotifyVariable+"="+l.notify),
	})
	if err != nil {
		return err
	}
	return awaitHolder(ctx, stdout, process, c.Dir, path, from)
}

// awaitHolder waits until the background process has taken over the folder.
func awaitHolder(ctx context.Context, stdout io.Writer, c *subprocess.Command, dir, log string, from int64) error {
	for began := time.Now(); time.Since(began) < takenOver; {
		holder, err := campaign.Holder(dir)
		if err == nil && holder != 0 {
			_, err = fmt.Fprintf(stdout, "campaign runs as process %d\nfollow:  tail -f %s\nstatus:  uma-load campaign status %s\nstop:    uma-load campaign stop %s\n", holder, log, dir, dir)
			return err
		}
		select {
		case <-c.Ended():
			return endedAtOnce(stdout, c, log, from)
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			c.Interrupt()
			<-c.Ended()
			return runner.ErrInterrupted
		}
	}
	return fmt.Errorf("the campaign has not begun after %s: see %s", takenOver, log)
}

// endedAtOnce reports how a campaign ended that had no runs left or could not begin.
func endedAtOnce(stdout io.Writer, c *subprocess.Command, log string, from int64) error {
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	words := strings.TrimSpace(string(text[min(int(from), len(text)):]))
	last := words[strings.LastIndexByte(words, '\n')+1:]
	if c.Exit().Code == exitDone {
		_, err = fmt.Fprintln(stdout, words)
		return err
	}
	return outcome{c.Exit().Code, errors.New(strings.TrimPrefix(last, "uma-load: "))}
}
