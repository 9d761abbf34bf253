package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Times of checks.
const (
	whenBefore = "before"
	whenAfter  = "after"
)

const (
	// collectTimeout is the longest that a command may take whose output is kept.
	collectTimeout = 5 * time.Minute
	// mostCollected is the most of an output that the manifest has, in bytes; the file has all that was read.
	mostCollected = 64 << 10
)

// check runs a command and parses its number.
func check(ctx context.Context, operations Operations, c plan.Check, when string) rundir.Check {
	facts := rundir.Check{Name: c.Name, When: when, Unit: c.Unit, Min: c.Min, Max: c.Max}
	printed := operations.Command(ctx, c.Argv, c.Timeout)
	facts.ExitCode, facts.Seconds, facts.Problem = printed.ExitCode, printed.Seconds, printed.Problem
	if facts.Problem == "" && printed.ExitCode != 0 {
		facts.Problem = fmt.Sprintf("it ended with exit code %d", printed.ExitCode)
	}
	if facts.Problem == "" {
		value, err := findNumber(printed.Text, c.Number)
		if err != nil {
			facts.Problem = err.Error()
			return facts
		}
		facts.Value = &value
		facts.Passed = (c.Min == nil || value >= *c.Min) && (c.Max == nil || value <= *c.Max)
	}
	return facts
}

// findNumber returns group 1 of a pattern or, without a pattern, the last number of a text.
func findNumber(text, pattern string) (float64, error) {
	const anyNumber = `(?:^|[^\w.+-])([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)`
	last := pattern == ""
	re, err := regexp.Compile(cmp.Or(pattern, anyNumber))
	if err != nil {
		return 0, err
	}
	found := re.FindAllStringSubmatch(text, -1)
	if len(found) == 0 || len(found[0]) < 2 {
		return 0, errors.New("it printed no number")
	}
	one := found[0][1]
	if last {
		one = found[len(found)-1][1]
	}
	value, err := strconv.ParseFloat(one, 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return 0, fmt.Errorf("%.40q is no number", one)
	}
	return value, nil
}

// credentials matches user and password in a URL.
var credentials = regexp.MustCompile(`://[^/\s@]+@`)

// collect runs commands whose output is kept in the run folder. It removes credentials from URLs in it, and the secrets
// of the plan: env and docker inspect print them.
func collect(ctx context.Context, operations Operations, all []plan.Collect, secrets *openai.Redactor) []collected {
	var kept []collected
	for _, one := range all {
		printed := operations.Command(ctx, one.Argv, collectTimeout)
		kept = append(kept, collected{
			name: one.Name, text: secrets.Text(credentials.ReplaceAllString(printed.Text, "://<redacted>@")), printed: printed, problem: secrets.Text(printed.Problem),
		})
	}
	return kept
}

// collected is the output of a command, for all runs of an arm with a model.
type collected struct {
	name, text string
	problem    string // why the command did not end normally
	printed    Printed
}

// file returns the path of the output in the run folder.
func (c collected) file() string { return rundir.CapturesFolder + "/" + c.name + ".txt" }

func (c collected) facts() rundir.Collected {
	cut := c.text[:min(len(c.text), mostCollected)]
	return rundir.Collected{
		Name: c.name, File: c.file(), ExitCode: c.printed.ExitCode, Problem: c.problem, SHA256: sha256Of(c.text),
		Output: strings.ToValidUTF8(cut, "?"), Cut: len(cut) < len(c.text),
	}
}

// keep writes the output into the folder of a run.
func (c collected) keep(run rundir.Folder) error {
	if err := os.MkdirAll(filepath.Dir(run.Path(c.file())), 0o750); err != nil {
		return err
	}
	return os.WriteFile(run.Path(c.file()), []byte(c.text), 0o640)
}

// when reports whether a check is run at a time.
func when(c plan.Check, at string) bool { return len(c.When) == 0 || slices.Contains(c.When, at) }
