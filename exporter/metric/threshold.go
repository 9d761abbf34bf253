package metric

import (
	"fmt"
	"strconv"
	"time"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// Floor is a lower bound of memory: a number of bytes, or a share of the pool where that is less,
// so that it also fits a machine with a small pool.
type Floor struct {
	Bytes float64
	Share float64 // of the pool, 0 to 1
}

// String returns the bound in words.
func (f Floor) String() string {
	return fmt.Sprintf("%s or %s %% of the pool, whichever is less", BinaryBytes(f.Bytes), Decimal(f.Share*100))
}

// Of returns the bound for a pool, both in bytes.
func (f Floor) Of(pool int64) int64 { return int64(min(f.Bytes, f.Share*float64(pool))) }

// Seen is an amount of available memory at which a machine was seen to die, and the pool of that machine, in bytes.
type Seen struct {
	Bytes, Pool float64
	Source      string // URL of the report
}

// Of scales the amount to another pool, in bytes.
func (s Seen) Of(pool int64) int64 { return int64(s.Bytes / s.Pool * float64(pool)) }

// String returns the amount and the pool in words.
func (s Seen) String() string {
	return fmt.Sprintf("%s of %s GiB", Decimal(s.Bytes/gib), Decimal(s.Pool/gib))
}

// Twice is the floor at double height.
func (f Floor) Twice() Floor { return Floor{2 * f.Bytes, 2 * f.Share} }

// Thresholds are the limits of all alerts: alert rules compare with them and panels draw them, from one table.
type Thresholds struct {
	// AvailableWarning and AvailableCritical are the lower limits of MemAvailable where the GPU allocates from the
	// pool. Sources: the 8 GiB of a watchdog in use, and a policy floor of 4.5 GiB that a field report arrived at on
	// GB10; the shares are the contract's, for smaller pools.
	AvailableWarning, AvailableCritical Floor
	// Died is the least memory that was available on a Spark before it stopped answering: about 7 of 119 GiB, while an
	// engine profiled itself. It is one report, with a margin to neither side.
	Died Seen
	// FreeWhileLoading is the lower limit of MemFree while a model loads: the least with which a load on GB10 was seen
	// to survive (field report).
	FreeWhileLoadingBytes float64
	// FragmentedBytes is the lower limit of the memory free in blocks of 2 MiB (field report: 500 to 650 MiB were left
	// of it after a load of 90 GiB, shortly before the host wedged).
	FragmentedBytes float64
	// StalledRatio is the limit of the share of time in which all tasks waited for memory. Our own choice: a tenth of
	// the time is beyond any noise, and a benchmark on such a host measures the waiting.
	StalledRatio float64
	// FillingHorizon is how far the fall of MemAvailable is extrapolated. Loading a model takes
	// 17 to 19 GiB in 10 s, so this finds leaks and is bounded by a level as well. FillingRecent is for how
	// long it must have been falling of late: a server that has just started took memory and stopped at that.
	FillingHorizon, FillingRecent time.Duration
	// UnattributedGrowthBytes is the limit of the growth of the remainder in UnattributedWindow while no process holds
	// GPU memory.
	UnattributedGrowthBytes float64
	UnattributedWindow      time.Duration
	// WaitingRatio and AvailableFallBytes tell a pool that is short of memory from one that is full by intention: a server
	// that has taken its share and stays at that has neither. The first is the limit of the share of time in which a task
	// waited for memory, ten times what an idle GB10 shows; the second the fall of MemAvailable within AvailableFall: a
	// desktop with a browser moves by less than that.
	WaitingRatio       float64
	AvailableFallBytes float64
	AvailableFall      time.Duration

	Service   ServiceThresholds
	Container ContainerThresholds
	Run       RunThresholds

	MachineThresholds
}

// AlertThresholds returns the one table of thresholds.
func AlertThresholds() Thresholds {
	return Thresholds{
		AvailableWarning:        Floor{Bytes: 8 * gib, Share: 0.06},
		AvailableCritical:       Floor{Bytes: 4.5 * gib, Share: 0.03},
		Died:                    Seen{Bytes: 7 * gib, Pool: 119 * gib, Source: "https://github.com/vllm-project/vllm/issues/46307"},
		FreeWhileLoadingBytes:   2.6 * gib,
		FragmentedBytes:         512 * mib,
		StalledRatio:            0.10,
		FillingHorizon:          10 * time.Minute,
		FillingRecent:           2 * time.Minute,
		UnattributedGrowthBytes: 1 * gib,
		UnattributedWindow:      time.Hour,
		WaitingRatio:            0.01,
		AvailableFallBytes:      1 * gib,
		AvailableFall:           30 * time.Minute,
		Service:                 ServiceThresholds{StartShare: 0.5, DesktopShare: 0.1, Remembered: 24 * time.Hour, FailedStarts: 3, StartsWithin: 30 * time.Minute, UpRatio: 2.0 / 3, UpWindow: 30 * time.Minute, UpChanges: 3},
		Container:               ContainerThresholds{UncoveredRatio: 0.10, OverheadBytes: 2 * gib},
		Run:                     RunThresholds{Fresh: 14 * 24 * time.Hour, HotterCelsius: 5, SamePower: 1.1, KVShare: 0.9, StalledAfter: 2 * time.Minute},
		MachineThresholds: MachineThresholds{
			ThrottledWarning: 0.01, ThrottledCritical: 0.20,
			MarginCelsius:      5,
			GB10WarningCelsius: 88, GB10CriticalCelsius: 92,
			PowerCappedRatio: 0.5,
			BusyRatio:        0.8,
			StuckHertz:       1.4e9, StuckWatts: 20,
			SlowShare:          0.6,
			SampleAge:          30 * time.Second,
			NVMeWarningCelsius: 70, NVMeCriticalCelsius: 80,
			NVMeOperations: 50, NVMeLatencyFactor: 4, NVMeLatencySamples: 240,
			NVMeUsedRatio:       0.80,
			PCIeErrorsPerSecond: 1,
		},
	}
}

// BinaryBytes writes bytes as people write thresholds, such as 4.5 GiB.
func BinaryBytes(bytes float64) string {
	if bytes >= gib {
		return Decimal(bytes/gib) + " GiB"
	}
	return Decimal(bytes/mib) + " MiB"
}

// Decimal writes a threshold; six digits hide that 0.07 * 100 is not quite 7.
func Decimal(value float64) string { return strconv.FormatFloat(value, 'g', 6, 64) }
