package metric

import "time"

// MachineThresholds are the thresholds of GPU, drives and the exporter itself.
type MachineThresholds struct {
	// ThrottledWarning and ThrottledCritical are the limits of the share of time in which heat lowers the clock. On
	// GB10 28 s of it had piled up after a session at 91 to 92 C (field report): a hundredth of the time is beyond
	// chance, with a fifth the figures of a run are not comparable.
	ThrottledWarning, ThrottledCritical float64
	// MarginCelsius is the minimum distance of a GPU from a limit that the driver gives (contract).
	MarginCelsius float64
	// GB10WarningCelsius and GB10CriticalCelsius are for GB10, which has no published limit: 83 to 86 C are seen in
	// normal load, throttling from 91 to 92 C (field reports).
	GB10WarningCelsius, GB10CriticalCelsius float64
	// PowerCappedRatio is the limit of the share of time in which the power cap lowers the clock. Normal under load on
	// GB10.
	PowerCappedRatio float64
	// BusyRatio is the utilisation above which a GPU counts as busy.
	BusyRatio float64
	// StuckHertz and StuckWatts separate a busy GB10 from one whose power delivery has failed: that one works at 500 to
	// 850 MHz and 14 to 18 W, a sound one at 2400 MHz and 59 to 78 W (field reports).
	StuckHertz, StuckWatts float64
	// SlowShare is the share of its usual power below which a working GPU is in a slow state (contract; seen: 15
	// to 20 W in place of 31 to 36 W at the same clock).
	SlowShare float64
	// SampleAge is the maximum age of the last good reading of the GPUs (contract).
	SampleAge time.Duration
	// NVMeWarningCelsius and NVMeCriticalCelsius are for drives that give no limit of their own.
	NVMeWarningCelsius, NVMeCriticalCelsius float64
	// NVMeOperations is the number of reads and writes a second that counts as load: below it their mean time is that
	// of a few (contract). NVMeLatencyFactor is the limit of the mean time, in medians of its last 7 days (contract).
	// NVMeLatencySamples is the minimum number of values of a median: an hour of load at 15 s (our own choice).
	NVMeOperations, NVMeLatencyFactor, NVMeLatencySamples float64
	// NVMeUsedRatio is the limit of the share of its endurance that a drive has used up.
	NVMeUsedRatio float64
	// PCIeErrorsPerSecond is the limit of correctable errors of a link. The PCIe specification allows one wrong bit in
	// 1e12: on four lanes of 32 GT/s, 128e9 bits a second, 0.13 errors a second if the link is never at rest. Eight
	// times that is no sound link.
	PCIeErrorsPerSecond float64
}
