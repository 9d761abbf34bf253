package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/umascope/umascope/alerts"
	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/metric"
)

// showing is a running demo: its results so far, and its machines and servers.
type showing struct {
	*shown
	program  Program
	progress *progress

	machines  []*machine // one for each campaign, then one for each trial, then that of the heat
	control   *control
	controlAt string
	// viewListens is the address of the view, viewAt the one at which this machine reaches it.
	viewListens, viewAt string
	servers             servers
	live                context.CancelFunc // stops the view and the work on the machines
	running             sync.WaitGroup     // the work until then
	sampling            time.Duration      // between two samples of telemetry
}

// show runs all campaigns and trials at the same time, prints the progress and writes the page.
func (p Program) show(ctx context.Context, o showOptions) int {
	s, err := p.open(ctx, o)
	if err != nil {
		return p.fail(exitInput, err)
	}
	defer s.close()
	s.progress.introduce(s)
	s.perform(ctx)
	code := s.conclude(ctx)
	if o.serve && ctx.Err() == nil {
		s.stay(ctx)
	}
	return code
}

// open opens everything that can fail because of the command line.
func (p Program) open(ctx context.Context, o showOptions) (*showing, error) {
	s := &showing{program: p, shown: &shown{options: o, begun: time.Now()}}
	s.progress = &progress{out: p.Stdout, began: s.begun}
	s.campaigns, s.trials = campaignsOf(o), trialsOf()
	err := s.findAddress() // first, so that an error leaves no folder
	if err == nil {
		err = s.makeFolder()
	}
	if err == nil {
		err = s.start(ctx)
	}
	if err != nil {
		s.close()
		return nil, full(o.out, err)
	}
	return s, nil
}

// makeFolder makes a folder for this start in the one that the flag names. Files that are there already stay.
func (s *showing) makeFolder() (err error) {
	if s.out, err = filepath.Abs(s.options.out); err == nil {
		err = os.MkdirAll(s.out, 0o755)
	}
	for number := 1; err == nil; number++ {
		name := "demo-" + s.begun.UTC().Format("20060102T150405Z")
		if number > 1 {
			name = fmt.Sprintf("%s-%d", name, number)
		}
		s.folder = filepath.Join(s.out, name)
		if err = os.Mkdir(s.folder, 0o755); !errors.Is(err, os.ErrExist) {
			break
		}
		err = nil // another demo has started in the same second
	}
	if err != nil {
		return fmt.Errorf("--out %s: %w: name a folder that you may write to", s.options.out, cause(err))
	}
	return nil
}

// start starts the machines and the control server of their arms.
func (s *showing) start(ctx context.Context) error {
	live, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.live = stop
	s.servers.allowHosts = s.options.allowHosts
	var hosts []string
	for _, c := range s.campaigns {
		hosts = append(hosts, c.host)
	}
	for _, t := range s.trials {
		hosts = append(hosts, t.host)
	}
	hosts = append(hosts, heatHost)
	for _, host := range hosts {
		m, err := openMachineHere(live, host, stageSettings{seed: s.options.seed, weights: paceOf(s.options).weights, factor: timeFactor}, &s.servers)
		if err == nil {
			m.loadAt, err = freeAddress()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", host, err)
		}
		s.machines = append(s.machines, m)
	}
	if err := s.openView(live); err != nil {
		return err
	}
	s.control = newControl(s.options.seed, s.machines)
	controlled, err := listenHere()
	if err != nil {
		return err
	}
	s.controlAt = controlled.at
	s.servers.serve(controlled, s.control.handler())
	var slowest time.Duration
	for _, m := range s.machines {
		began := time.Now()
		if err := (&viewer{at: m.pages[exporterPage].at, client: s.view.client}).get(ctx, exporter.DefaultTelemetryPath, nil); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		slowest = max(slowest, time.Since(began))
	}
	// With the work that will run at the same time, pages take several times as long.
	s.sampling = min(max(10*slowest, shortestSampling), longestSampling).Round(10 * time.Millisecond)
	return nil
}

// listenAddress is the flag for the address of a demo that is kept open.
const listenAddress = "web.listen-address"

// findAddress finds the address of uma-view: with --serve the one of the flag, or the default one or a port near it.
func (s *showing) findAddress() (err error) {
	if !s.options.serve {
		s.viewListens, err = freeAddress()
		s.viewAt = s.viewListens
		return err
	}
	open, err := listen(listenAddress, s.options.listen, !s.options.explicit)
	if err != nil {
		return err
	}
	s.viewListens, s.viewAt = open.Addr().String(), open.at
	if s.viewAt != s.options.listen && !s.options.explicit {
		fmt.Fprintf(s.program.Stderr, "uma-demo: warning: %s is in use, listening on %s instead\n", s.options.listen, s.viewAt)
	}
	return open.Close()
}

