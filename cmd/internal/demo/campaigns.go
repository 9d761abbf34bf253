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

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/summary"
)

// The orders of campaigns, as in plans.
const (
	orderBlocks = "sequential"
	orderABBA   = "abba"
)

// campaignsOf returns the campaigns of a demo: each differs from the one before it in one setting.
func campaignsOf(o showOptions) []*shownCampaign {
	campaigns := []*shownCampaign{
		{name: "blocks", host: "spark-blocks", order: orderBlocks, title: "As published: all native runs first, then all in the container"},
		{name: "abba", host: "spark-abba", order: orderABBA, title: "The same runs, alternating (ABBA)"},
		{name: "equal", host: "spark-equal", order: orderABBA, dropsCaches: true, title: "Alternating, with an empty page cache before every start"},
	}
	for _, c := range campaigns {
		c.iterations = paceOf(o).iterations
	}
	return campaigns
}

// label returns the name of a campaign in the results.
func (c *shownCampaign) label() string {
	switch {
	case c.order == orderBlocks:
		return "blocks, as published"
	case c.dropsCaches:
		return "ABBA, cache emptied"
	}
	return "ABBA"
}

// Files of a campaign, next to its folder.
const (
	comparisonSuffix = "-comparison"
	logSuffix        = ".log"
)

// campaign runs a campaign, then compares its arms. c.fault has the reason why something of it is missing.
func (s *showing) campaign(ctx context.Context, c *shownCampaign, m *machine) {
	if err := s.makeCampaign(ctx, c, m); err != nil {
		c.fault = err.Error()
		s.progress.problem(c.host, c.fault)
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
	args := []string{"campaign", "run", c.plan, "--out", s.folder, "--web.listen-address", m.loadAt}
	seen := s.watch(c)
	code, message := s.load(ctx, c.name, args, io.Discard)
	seen()
	if code == exitInvalid || code == exitDone || ctx.Err() != nil {
		message = ""
	}
	compared := s.compareArms(c)
	switch {
	case message != "":
		return errors.New(message)
	case ctx.Err() != nil: // the reason for what is missing is the interrupt
		return nil
	}
	return compared
}

// compareArms compares the runs that exist.
func (s *showing) compareArms(c *shownCampaign) error {
	page := filepath.Join(s.folder, c.name+comparisonSuffix+".html")
	args := []string{"compare", c.dir, "--by", "arm", "--within", "scenario", "--baseline", baselineArm, "--primary", figure.MemoryOccupiedWithoutKV, "--save", "--json", "--html", page}
	var printed bytes.Buffer
	// An interrupt does not end it: it is short, and compares the runs that were finished until then.
	if code, message := s.load(context.Background(), c.name, args, &printed); code != exitDone {
		return errors.New(message)
	}
	if err := json.Unmarshal(printed.Bytes(), &c.comparison); err != nil {
		return fmt.Errorf("compare --json: %w", err)
	}
	c.page = page
	return os.WriteFile(strings.TrimSuffix(page, ".html")+".json", printed.Bytes(), 0o644)
}

// load runs uma-load with its messages in a log of that name, and returns its exit code and its last error line.
func (s *showing) load(ctx context.Context, log string, args []string, stdout io.Writer) (code int, message string) {
	file, err := os.OpenFile(filepath.Join(s.folder, log+logSuffix), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return exitFailed, err.Error()
	}
	defer file.Close()
	var complaints tailWriter
	code = s.program.Load(ctx, args, stdout, io.MultiWriter(&complaints, file))
	return code, strings.TrimPrefix(complaints.line(), "uma-load: ")
}

// tailWriter keeps the end of what is written to it.
type tailWriter struct{ kept []byte }

// mostKept is longer, in bytes, than any error line of uma-load.
const mostKept = 16 << 10

func (t *tailWriter) Write(text []byte) (int, error) {
	t.kept = append(t.kept, text...)
	if more := len(t.kept) - mostKept; more > 0 {
		t.kept = t.kept[more:]
	}
	return len(text), nil
}

// line returns the last line.
func (t *tailWriter) line() string {
	lines := strings.Split(strings.TrimSpace(string(t.kept)), "\n")
	return lines[len(lines)-1]
}

// lookEvery is the time between two checks for finished runs.
const lookEvery = 250 * time.Millisecond

// watch reports every run of a campaign as it is finished. The returned stop checks a last time.
func (s *showing) watch(c *shownCampaign) (stop func()) {
	seen := map[string]bool{}
	look := func() {
		for _, r := range runsOf(c.dir, seen) {
			s.progress.run(c, r)
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

// runsOf returns the finished runs of a campaign that are not in seen, in the order of their start.
func runsOf(dir string, seen map[string]bool) []summary.Run {
	paths, err := summary.Find([]string{dir})
	if err != nil {
		return nil // no run yet
	}
	var fresh []summary.Run
	for _, path := range paths {
		if seen[path] {
			continue
		}
		if r, err := summary.Open(path); err == nil { // an error means that the run is not finished
			seen[path] = true
			fresh = append(fresh, r)
		}
	}
	return fresh
}
