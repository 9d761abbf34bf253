package collector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

const nvmeAdminNeed = "nvme_admin"

// needNVMeAdmin is the permission that the kernel requires for commands to the drive itself.
func needNVMeAdmin() Need {
	return Need{
		Name:  nvmeAdminNeed,
		Cost:  "wear, spare blocks, media errors and unsafe shutdowns of the drives are unknown",
		Fix:   "give CAP_SYS_ADMIN and read access to the device nodes /dev/nvme0 and so on (systemd: AmbientCapabilities=CAP_SYS_ADMIN CAP_DAC_READ_SEARCH; docker run --cap-add=SYS_ADMIN --device=/dev/nvme0; in compose cap_add and devices)",
		Asked: func(_ Host, options Options) bool { return options.NVMeSMART },
	}
}

// nvmeDrives keeps temperatures and health logs between collections. For each the drive composes its health log, which
// costs it time and can keep it from sleeping. The runner never runs a collector twice at a time.
type nvmeDrives struct {
	host   Host
	smart  bool
	drives map[string]*nvmeDrive // by controller
}

type nvmeDrive struct {
	temperatures lookup[[]hostfs.NVMeTemperature]
	smart        lookup[hostfs.SMARTLog]
}

func newNVMeDrive(host Host, controller string) *nvmeDrive {
	return &nvmeDrive{
		temperatures: lookup[[]hostfs.NVMeTemperature]{now: host.Now, read: func(context.Context) ([]hostfs.NVMeTemperature, error) {
			return hostfs.ReadNVMeTemperatures(host.Sys, controller)
		}},
		smart: lookup[hostfs.SMARTLog]{now: host.Now, read: func(context.Context) (hostfs.SMARTLog, error) {
			log, err := host.SMARTLog(controller)
			if err != nil {
				return hostfs.SMARTLog{}, err
			}
			return hostfs.ParseSMARTLog(log)
		}},
	}
}

// refresh starts the reads that are due for the drives that exist, and forgets other drives.
func (d *nvmeDrives) refresh(controllers []hostfs.NVMeController) {
	maps.DeleteFunc(d.drives, func(name string, _ *nvmeDrive) bool {
		return !slices.ContainsFunc(controllers, func(c hostfs.NVMeController) bool { return c.Name == name })
	})
	for _, controller := range controllers {
		drive, known := d.drives[controller.Name]
		if !known {
			drive = newNVMeDrive(d.host, controller.Name)
			d.drives[controller.Name] = drive
		}
		drive.temperatures.refresh()
		if d.smart {
			drive.smart.refresh()
		}
	}
}

// emit adds the figures read so far. A drive that does not answer loses only its own series.
func (d *nvmeDrives) emit(ctx context.Context, batch *Batch, controllers []hostfs.NVMeController) error {
	ctx, cancel := patience(ctx)
	defer cancel()
	var errs []error
	for _, controller := range controllers {
		drive := d.drives[controller.Name]
		temperatures, _, err := drive.temperatures.value(ctx)
		log, healthErr := d.health(ctx, drive, batch)
		if log != nil {
			emitSMART(batch, controller.Name, *log)
		}
		if len(temperatures) == 0 && log != nil { // before Linux 5.5 there is no hwmon chip
			temperatures = log.Temperatures
		}
		emitTemperatures(batch, controller.Name, temperatures)
		if err := errors.Join(err, healthErr); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", controller.Name, err))
		}
	}
	return errors.Join(errs...)
}

// health is the log of a drive, nil if it is disabled, not read yet or forbidden.
func (d *nvmeDrives) health(ctx context.Context, drive *nvmeDrive, batch *Batch) (*hostfs.SMARTLog, error) {
	if !d.smart {
		return nil, nil
	}
	log, ready, err := drive.smart.value(ctx)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		batch.Lacks(nvmeAdminNeed)
		return nil, nil
	case err != nil, !ready:
		return nil, err
	}
	return &log, nil
}

