package loadgen

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/subprocess"
)

// mostOutput is the most output of a check or a collecting command that is kept, in bytes.
const mostOutput = 4 << 20

// complaintShown is the most of a failed command's last output that is shown, in bytes.
const complaintShown = 200

// runCommand runs a command of a plan until it ends or its timeout expires, and returns what it printed.
func runCommand(ctx context.Context, argv []string, most time.Duration) campaign.Printed {
	printed, complained := &subprocess.Bounded{MostBytes: mostOutput}, &subprocess.Bounded{MostBytes: mostOutput}
	began := time.Now()
	c, err := subprocess.Start(subprocess.Options{Args: argv, Stdout: printed, Stderr: complained})
	if err != nil {
		return campaign.Printed{ExitCode: -1, Problem: printable(err.Error())}
	}
	p := campaign.Printed{}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-c.Ended():
	case <-timer.C:
		p.Problem = fmt.Sprintf("it had not ended after %s", most)
	case <-ctx.Done():
		p.Problem = "it was cut off"
	}
	c.Kill() // end the processes that it left running too
	<-c.Ended()
	p.Text, p.ExitCode, p.Seconds = printed.Kept.String(), c.Exit().Code, time.Since(began).Seconds()
	if words := bytes.TrimSpace(complained.Kept.Bytes()); p.Problem == "" && p.ExitCode != 0 {
		p.Problem = c.Exit().String()
		if len(words) > 0 {
			p.Problem += ": " + printable(string(words[max(0, len(words)-complaintShown):]))
		}
	}
	return p
}

// planSum is the SHA-256 of a plan file as it was read. For a plan that includes other files, the sum covers those
// too.
func planSum(text []byte, planned *plan.Plan) string {
	sum := sha256.New()
	sum.Write(text)
	for _, a := range planned.Arms {
		for _, f := range a.Files {
			if f.Source != "" {
				fmt.Fprintf(sum, "\x00%s\x00%s", f.Source, f.Text)
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// memTotal returns the memory of this machine in bytes, or 0 if it cannot be read.
func memTotal() uint64 {
	kernel, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	info, err := kernel.Meminfo()
	if err != nil || info.MemTotalBytes == nil {
		return 0
	}
	return *info.MemTotalBytes
}

// existing returns dir, or its nearest parent that exists.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || !errors.Is(err, os.ErrNotExist) || filepath.Dir(dir) == dir {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// treatPageCache applies the plan's page cache policy. A failure is recorded as the problem and does not fail the run.
func treatPageCache(ctx context.Context, p plan.PageCache) rundir.PageCache {
	facts, err := campaign.TreatPageCache(ctx, p)
	if err != nil {
		facts.Problem = printable(err.Error())
	}
	return facts
}
