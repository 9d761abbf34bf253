package exporter

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"sync/atomic"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
	"github.com/umascope/umascope/exporter/recorder"
)

const (
	// defaultRecorderFolder is the StateDirectory= of the unit's drop-in.
	defaultRecorderFolder = "/var/lib/umascope/recorder"
	machineIDFile         = "/etc/machine-id"

	// fastAge is how old an outcome may be that a sample uses: that of a scrape in the same second.
	fastAge = recorder.Interval / 2
	// slowAge is the same for what costs an engine or a large machine more than a second's sample may.
	slowAge = 5 * time.Second
)

// openRecorder returns the recorder of --recorder. It writes nothing yet.
func (l *commandLine) openRecorder(e *Exporter, host collector.Host) (*recorder.Recorder, error) {
	if l.once {
		return nil, badInput("--recorder: records while the exporter serves, and --once ends it")
	}
	if info, err := os.Stat(l.recorderFolder); err != nil {
		return nil, badInput("--recorder.folder %s: %w", l.recorderFolder, reason(err))
	} else if !info.IsDir() {
		return nil, badInput("--recorder.folder %s: not a folder", l.recorderFolder)
	}
	if host.Mode != collector.Live {
		return nil, badInput("--recorder: records this machine, and the figures here are of a recording")
	}
	identity, err := recorder.Identify(host.Proc, machineIDFile)
	if err != nil {
		return nil, badInput("--recorder: %w", err)
	}
	var kernel *kernelReader
	if l.options.KernelLog && host.KernelLog != nil {
		kernel = &kernelReader{open: hostfs.OpenWholeKernelLog}
	}
	source := newRecorderSource(host, e.runner, kernel)
	return recorder.New(recorder.Settings{
		Folder: l.recorderFolder, Identity: identity, Look: source.look, Take: source.take,
		Monotonic: recorder.Monotonic, Logger: e.settings.Logger,
	}), nil
}

// recorderSource takes samples from what the collectors read.
type recorderSource struct {
	host   collector.Host
	runner *collector.Runner
	kernel *kernelReader // nil where it is not to be read
	above  string        // the cgroup above this process's, "" if not known

	slow    atomic.Pointer[recorder.Sample] // groups and engines
	reading atomic.Bool
}

func newRecorderSource(host collector.Host, runner *collector.Runner, kernel *kernelReader) *recorderSource {
	return &recorderSource{host: host, runner: runner, kernel: kernel, above: cgroupAbove(host.Proc)}
}

// cgroupAbove is the cgroup above this process's. It stays when the kernel or systemd ends the process; a process in a
// namespace of its own sees none.
func cgroupAbove(proc hostfs.Dir) string {
	own, err := hostfs.ProcessCgroup(proc, uint32(os.Getpid()))
	if above := path.Dir(own); err == nil && above != "/" && above != "." {
		return above
	}
	return ""
}

// look is what there is to compare with the records of earlier recorders.
func (s *recorderSource) look() recorder.Start {
	start := recorder.Start{Version: readBuild().Version, OOM: s.groupOOM()}
	if vmstat, err := hostfs.ReadVmstat(s.host.Proc); err == nil {
		if kills, counted := vmstat["oom_kill"]; counted {
			start.OOM.Kills = &kills
		}
	}
	start.Kernel, start.KernelRead = s.kernel.lines()
	return start
}

func (s *recorderSource) groupOOM() recorder.OOM {
	if s.above == "" {
		return recorder.OOM{}
	}
	events, err := hostfs.ReadMemoryEvents(s.host.Cgroup, s.above)
	limits, counted := events["oom"]
	kills, alsoCounted := events["oom_kill"]
	if err != nil || !counted || !alsoCounted {
		return recorder.OOM{}
	}
	return recorder.OOM{GroupLimits: &limits, GroupKills: &kills}
}