func emitTemperatures(batch *Batch, controller string, sensors []hostfs.NVMeTemperature) {
	for _, sensor := range sensors {
		batch.Gauge(metric.NVMeTemperatureCelsius, sensor.Celsius, controller, sensor.Sensor)
		if sensor.Warning != nil {
			batch.Gauge(metric.NVMeTemperatureWarningCelsius, *sensor.Warning, controller, sensor.Sensor)
		}
		if sensor.Critical != nil {
			batch.Gauge(metric.NVMeTemperatureCriticalCelsius, *sensor.Critical, controller, sensor.Sensor)
		}
	}
}

func emitSMART(batch *Batch, controller string, log hostfs.SMARTLog) {
	for kind, warns := range log.Warnings {
		batch.Gauge(metric.NVMeSMARTCriticalWarning, number(warns), controller, kind)
	}
	for _, row := range smartGauges() {
		batch.Gauge(row.metric, row.value(log), controller)
	}
	for _, row := range smartCounters() {
		batch.Counter(row.metric, row.value(log), controller)
	}
	for i, throttling := range log.Throttling {
		level := strconv.Itoa(i + 1)
		batch.Counter(metric.NVMeSMARTThermalTransitionsTotal, throttling.Transitions, controller, level)
		batch.Counter(metric.NVMeSMARTThermalSecondsTotal, throttling.Seconds, controller, level)
	}
}

// smartRow is a series of one number of a health log.
type smartRow[M metric.Gauge | metric.Counter] struct {
	metric M
	value  func(hostfs.SMARTLog) float64
}

func smartGauges() []smartRow[metric.Gauge] {
	return []smartRow[metric.Gauge]{
		{metric.NVMeSMARTUsedRatio, func(l hostfs.SMARTLog) float64 { return l.UsedRatio }},
		{metric.NVMeSMARTAvailableSpareRatio, func(l hostfs.SMARTLog) float64 { return l.AvailableSpareRatio }},
		{metric.NVMeSMARTAvailableSpareThresholdRatio, func(l hostfs.SMARTLog) float64 { return l.SpareThresholdRatio }},
	}
}

func smartCounters() []smartRow[metric.Counter] {
	return []smartRow[metric.Counter]{
		{metric.NVMeSMARTDataReadBytesTotal, func(l hostfs.SMARTLog) float64 { return l.ReadBytes }},
		{metric.NVMeSMARTDataWrittenBytesTotal, func(l hostfs.SMARTLog) float64 { return l.WrittenBytes }},
		{metric.NVMeSMARTHostReadsTotal, func(l hostfs.SMARTLog) float64 { return l.HostReads }},
		{metric.NVMeSMARTHostWritesTotal, func(l hostfs.SMARTLog) float64 { return l.HostWrites }},
		{metric.NVMeSMARTBusySecondsTotal, func(l hostfs.SMARTLog) float64 { return l.BusySeconds }},
		{metric.NVMeSMARTPowerOnSecondsTotal, func(l hostfs.SMARTLog) float64 { return l.PowerOnSeconds }},
		{metric.NVMeSMARTPowerCyclesTotal, func(l hostfs.SMARTLog) float64 { return l.PowerCycles }},
		{metric.NVMeSMARTUnsafeShutdownsTotal, func(l hostfs.SMARTLog) float64 { return l.UnsafeShutdowns }},
		{metric.NVMeSMARTMediaErrorsTotal, func(l hostfs.SMARTLog) float64 { return l.MediaErrors }},
		{metric.NVMeSMARTErrorLogEntriesTotal, func(l hostfs.SMARTLog) float64 { return l.ErrorLogEntries }},
		{metric.NVMeSMARTWarningTemperatureSecondsTotal, func(l hostfs.SMARTLog) float64 { return l.WarningSeconds }},
		{metric.NVMeSMARTCriticalTemperatureSecondsTotal, func(l hostfs.SMARTLog) float64 { return l.CriticalSeconds }},
	}
}

func smartMetrics() []metric.Definer {
	definers := []metric.Definer{metric.NVMeSMARTCriticalWarning, metric.NVMeSMARTThermalTransitionsTotal, metric.NVMeSMARTThermalSecondsTotal}
	for _, row := range smartGauges() {
		definers = append(definers, row.metric)
	}
	for _, row := range smartCounters() {
		definers = append(definers, row.metric)
	}
	return definers
}
