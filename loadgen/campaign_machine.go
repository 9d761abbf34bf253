package loadgen

import (
	"context"
	"log/slog"
	"os"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/capture"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// machineSense asks the measured machine how it is: exporters for what only they see, the kernel for the
// rest, if the machine is this one. Of an engine on several machines the hottest counts, and all else is of the first.
type machineSense struct {
	exporter string // of this machine, where no plan names one
	proc     string // where the kernel says it
}

// ask is what the machine says now. What cannot be asked is not known.
func (m machineSense) ask(ctx context.Context, cell *plan.Cell) campaign.Machine {
	var now campaign.Machine
	settings := capture.Settings{Access: cell.Flags[capture.AccessFlag], Server: cell.Flags["url"]}
	for _, text := range cell.Telemetry {
		source, err := capture.ParseSource(text)
		if err != nil {
			return now // the flags of the run refuse it, with its name
		}
		settings.Telemetry = append(settings.Telemetry, source)
	}
	around, err := capture.LookAtMachines(ctx, settings, m.exporter, slog.New(slog.DiscardHandler))
	local := len(settings.Telemetry) == 0 && settings.ServerHere(ctx)
	if err == nil && len(around.Sources) > 0 {
		host, _ := os.Hostname() // without it, none is called like this machine
		source := measuredSource(around.Sources, host)
		local = capture.IsOf(host, source)
		if log, err := around.Glance(ctx); err == nil {
			readMachine(log.Source(source.Name), &now)
			for _, s := range around.Sources { // further machines of the engine
				readHeat(log.Source(s.Name), &now)
			}
		}
	}
	if local {
		m.readKernel(&now)
	}
	return now
}

// measuredSource is the exporter of this machine if it is among them, else the first.
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

// extreme keeps the least or largest value of a family. A picture of a machine says nothing of now.
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

// readKernel reads what this machine's kernel says.
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
		c := stat.CPUTotal // guests are in user and nice already
		busy := c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal
		total := busy + c.Idle + c.Iowait
		now.BusySeconds, now.TotalSeconds = &busy, &total
	}
}
