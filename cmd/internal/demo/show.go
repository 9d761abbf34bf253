package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// showing is a demo that runs: what it has made so far, and what it is made with.
type showing struct {
	*shown
	program Program
	tell    *teller

	machines []*machine // one for each campaign, then that of the trials
	control  *control
	at       string // of the control
	servers  servers
	running  context.CancelFunc // ends what goes on at the machines
}

// show makes everything at the same time, tells of it and writes the page.
func (p Program) show(ctx context.Context, o showOptions) int {
	s, err := p.open(ctx, o)
	if err != nil {
		return p.fail(exitInput, err)
	}
	defer s.close()
	s.tell.introduce(s)
	s.perform(ctx)
	return s.conclude(ctx)
}

// open makes everything that can fail for what the command line says.
func (p Program) open(ctx context.Context, o showOptions) (*showing, error) {
	s := &showing{program: p, shown: &shown{options: o, speed: paceOf(o).speed, begun: time.Now()}}
	s.tell = &teller{out: p.Stdout, began: s.begun}
	s.campaigns, s.trials = campaignsOf(o), trialsOf()
	if err := s.makeFolder(); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// makeFolder makes a folder for this start below the one that was asked for. What lies there already stays.
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
		err = nil // another demo that has begun in the same second
	}
	if err != nil {
		return fmt.Errorf("--out %s: %w: name a folder that you may write to", s.options.out, cause(err))
	}
	return nil
}

// start starts the machines, and what their arms are begun by.
func (s *showing) start(ctx context.Context) error {
	live, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.running = stop
	var hosts []string
	for _, c := range s.campaigns {
		hosts = append(hosts, c.host)
	}
	for _, host := range append(hosts, trialsHost) {
		m, err := openMachine(live, host, s.options.seed, s.speed, &s.servers)
		if err != nil {
			return fmt.Errorf("%s: %w", host, err)
		}
		s.machines = append(s.machines, m)
	}
	s.machineBegun = s.machines[0].stage.host.Now()
	s.control = newControl(s.options.seed, s.machines)
	listener, at, err := listen("", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.at = at
	s.servers.serve(listener, s.control.handler())
	return nil
}

// controlURL is where the arms of a machine are begun.
func (s *showing) controlURL(m *machine) string { return "http://" + s.at + s.control.path(m.name) }

// perform makes the campaigns and the trials, each on its machine, and returns when all are over.
func (s *showing) perform(ctx context.Context) {
	var making sync.WaitGroup
	for i, c := range s.campaigns {
		making.Go(func() { s.campaign(ctx, c, s.machines[i]) })
	}
	making.Go(func() { s.tries(ctx, s.machines[len(s.machines)-1]) })
	making.Wait()
	s.ended, s.machineEnded = time.Now(), s.machines[0].stage.host.Now()
	s.interrupted = ctx.Err() != nil
}

// problem notes what went wrong.
func (s *showing) problem(what string) {
	s.noting.Lock()
	defer s.noting.Unlock()
	s.problems = append(s.problems, what)
}

// conclude writes the page and says what came of it all.
func (s *showing) conclude(ctx context.Context) int {
	s.tell.verdict(s.shown)
	s.tell.where(s.shown)
	return exitDone
}

// close ends everything. Machines serve until the last of their readers is gone.
func (s *showing) close() {
	if s.running != nil {
		s.running()
	}
	s.servers.close()
	for _, m := range s.machines {
		m.stage.close()
	}
}
