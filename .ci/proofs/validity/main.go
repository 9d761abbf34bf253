// Validity belongs to the proof of the validity of runs: closed loops against a server that stamps the truth.
//
//	validity runs [--runs N] [--streams 1,32,...] [--loops 0,2,...] [--keep FOLDER] UMA-LOAD   runs, and prints the table
//	validity serve ADDRESS FILE                                         serves until a signal, and writes the truth
//	validity spin TIME                                                  keeps a core busy
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "validity:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "serve":
		return serve(args[1], args[2])
	case len(args) == 2 && args[0] == "spin":
		d, err := time.ParseDuration(args[1])
		for end := time.Now().Add(d); err == nil && time.Now().Before(end); {
		}
		return err
	case len(args) > 1 && args[0] == "runs":
		return runs(args[1:])
	}
	return errors.New("want runs, serve or spin, see the head of main.go")
}

// longestRun is the most that a run takes; its busy loops end then at the latest.
const longestRun = 2 * time.Minute

// row is a line of the table.
type row struct{ streams, loops int }

// tally counts outcomes.
type tally struct{ runs, right, rightValid, wrong, wrongValid, open int }

func (t *tally) add(o outcome) {
	t.runs++
	switch {
	case o.right():
		t.right++
		if o.valid {
			t.rightValid++
		}
	case o.wrong():
		t.wrong++
		if o.valid {
			t.wrongValid++
		}
	default:
		t.open++
	}
}

func numbers(text string) (all []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		n, wrong := strconv.Atoi(part)
		if wrong != nil || n < 0 {
			return nil, fmt.Errorf("%q is no list of numbers", text)
		}
		all = append(all, n)
	}
	return all, nil
}

func runs(args []string) error {
	set := flag.NewFlagSet("runs", flag.ContinueOnError)
	count := set.Int("runs", 640, "how many, evenly over the rows")
	streams := set.String("streams", "1,8,32,64,100,200,500,1000", "streams of the closed loops")
	loops := set.String("loops", "0,2,4,8", "busy loops beside a run")
	keep := set.String("keep", "", "folder that keeps all runs")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() != 1 {
		return errors.New("want the path of uma-load")
	}
	sizes, err := numbers(*streams)
	beside, wrong := numbers(*loops)
	if err := cmp.Or(err, wrong); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "validity")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if *keep != "" {
		work = *keep
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var rows []row
	for _, l := range beside {
		for _, s := range sizes {
			rows = append(rows, row{s, l})
		}
	}
	tallies := map[row]*tally{}
	for i := range *count {
		r := rows[i%len(rows)]
		o, err := r.measure(ctx, filepath.Join(work, strconv.Itoa(i)), set.Arg(0))
		if err != nil {
			return fmt.Errorf("run %d, %d streams beside %d loops: %w", i, r.streams, r.loops, err)
		}
		if tallies[r] == nil {
			tallies[r] = new(tally)
		}
		tallies[r].add(o)
		line := fmt.Sprintf("%d: %d streams, %d loops: valid %v, off by %.2f to %.2f of what is allowed (%s)", i, r.streams, r.loops, o.valid, o.least, o.most, o.worst)
		for _, reason := range o.reasons {
			line += "; " + string(reason.Code) + ": " + reason.Detail
		}
		fmt.Fprintln(os.Stderr, line)
		if *keep == "" {
			_ = os.RemoveAll(filepath.Join(work, strconv.Itoa(i)))
		}
	}
	return table(os.Stdout, rows, tallies)
}

// leastValid is the share of right runs that must be valid.
const leastValid = 0.95

// table writes the table, and the error if the runs do not show what they must.
func table(w io.Writer, rows []row, tallies map[row]*tally) error {
	fmt.Fprintf(w, "%d cores. A run is right if no percentile is off by more than %g ms and %g %%.\n\n", runtime.NumCPU(), 1e3*mostSeconds, 100*mostRatio)
	fmt.Fprint(w, "| streams | busy loops | runs | right | of these valid | wrong | of these valid | open |\n|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	var all tally
	for _, r := range rows {
		t := tallies[r]
		if t == nil {
			continue
		}
		fmt.Fprintf(w, "| %d | %d | %d | %d | %d | %d | %d | %d |\n", r.streams, r.loops, t.runs, t.right, t.rightValid, t.wrong, t.wrongValid, t.open)
		all = tally{all.runs + t.runs, all.right + t.right, all.rightValid + t.rightValid, all.wrong + t.wrong, all.wrongValid + t.wrongValid, all.open + t.open}
	}
	fmt.Fprintf(w, "| all | | %d | %d | %d | %d | %d | %d |\n", all.runs, all.right, all.rightValid, all.wrong, all.wrongValid, all.open)
	switch {
	case all.wrongValid > 0:
		return fmt.Errorf("%d of %d wrong runs are valid, want none", all.wrongValid, all.wrong)
	case float64(all.rightValid) < leastValid*float64(all.right):
		return fmt.Errorf("%d of %d right runs are valid, want %g %%", all.rightValid, all.right, 100*leastValid)
	}
	return nil
}

// measure makes a run, with a server and busy loops of its own.
func (r row) measure(ctx context.Context, folder, umaLoad string) (outcome, error) {
	ctx, stop := context.WithTimeout(ctx, longestRun)
	defer stop()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return outcome{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return outcome{}, err
	}
	truth := filepath.Join(folder, "truth.json")
	serving := exec.Command(self, "serve", "127.0.0.1:0", truth)
	serving.Stderr = os.Stderr
	out, err := serving.StdoutPipe()
	if err != nil {
		return outcome{}, err
	}
	if err := serving.Start(); err != nil {
		return outcome{}, err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	end := func() error {
		_ = serving.Process.Signal(syscall.SIGTERM)
		return serving.Wait()
	}
	if err != nil {
		return outcome{}, errors.Join(err, end())
	}
	var spinning []*exec.Cmd
	for range r.loops {
		one := exec.CommandContext(ctx, self, "spin", longestRun.String())
		one.Env = append(os.Environ(), "GOMAXPROCS=1")
		if err := one.Start(); err != nil {
			return outcome{}, errors.Join(err, end())
		}
		spinning = append(spinning, one)
	}
	load := exec.CommandContext(ctx, umaLoad, "run", "--url", "http://"+strings.TrimSpace(address), "--out", folder, "--run-id", "run",
		"--web.listen-address", "127.0.0.1:0", "--input-tokens", "8", "--output-tokens", "16",
		"--concurrency", strconv.Itoa(r.streams), "--requests", strconv.Itoa(max(32, 4*r.streams)))
	said, wrong := load.CombinedOutput()
	for _, one := range spinning {
		_ = one.Process.Kill()
		_ = one.Wait()
	}
	if err := end(); err != nil {
		return outcome{}, err
	}
	const invalid = 3
	if exit, is := errors.AsType[*exec.ExitError](wrong); wrong != nil && !(is && exit.ExitCode() == invalid) {
		return outcome{}, fmt.Errorf("uma-load: %w: %s", wrong, said)
	}
	return judge(filepath.Join(folder, "run"), truth)
}
