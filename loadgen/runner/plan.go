package runner

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/workload"
)

// plan is the load for servers. Its schedule is in the folder.
type plan struct {
	*subject // the first server, whose model, engine and tokens are those of all
	servers  subjects
	work     *workload.Workload
	sha256   string
	// schedule stays open while an endless phase lasts.
	schedule *os.File
}

// newPlan draws the workload and writes its schedule. It counts the tokens of a prompt file again with the scale of
// the first server.
func newPlan(ctx context.Context, m *measurement, all subjects) (*plan, error) {
	s := all[0]
	if err := m.load.Recount(s.scale); err != nil {
		return nil, input(err)
	}
	if omit := all.omit(); all.several() && !openai.Capped(omit, nil) && openai.Capped(s.served.Omit, nil) {
		return nil, input(errors.New("--url: the servers take the cap on output tokens under different names: measure them in runs of their own"))
	}
	p := &plan{subject: s, servers: all}
	of := workload.Server{
		Model: s.served.Model.ID, Vendor: server.VendorOf(supported.Engines(), s.served.Engine), Run: m.id, MaxTokens: all.maxTokens(), Fields: all.fields(), Omit: all.omit(), Servers: len(all),
		Tiers: kvRoom(ctx, m, s), Scale: s.scale,
	}
	uncount, err := s.countTexts(ctx, m, &of)
	if err == nil {
		p.work, err = m.load.Write(of)
		uncount()
	}
	if err != nil {
		return nil, Unusable(ctx, err)
	}
	for _, line := range p.work.Script.Forecast {
		m.env.Log.Info("what must happen", "by_size", line)
	}
	for _, note := range p.work.Script.Notes {
		m.env.Log.Warn(note)
	}
	if err := p.writeSchedule(ctx, m.folder); err != nil {
		return nil, err
	}
	return p, nil
}

// writeSchedule writes the schedule and computes the hash of the workload. The file stays open unless writing fails.
func (p *plan) writeSchedule(ctx context.Context, f rundir.Folder) error {
	var err error
	p.schedule, err = os.OpenFile(f.Path(rundir.ScheduleFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return BadOut(err)
	}
	buffer := bufio.NewWriter(p.schedule)
	if p.sha256, err = p.work.Plan(ctx, buffer); err == nil {
		err = buffer.Flush() // Flush repeats the error of an earlier write
	}
	if err == nil && ctx.Err() == nil {
		return nil
	}
	_ = p.schedule.Close()
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	if errors.Is(err, workload.ErrOtherPrompts) {
		return input(err)
	}
	if full := (*fs.PathError)(nil); errors.As(err, &full) {
		return BadOut(err)
	}
	return err
}

// close closes the files of the plan and the connections of its subject.
func (p *plan) close() {
	if p == nil {
		return
	}
	_ = p.schedule.Close()
	p.servers.close()
}

// describeLoad adds to the manifest the load and the servers that it is sent to.
func (p *plan) describeLoad(m *rundir.Manifest, of *measurement) {
	w, l := p.work, of.load
	m.Workload = rundir.Workload{
		SHA256: p.sha256, Sampling: w.Sampling, Concurrency: l.Concurrency, Script: w.Script.Facts, Pressure: w.Script.Forecast, OutputTokens: w.Output,
		InputLengths: w.InputLengths, Scale: p.scale, PromptKey: l.PromptKey, RepeatOf: l.RepeatOf(),
	}
	m.Server = p.subject.describe(l.LatencyProbe())
	for _, s := range p.servers[1:] {
		m.Replicas = append(m.Replicas, s.describe(l.LatencyProbe()))
	}
	// The judging entries are written now, so that a run that is killed has them too.
	m.Judging = of.expected()
	m.Judging.Unmeasured, m.Judging.PrefixReuse, m.Judging.DepthTokens = w.Uncounted(), p.prefixReuse(l), w.Script.DepthTokens
	for _, phase := range w.Phases {
		m.Workload.Phases = append(m.Workload.Phases, rundir.PlannedPhase{Name: phase.Name, Process: phase.Process, Limit: phase.Limit})
	}
}