// take takes a sample: what changes fast is read now or was read by a scrape in this second, the rest a few seconds ago.
func (s *recorderSource) take(ctx context.Context) recorder.Sample {
	sample := recorder.Sample{OOM: s.groupOOM()}
	outcomes, _ := s.runner.Recent(ctx, fastAge, s.enabled("memory")...)
	for _, outcome := range outcomes {
		if outcome.State == collector.Failed {
			sample.Missing = append(sample.Missing, outcome.Spec.Name)
		}
		addMemorySample(&sample, outcome)
		addGPUSample(ctx, &sample, outcome)
	}
	s.startSlow()
	if slow := s.slow.Load(); slow != nil {
		sample.Groups, sample.Engines = slow.Groups, slow.Engines
	}
	sample.Kernel, sample.KernelRead = s.kernel.lines()
	return sample
}

// enabled are those of the collectors that run.
func (s *recorderSource) enabled(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(s.runner.Names(), name) })
}

// startSlow reads engines and cgroups beside the samples, so that an engine that hangs delays none.
func (s *recorderSource) startSlow() {
	names := s.enabled("cgroup", metric.CollectorEngine)
	if len(names) == 0 || !s.reading.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.reading.Store(false)
		s.readSlow(names)
	}()
}

func (s *recorderSource) readSlow(names []string) {
	outcomes, _ := s.runner.Recent(context.Background(), slowAge, names...)
	var slow recorder.Sample
	for _, outcome := range outcomes {
		families := outcome.Families()
		slow.Groups = append(slow.Groups, largestGroups(families)...)
		for _, m := range series(families, metric.EngineKVUsedRatio) {
			ratio := m.GetGauge().GetValue()
			slow.Engines = append(slow.Engines, recorder.Engine{Source: labelOf(m, metric.LabelSource), Model: labelOf(m, metric.LabelModel), KVRatio: &ratio})
		}
	}
	s.slow.Store(&slow)
}

// largestGroups are the cgroups with most memory charged. One that another below it is shown of is left out: it has the same
// memory once more.
func largestGroups(families []*dto.MetricFamily) []recorder.Group {
	bytes := map[string]uint64{}
	for _, m := range series(families, metric.CgroupMemoryCurrentBytes) {
		bytes[labelOf(m, metric.LabelCgroup)] = uint64(m.GetGauge().GetValue())
	}
	for cgroup := range maps.Clone(bytes) {
		for above := path.Dir(cgroup); above != "/" && above != "."; above = path.Dir(above) {
			delete(bytes, above)
		}
	}
	var groups []recorder.Group
	for cgroup, charged := range bytes {
		groups = append(groups, recorder.Group{Cgroup: cgroup, Bytes: charged})
	}
	slices.SortFunc(groups, func(a, b recorder.Group) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Cgroup, b.Cgroup))
	})
	return groups[:min(len(groups), recorder.MostGroups)]
}

// series are those of a metric.
func series(families []*dto.MetricFamily, of metric.Definer) []*dto.Metric {
	for _, family := range families {
		if family.GetName() == of.Def().Name {
			return family.GetMetric()
		}
	}
	return nil
}

func labelOf(m *dto.Metric, name metric.Label) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == string(name) {
			return pair.GetValue()
		}
	}
	return ""
}

// addMemorySample adds what the memory collector read. It must not block: it reads with a context that has ended.
func addMemorySample(sample *recorder.Sample, outcome collector.Outcome) {
	families := outcome.Families()
	for _, m := range series(families, metric.VmstatOOMKillsTotal) {
		kills := uint64(m.GetCounter().GetValue())
		sample.OOM.Kills = &kills
	}
	pressure := map[string]recorder.Pressure{}
	for _, m := range series(families, metric.PressureWaitingSecondsTotal) {
		seconds := m.GetCounter().GetValue()
		pressure[labelOf(m, metric.LabelResource)] = recorder.Pressure{Some: &seconds}
	}
	for _, m := range series(families, metric.PressureStalledSecondsTotal) {
		seconds := m.GetCounter().GetValue()
		resource := labelOf(m, metric.LabelResource)
		pressure[resource] = recorder.Pressure{Some: pressure[resource].Some, Full: &seconds}
	}
	sample.Pressure = pressure
	if outcome.Sample == nil {
		return
	}
	reading, err := outcome.Sample.Memory(endedContext())
	if err != nil {
		return
	}
	m := &recorder.Memory{Pool: reading.Meminfo["MemTotal"], Lines: ledger.Of(reading.Lines)}
	for field, at := range map[string]**uint64{"MemFree": &m.Free, "MemAvailable": &m.Available} {
		if bytes, there := reading.Meminfo[field]; there {
			*at = &bytes
		}
	}
	sample.Memory = m
	for _, p := range reading.Processes[:min(len(reading.Processes), recorder.MostHolders)] {
		sample.Holders = append(sample.Holders, recorder.Holder{PID: p.PID, Comm: p.Comm, GPU: p.GPU, Bytes: p.UsedBytes})
	}
}

