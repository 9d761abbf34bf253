// Validity belongs to the proof of the validity of runs: closed loops against a server that stamps the truth.
//
//	validity runs [flags] UMA-LOAD   runs, and prints the table
//	validity serve ADDRESS FILE      serves until a signal, and writes the truth
//	validity spin TIME               keeps a core busy
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// row is a line of the table. All streams of a row at once begin together, others as uma-load ramps them.
type row struct {
	Streams, Loops int
	AtOnce         bool
}

// measured is a run of a row, as it is kept.
type measured struct {
	Row     row
	Outcome outcome
}

// tally counts outcomes.
type tally struct{ runs, right, rightValid, wrong, wrongValid, open int }

func (t *tally) add(o outcome) {
	t.runs++
	switch {
	case o.right():
		t.right++
		if o.Valid {
			t.rightValid++
		}
	case o.wrong():
		t.wrong++
		if o.Valid {
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

func rowsOf(streams, loops string, atOnce bool) (rows []row, err error) {
	sizes, err := numbers(streams)
	beside, wrong := numbers(loops)
	for _, l := range beside {
		for _, s := range sizes {
			rows = append(rows, row{s, l, atOnce})
		}
	}
	return rows, cmp.Or(err, wrong)
}

// laneCores is how many cores a run has, with its server and its busy loops.
const laneCores = 2

// batch are the runs of a proof, made in lanes.
type batch struct {
	umaLoad, work, outcomes string
	ramped, atOnce          []row
	runs, wrong             int // so many ramped ones; then ones at once, until so many are wrong
	keep                    bool
	end                     time.Time

	mutex                      sync.Mutex
	all                        []measured // those that have ended
	begun, begunAtOnce, number int
}

// runs makes runs in lanes of laneCores, as many as the machine has cores for.
func runs(args []string) error {
	b, err := parse(args)
	if err != nil {
		return err
	}
	if !b.keep {
		defer os.RemoveAll(b.work)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var lanes sync.WaitGroup
	for first := 0; first+laneCores <= runtime.NumCPU(); first += laneCores {
		lanes.Go(func() {
			if err := b.lane(ctx, fmt.Sprintf("%d-%d", first, first+laneCores-1)); err != nil {
				fail(err)
			}
		})
	}
	lanes.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return table(os.Stdout, b.all, b.wrong)
}

func parse(args []string) (*batch, error) {
	var b batch
	set := flag.NewFlagSet("runs", flag.ContinueOnError)
	set.IntVar(&b.runs, "runs", 320, "how many as uma-load ramps them, evenly over --streams and --loops")
	streams := set.String("streams", "1,8,32,64,100,200,500,1000", "streams of the closed loops")
	loops := set.String("loops", "0,2,4,8", "busy loops beside a run")
	set.IntVar(&b.wrong, "wrong", 300, "then runs with all streams at once, until so many are wrong")
	wrongStreams := set.String("wrong-streams", "200,500,1000,2000", "streams of these")
	wrongLoops := set.String("wrong-loops", "4,8,16", "busy loops beside these")
	within := set.Duration("within", 12*time.Hour, "begins no run after this time")
	set.StringVar(&b.work, "keep", "", "folder that keeps all runs")
	set.StringVar(&b.outcomes, "outcomes", "", "file that outcomes are appended to, and that has those of before")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if set.NArg() != 1 {
		return nil, errors.New("want the path of uma-load")
	}
	b.umaLoad, b.keep, b.end = set.Arg(0), b.work != "", time.Now().Add(*within)
	var err, wrong error
	b.ramped, err = rowsOf(*streams, *loops, false)
	b.atOnce, wrong = rowsOf(*wrongStreams, *wrongLoops, true)
	if err := cmp.Or(err, wrong); err != nil {
		return nil, err
	}
	if b.all, err = read(b.outcomes); err != nil {
		return nil, err
	}
	for _, m := range b.all {
		if b.number++; m.Row.AtOnce {
			b.begunAtOnce++
		} else {
			b.begun++
		}
	}
	if !b.keep {
		b.work, err = os.MkdirTemp("", "validity")
	}
	return &b, err
}

// lane makes one run after another on these cores.
func (b *batch) lane(ctx context.Context, cores string) error {
	for {
		r, number, goesOn := b.next(ctx)
		if !goesOn {
			return nil
		}
		folder := filepath.Join(b.work, strconv.Itoa(number))
		o, err := r.measure(ctx, folder, b.umaLoad, cores)
		if err != nil {
			return fmt.Errorf("run %d, %d streams beside %d loops: %w", number, r.Streams, r.Loops, err)
		}
		if !b.keep {
			_ = os.RemoveAll(folder)
		}
		if err := b.add(number, measured{r, o}); err != nil {
			return err
		}
	}
}

// next returns the run that comes next: false at the end.
func (b *batch) next(ctx context.Context) (r row, number int, goesOn bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if ctx.Err() != nil || time.Now().After(b.end) {
		return row{}, 0, false
	}
	wrong := 0
	for _, m := range b.all {
		if m.Row.AtOnce && m.Outcome.wrong() {
			wrong++
		}
	}
	switch {
	case b.begun < b.runs:
		r = b.ramped[b.begun%len(b.ramped)]
		b.begun++
	case wrong < b.wrong:
		r = b.atOnce[b.begunAtOnce%len(b.atOnce)]
		b.begunAtOnce++
	default:
		return row{}, 0, false
	}
	number = b.number
	b.number++
	return r, number, true
}

// add notes a run that has ended.
func (b *batch) add(number int, m measured) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.all = append(b.all, m)
	r, o := m.Row, m.Outcome
	line := fmt.Sprintf("%d: %d streams, %d loops, at once %v: valid %v, off by %.2f to %.2f of what is allowed (%s)", number, r.Streams, r.Loops, r.AtOnce, o.Valid, o.Least, o.Most, o.Worst)
	for _, reason := range o.Reasons {
		line += "; " + string(reason.Code) + ": " + reason.Detail
	}
	fmt.Fprintln(os.Stderr, line)
	if b.outcomes == "" {
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(b.outcomes, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	return errors.Join(err, file.Close())
}

// read returns the runs in a file of outcomes, a JSON object a line; none of a file that is not there yet.
func read(name string) (all []measured, err error) {
	file, err := os.Open(name)
	switch {
	case name == "" || errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer file.Close()
	for in := json.NewDecoder(file); ; {
		var one measured
		switch err := in.Decode(&one); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, one)
	}
}

// leastValid is the share of right runs that must be valid.
const leastValid = 0.95

// table writes the table, and the error if the runs do not show what they must.
func table(w io.Writer, runs []measured, wrong int) error {
	tallies := map[row]*tally{}
	var all tally
	for _, m := range runs {
		if tallies[m.Row] == nil {
			tallies[m.Row] = new(tally)
		}
		tallies[m.Row].add(m.Outcome)
		all.add(m.Outcome)
	}
	rows := slices.SortedFunc(maps.Keys(tallies), func(a, b row) int {
		if a.AtOnce != b.AtOnce {
			return cmp.Compare(strconv.FormatBool(a.AtOnce), strconv.FormatBool(b.AtOnce))
		}
		return cmp.Or(cmp.Compare(a.Loops, b.Loops), cmp.Compare(a.Streams, b.Streams))
	})
	fmt.Fprintf(w, "%d cores, %d a run. A run is right if no percentile is off by more than %g ms and %g %%.\n\n", runtime.NumCPU(), laneCores, 1e3*mostSeconds, 100*mostRatio)
	fmt.Fprint(w, "| streams | begun | busy loops | runs | right | of these valid | wrong | of these valid | open |\n|--:|:--|--:|--:|--:|--:|--:|--:|--:|\n")
	line := func(streams, begun, loops string, t tally) {
		fmt.Fprintf(w, "| %s | %s | %s | %d | %d | %d | %d | %d | %d |\n", streams, begun, loops, t.runs, t.right, t.rightValid, t.wrong, t.wrongValid, t.open)
	}
	for _, r := range rows {
		begun := "as by default"
		if r.AtOnce {
			begun = "at once"
		}
		line(strconv.Itoa(r.Streams), begun, strconv.Itoa(r.Loops), *tallies[r])
	}
	line("all", "", "", all)
	switch {
	case all.wrongValid > 0:
		return fmt.Errorf("%d of %d wrong runs are valid, want none", all.wrongValid, all.wrong)
	case float64(all.rightValid) < leastValid*float64(all.right):
		return fmt.Errorf("%d of %d right runs are valid, want %g %%", all.rightValid, all.right, 100*leastValid)
	case all.wrong < wrong:
		return fmt.Errorf("%d wrong runs show too little, want %d", all.wrong, wrong)
	}
	return nil
}

// measure makes a run on these cores, with a server and busy loops of its own.
func (r row) measure(ctx context.Context, folder, umaLoad, cores string) (outcome, error) {
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
	serving := exec.Command("taskset", "-c", cores, self, "serve", "127.0.0.1:0", truth)
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
	for range r.Loops {
		one := exec.CommandContext(ctx, "taskset", "-c", cores, self, "spin", longestRun.String())
		one.Env = append(os.Environ(), "GOMAXPROCS=1")
		if err := one.Start(); err != nil {
			return outcome{}, errors.Join(err, end())
		}
		spinning = append(spinning, one)
	}
	// The last token is often read together with the usage that follows it: of a late read, only the end is stamped. Of n
	// tokens, TPOT is then in doubt by a gap/(n-1): 3.3 ms of 16 tokens.
	tokens, ramp := 64, []string{}
	if r.AtOnce {
		tokens, ramp = 16, []string{"--ramp", "0s"}
	}
	load := exec.CommandContext(ctx, "taskset", append([]string{"-c", cores, umaLoad, "run", "--url", "http://" + strings.TrimSpace(address), "--out", folder, "--run-id", "run",
		"--web.listen-address", "127.0.0.1:0", "--input-tokens", "8", "--output-tokens", strconv.Itoa(tokens),
		"--concurrency", strconv.Itoa(r.Streams), "--requests", strconv.Itoa(max(8, 2*r.Streams))}, ramp...)...)
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
