package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/runindex"
)

// The orders of campaigns, as plans have them.
const (
	orderBlocks = "sequential"
	orderABBA   = "abba"
)

// campaignsOf are the campaigns of a demo: each differs from the one before it in one thing.
func campaignsOf(o showOptions) []*shownCampaign {
	campaigns := []*shownCampaign{
		{name: "blocks", host: "spark-blocks", order: orderBlocks, title: "As published: all native runs first, then all in the container"},
		{name: "abba", host: "spark-abba", order: orderABBA, title: "The same runs, with the arms taking turns"},
		{name: "equal", host: "spark-equal", order: orderABBA, dropsCaches: true, title: "The same turns, with an empty page cache before every start"},
	}
	for _, c := range campaigns {
		c.iterations, c.exit = paceOf(o).iterations, notMade
	}
	return campaigns
}

// Files of a campaign beside its folder.
const (
	comparisonSuffix = "-comparison"
	logSuffix        = ".log"
)

// campaign makes a campaign, then compares its arms. What cannot be had of it is told in c.problem.
func (s *showing) campaign(ctx context.Context, c *shownCampaign, m *machine) {
	if err := s.makeCampaign(ctx, c, m); err != nil {
		c.problem = err.Error()
		s.tell.problem(c.host, c.problem)
	}
	c.accounts = m.stage.accounts()
}

func (s *showing) makeCampaign(ctx context.Context, c *shownCampaign, m *machine) error {
	c.dir = filepath.Join(s.folder, c.name)
	c.plan = filepath.Join(s.folder, c.name+".yaml")
	text, err := planOf(c, m, s.controlURL(m), s.sampling, s.options)
	if err == nil {
		err = os.WriteFile(c.plan, text, 0o644)
	}
	if err != nil {
		return err
	}
	args := []string{"campaign", "run", c.plan, "--out", s.folder, "--web.listen-address", "127.0.0.1:0"}
	c.commands = append(c.commands, args)
	seen := s.watch(c)
	code, said := s.load(ctx, c.name, args, io.Discard)
	seen()
	c.exit = code
	if code == exitInvalid || code == exitDone || ctx.Err() != nil {
		said = ""
	}
	compared := s.compareArms(c)
	switch {
	case said != "":
		return errors.New(said)
	case ctx.Err() != nil: // what is not there is known to be cut off
		return nil
	}
	return compared
}

// compareArms compares what runs there are.
func (s *showing) compareArms(c *shownCampaign) error {
	page := filepath.Join(s.folder, c.name+comparisonSuffix+".html")
	args := []string{"compare", c.dir, "--by", "arm", "--baseline", baselineArm, "--primary", compare.MemoryOccupiedWithoutKV, "--json", "--html", page}
	c.commands = append(c.commands, args)
	var printed bytes.Buffer
	// Not ended by an interrupt: it takes no time, and says what there is to say of the runs until then.
	if code, said := s.load(context.Background(), c.name, args, &printed); code != exitDone {
		return errors.New(said)
	}
	if err := json.Unmarshal(printed.Bytes(), &c.comparison); err != nil {
		return fmt.Errorf("compare --json: %w", err)
	}
	c.page, c.comparisonFile = page, filepath.Join(s.folder, c.name+comparisonSuffix+".json")
	return os.WriteFile(c.comparisonFile, printed.Bytes(), 0o644)
}

// load runs uma-load, with what it says in a log of that name, and returns its exit code and its last complaint.
func (s *showing) load(ctx context.Context, log string, args []string, stdout io.Writer) (code int, said string) {
	file, err := os.OpenFile(filepath.Join(s.folder, log+logSuffix), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return exitFailed, err.Error()
	}
	defer file.Close()
	var complaints tailWriter
	code = s.program.Load(ctx, args, stdout, io.MultiWriter(&complaints, file))
	return code, complaints.line()
}

// tailWriter keeps the end of what is written to it.
type tailWriter struct{ kept []byte }

// mostKept is more than a line has that uma-load complains with.
const mostKept = 16 << 10

func (t *tailWriter) Write(text []byte) (int, error) {
	t.kept = append(t.kept, text...)
	if more := len(t.kept) - mostKept; more > 0 {
		t.kept = t.kept[more:]
	}
	return len(text), nil
}

// line is the last line.
func (t *tailWriter) line() string {
	lines := strings.Split(strings.TrimSpace(string(t.kept)), "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "uma-load: ")
}

// lookEvery is the time between two looks for runs that have been finished.
const lookEvery = 250 * time.Millisecond

// watch tells of every run of a campaign as it is finished. What it returns looks for the last time.
func (s *showing) watch(c *shownCampaign) (stop func()) {
	seen := map[string]bool{}
	look := func() {
		for _, r := range runsOf(c.dir, seen) {
			arm := r.Summary.Labels["arm"]
			if !r.Summary.Valid {
				c.invalid = append(c.invalid, shownInvalid{run: r.Summary.Run, arm: arm, why: reasons(r.Summary)})
			}
			s.tell.run(c, r)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		for pause(ctx, lookEvery) == nil {
			look()
		}
	})
	return func() {
		cancel()
		watching.Wait()
		look()
	}
}

// runsOf are the finished runs of a campaign that were not seen yet, in the order of their start.
func runsOf(dir string, seen map[string]bool) []runindex.Run {
	paths, err := runindex.Find([]string{dir})
	if err != nil {
		return nil // there is none yet
	}
	var fresh []runindex.Run
	for _, path := range paths {
		if seen[path] {
			continue
		}
		if r, err := runindex.Open(path); err == nil { // else it goes on
			seen[path] = true
			fresh = append(fresh, r)
		}
	}
	return fresh
}