// controlURL is the URL that starts the arms of a machine.
func (s *showing) controlURL(m *machine) string {
	return "http://" + s.controlAt + s.control.path(m.name)
}

// comparisonSeen is the time from the end of a comparison to the alerts about it: a scrape and an evaluation, with one more
// to spare.
const comparisonSeen = runsInterval + 2*ruleInterval

// perform runs the campaigns, the trials and the heat, each on its machine, and returns when all are over.
func (s *showing) perform(ctx context.Context) {
	var making sync.WaitGroup
	for i, c := range s.campaigns {
		making.Go(func() {
			s.campaign(ctx, c, s.machines[i])
			_ = pause(ctx, comparisonSeen) // an interrupt ends the pause
		})
	}
	for i, t := range s.trials {
		making.Go(func() {
			s.try(ctx, t, s.machines[len(s.campaigns)+i])
			if t.wrong {
				s.awaitInvalid(ctx, t.host)
			}
		})
	}
	making.Go(func() { s.heatUp(ctx, s.machines[len(s.machines)-1]) })
	making.Wait()
	s.interrupted = ctx.Err() != nil
	s.ended = time.Now()
}

// problem records an error.
func (s *showing) problem(what string) {
	s.noting.Lock()
	defer s.noting.Unlock()
	s.problems = append(s.problems, what)
}

// noted returns the problems up to now: the work that goes on while the page is written may add more.
func (s *shown) noted() []string {
	s.noting.Lock()
	defer s.noting.Unlock()
	return slices.Clone(s.problems)
}

// conclude writes the page, prints the results and returns the exit code.
func (s *showing) conclude(ctx context.Context) int {
	var err error
	if s.alerts, err = s.view.firing(context.WithoutCancel(ctx), fmt.Sprintf("%s!=%q", metric.LabelSeverity, alerts.None), s.begun, s.ended); err != nil {
		s.problem("alerts: " + err.Error())
	}
	for _, c := range s.campaigns {
		if c.fault != "" {
			s.problem(c.name + ": " + c.fault)
		}
	}
	for _, t := range s.trials {
		if t.fault != "" {
			s.problem(t.name + ": " + t.fault)
		}
	}
	s.progress.verdict(s.shown)
	if err := s.program.writeReport(s.shown); err != nil {
		return s.program.fail(exitFailed, full(s.options.out, fmt.Errorf("%s is not written: %w", filepath.Join(s.out, reportName), cause(err))))
	}
	s.progress.where(s.shown)
	if s.interrupted {
		return s.program.fail(exitFailed, errors.New("interrupted: the report tells of what there was until then, and says so"))
	}
	if problems := s.noted(); len(problems) > 0 {
		for _, why := range append(problems, s.viewComplaint()) {
			if err := full(s.options.out, errors.New(why)); err.Error() != why {
				return s.program.fail(exitFailed, err)
			}
		}
		return s.program.fail(exitFailed, fmt.Errorf("not all could be made, the report has the rest: %s", problems[0]))
	}
	return exitDone
}

// full replaces the error of a full disk with one that says what to do, and returns every other error as it is. An
// error that another program has written is recognised by its text.
func full(out string, err error) error {
	for _, reason := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, reason) || strings.Contains(err.Error(), reason.Error()) {
			return fmt.Errorf("--out %s: %w: make room, or name another folder; what could be kept is there", out, reason)
		}
	}
	return err
}

// close stops the clients first, then the servers, then the machines.
func (s *showing) close() {
	if s.live != nil {
		s.live()
	}
	s.servers.close()
	if s.control != nil {
		s.control.close()
	}
	s.running.Wait()
	for _, m := range s.machines {
		m.stage.close()
	}
}

// stay keeps everything open until ctx ends, with an engine that serves requests on every machine.
func (s *showing) stay(ctx context.Context) {
	for i, m := range s.machines {
		a := nativeArm()
		if i%2 == 0 {
			a = containerArm()
		}
		if err := m.stage.begin(ctx, a, engineOptions{seed: s.options.seed}); err != nil {
			return // an interrupt, or the machine has no engine
		}
		s.running.Go(func() { chatting(ctx, m.engineURL()) })
	}
	s.progress.print("\nopen         http://%s/ until Ctrl-C\n", s.viewAt)
	<-ctx.Done()
}