// addGPUSample adds what the driver reports of each device, in the pass of which the ledger has the process lists.
func addGPUSample(ctx context.Context, sample *recorder.Sample, outcome collector.Outcome) {
	if outcome.Sample == nil {
		return
	}
	snapshot, err := outcome.Sample.GPU(ctx).Snapshot(ctx)
	if err != nil && !errors.Is(err, nvml.ErrUnavailable) {
		sample.Missing = append(sample.Missing, metric.CollectorGPU)
	}
	for _, d := range snapshot.Devices {
		g := recorder.GPU{Index: d.Index, Lost: d.Return != nvml.Success}
		if !g.Lost {
			g.Utilization, g.ClockHertz, g.Watts, g.Celsius = d.UtilizationRatio, d.SMClockHertz, d.PowerWatts, d.TemperatureCelsius
			if d.ProcessesRead && d.HeldKnown() {
				held := d.HeldBytes()
				g.HeldBytes = &held
			}
		}
		for _, reason := range slices.Sorted(maps.Keys(d.ClockEventActive)) {
			if d.ClockEventActive[reason] {
				g.Reasons = append(g.Reasons, reason)
			}
		}
		if d.XIDErrors != nil {
			var sum uint64
			for _, count := range d.XIDErrors {
				sum += count
			}
			g.XIDs = &sum
		}
		sample.GPUs = append(sample.GPUs, g)
	}
}

func endedContext() context.Context {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	return ended
}

// kernelReader reads the kernel log of this boot, from its oldest record on.
type kernelReader struct {
	open func() (next func() (string, error), err error)
	next func() (string, error)
}

// mostKernelRecords is the most that one sample reads; the rest is read with the next.
const mostKernelRecords = 20_000

// lines are those since the last call that matter. read is false if the log cannot be read, as without CAP_SYSLOG.
func (k *kernelReader) lines() (lines []recorder.KernelLine, read bool) {
	if k == nil {
		return nil, false
	}
	if k.next == nil {
		var err error
		if k.next, err = k.open(); err != nil {
			return nil, false
		}
	}
	for range mostKernelRecords {
		text, err := k.next()
		switch {
		case errors.Is(err, hostfs.ErrNoRecord):
			return lines, true
		case errors.Is(err, hostfs.ErrOverrun):
			continue
		case err != nil:
			return lines, false
		}
		record, err := hostfs.ParseKernelRecord(text)
		if err != nil {
			continue
		}
		if line, matters := recorder.NewKernelLine(record); matters {
			lines = append(lines, line)
		}
	}
	return lines, true
}

// readLastBoot reads the ring in a folder and judges it by what is seen now.
func readLastBoot(folder string, host collector.Host) (recorder.Report, error) {
	found, err := recorder.Read(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return recorder.Report{}, errors.New("nothing was recorded there. The flight recorder is off by default: uma-exporter --recorder starts it")
	case errors.Is(err, fs.ErrPermission):
		return recorder.Report{}, errors.New("permission denied: use sudo, or ask the running exporter by --url")
	case err != nil:
		return recorder.Report{}, reason(err)
	}
	identity, err := recorder.Identify(host.Proc, machineIDFile)
	if err != nil {
		return recorder.Report{}, err
	}
	start := newRecorderSource(host, nil, &kernelReader{open: hostfs.OpenWholeKernelLog}).look()
	return recorder.Judge(found, recorder.Record{
		Machine: identity.Machine, Boot: identity.Boot, PID: identity.PID, Start: &start,
		UnixMS: time.Now().UnixMilli(), MonotonicMS: recorder.Monotonic().Milliseconds(),
	}, recorder.InUse(folder))
}
