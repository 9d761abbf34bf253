package loadgen

import (
	"context"
	"log/slog"
	"os"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// machineSense reads the state of the measured machine: from exporters the values that only they have, from the kernel
// the rest, if the load generator runs on that machine. For an engine on several machines it takes the hottest GPU of
// all, and every other value from the first machine.
type machineSense struct {
	exporter string // of this machine, when the plan names none
	proc     string // mount point of procfs
}

// ask returns the current state of the machine. A value that cannot be read is absent.
func (m machineSense) ask(ctx context.Context, cell *plan.Cell) campaign.Machine {
	var now campaign.Machine
	urls := plan.Lines(cell.Flags["url"])
	settings := runner.CaptureSettings{Access: cell.Flags[runner.TelemetryAccessFlag], Server: urls[0], Replicas: urls[1:]}
	for _, text := range cell.Telemetry {
		source, err := runner.ParseSource(text)
		if err != nil {
			return now // the run refuses the flag and names it
		}
		settings.Telemetry = append(settings.Telemetry, source)
	}
	around, err := runner.NewMachineCapture(ctx, settings, m.exporter, slog.New(slog.DiscardHandler))
	local := len(settings.Telemetry) == 0 && settings.ServerHere(ctx)
	if err == nil && len(around.Sources) > 0 {
		host, _ := os.Hostname() // without a name, no source matches this machine
		source := measuredSource(around.Sources, host)
		local = runner.IsExporterOf(host, source)
		if log, err := around.Glance(ctx); err == nil {
			readMachine(log.Source(source.Name), &now)
			for _, s := range around.Sources { // other machines of the engine
				readHeat(log.Source(s.Name), &now)
			}
		}
	}
	if local {
		m.readKernel(&now)
	}
	return now
}

// measuredSource returns the source of this machine if it is in the list, else the first.
func measuredSource(sources []telemetry.Source, host string) telemetry.Source {
	for _, s := range sources {
		if s.Name == host {
			return s
		}
	}
	return sources[0]
}

// readMachine reads the last sample of an exporter.
func readMachine(source *telemetry.SourceLog, now *campaign.Machine) {
	readHeat(source, now)
	extreme(source, metric.GPUSMClockHertz, &now.SMClockHertz, func(a, b float64) bool { return a < b })
	extreme(source, metric.GPUPerformanceState, &now.PState, func(a, b float64) bool { return a < b }) // an engine may use one GPU of several
	extreme(source, metric.MemoryCUDAFreeBytes, &now.MemFreeBytes, func(a, b float64) bool { return a < b })
}

// readHeat keeps the temperature of the hottest GPU.
func readHeat(source *telemetry.SourceLog, now *campaign.Machine) {
	extreme(source, metric.GPUTemperatureCelsius, &now.Celsius, func(a, b float64) bool { return a > b })
}

// extreme keeps the smallest or largest value of a family. It skips a recorded host: its values are not current.
func extreme(source *telemetry.SourceLog, family metric.Definer, into **float64, better func(a, b float64) bool) {
	if source == nil || source.Mode() != metric.ModeLive && source.Mode() != metric.ModeSimulated {
		return
	}
	for _, series := range source.Find(family) {
		for point := range series.Points() {
			if value := point.Value; *into == nil || better(value, **into) {
				*into = &value
			}
		}
	}
}

// readKernel reads the state of this machine from procfs.
func (m machineSense) readKernel(now *campaign.Machine) {
	kernel, err := procfs.NewFS(m.proc)
	if err != nil {
		return
	}
	if info, err := kernel.Meminfo(); err == nil && info.MemFreeBytes != nil && now.MemFreeBytes == nil {
		free := float64(*info.MemFreeBytes)
		now.MemFreeBytes = &free
	}
	if stat, err := kernel.Stat(); err == nil {
		c := stat.CPUTotal // user and nice already include guest time
		busy := c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal
		total := busy + c.Idle + c.Iowait
		now.BusySeconds, now.TotalSeconds = &busy, &total
	}
}
