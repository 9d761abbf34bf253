// Package nvml turns NVIDIA's management library into plain device structs.
//
// A Driver answers single calls: the live library (loaded at run time, never linked), a recording, or no driver at all.
// A Reader asks it in one thread per device and publishes each value as it is read, so that a call that hangs costs
// only what comes after it. The package does not depend on Prometheus or on other packages of this project.
package nvml

import (
	"slices"
	"time"
)

// Call names one driver call with its fixed argument, as recordings and the label call do,
// such as nvmlDeviceGetTemperature or nvmlDeviceGetClockInfo_SM.
type Call string

// Value is what a call returned, in NVML's own units; which fields are set depends on the call.
// Quantities that can be negative, such as a temperature margin, are in two's complement.
type Value struct {
	Number    uint64            `json:"number,omitempty"`
	Text      string            `json:"text,omitempty"`
	Numbers   map[string]uint64 `json:"numbers,omitempty"` // several numbers by name: fields of a struct, field values
	Refused   map[string]Return `json:"refused,omitempty"` // field values that are missing, and why
	Processes []Process         `json:"processes,omitempty"`
	Instances []Instance        `json:"instances,omitempty"` // of a partitioned GPU
	Links     []Link            `json:"links,omitempty"`     // NVLinks that are up
}

// Process is one entry of a process list.
type Process struct {
	PID uint32 `json:"pid"`
	// UsedBytes is nil where the driver gives none (all ones in NVML).
	UsedBytes *uint64 `json:"used_bytes,omitempty"`
	// GPUInstance and ComputeInstance identify the part of a partitioned GPU that it runs on, nil (all ones in NVML)
	// where the GPU is not partitioned or the driver does not report it.
	GPUInstance     *uint32 `json:"gpu_instance,omitempty"`
	ComputeInstance *uint32 `json:"compute_instance,omitempty"`
	// Graphics is true in a merged list if the list of graphics processes has it, as it has a desktop's.
	Graphics bool `json:"-"`
}

// System is the device number of calls about the machine as a whole.
const System = -1

// Instance is a part of a partitioned GPU (a MIG device): one compute instance in one GPU instance,
// whose memory it shares with the other compute instances in it.
type Instance struct {
	UUID            string `json:"uuid"`
	GPUInstance     uint32 `json:"gpu_instance"`
	ComputeInstance uint32 `json:"compute_instance"`
	Profile         string `json:"profile,omitempty"` // such as 3g.40gb
	// TotalBytes, UsedBytes and FreeBytes are of the GPU instance's memory, nil if not given.
	TotalBytes *uint64 `json:"total_bytes,omitempty"`
	UsedBytes  *uint64 `json:"used_bytes,omitempty"`
	FreeBytes  *uint64 `json:"free_bytes,omitempty"`
	// Processes are those that run on it. ProcessesRead separates an empty list from one that was refused.
	Processes     []Process `json:"processes,omitempty"`
	ProcessesRead bool      `json:"processes_read,omitempty"`
}

// Link is an NVLink that is up.
type Link struct {
	Number int               `json:"link"`
	Errors map[string]uint64 `json:"errors"` // by kind; which kinds there are depends on the generation
}

// Driver answers calls. Device System is the machine as a whole. Implementations are the live library, a recording and,
// for tests and demos, a simulated one. Any method may block for ever.
type Driver interface {
	// Init loads the library; after any code but Success no other call may be made.
	Init() Return
	// DeviceCount is the number of devices.
	DeviceCount() (int, Return)
	// Do makes one call on a device.
	Do(device int, call Call) (Value, Return)
	// Shutdown releases the library after a successful Init.
	Shutdown() Return
}

// Architecture is where the memory of a GPU is.
type Architecture string

// The architectures, by the table in the documentation of Classify.
const (
	Discrete          Architecture = "discrete"
	CoherentNUMA      Architecture = "coherent_numa"   // own memory, onlined as a NUMA node: in the pool
	CoherentDriver    Architecture = "coherent_driver" // own memory, kept by the driver
	Integrated        Architecture = "integrated"      // no memory of its own: the pool is its memory
	IntegratedCarved  Architecture = "integrated_carveout"
	Shimmed           Architecture = "shimmed" // a replacement library reports the pool as device memory
	ArchitectureUnset Architecture = "unknown"
)

// InPool reports whether GPU allocations of this architecture come from the pool of /proc/meminfo in a way that only
// the driver's process lists show.
func (a Architecture) InPool() bool {
	return a == Integrated || a == IntegratedCarved || a == Shimmed
}

// TakesFromPool reports whether GPU allocations of this architecture come out of MemTotal of /proc/meminfo: where they
// are InPool, and where the GPU's own memory is onlined as a node of it.
func (a Architecture) TakesFromPool() bool { return a.InPool() || a == CoherentNUMA }

// Device is one GPU as read in one pass. Nil is not supported or not read, never zero.
// Everything is in base units: bytes, seconds, watts, joules, hertz, degrees Celsius, ratios 0 to 1.
type Device struct {
	Index        int
	UUID         string
	Name         string
	PCIBusID     string
	VBIOS        string
	Architecture Architecture
	// NUMANode is the node that the GPU's memory is onlined as, nil without one.
	NUMANode *int

	// Processes is the merged process list by PID (a PID in several lists counts once, with its largest value).
	// ProcessesRead reports whether it is complete: a list was read and none failed.
	Processes     []Process
	ProcessesRead bool

	TemperatureCelsius     *float64
	TemperatureMargins     map[string]float64 // degrees left by limit: operating, slowdown, shutdown
	PowerWatts             *float64
	PowerLimitWatts        *float64
	EnergyJoules           *float64
	UtilizationRatio       *float64
	MemoryUtilizationRatio *float64
	EncoderRatio           *float64
	DecoderRatio           *float64
	FanRatio               *float64
	SMClockHertz           *float64
	SMClockMaxHertz        *float64
	MemoryClockHertz       *float64
	PerformanceState       *float64
	ClockEventActive       map[string]bool    // by reason
	ClockEventSeconds      map[string]float64 // by reason
	MemoryTotalBytes       *float64
	MemoryUsedBytes        *float64
	MemoryFreeBytes        *float64
	MemoryReservedBytes    *float64
	ECCErrors              map[string]float64 // by kind: corrected, uncorrected
	RemappedRows           map[string]float64 // by kind: correctable, uncorrectable, pending, failed

	// XIDErrors counts the driver's error reports by XID code since the Driver was made, nil where they are not
	// delivered. They are read for a lost device too: they give the reason.
	XIDErrors map[uint64]uint64

	// The link to the host; these calls report none for an integrated GPU. Traffic is read only if the options enable
	// it.
	PCIeReplays                *float64
	PCIeGeneration             *float64
	PCIeGenerationMax          *float64
	PCIeLanes                  *float64
	PCIeLanesMax               *float64
	PCIeTransmitBytesPerSecond *float64
	PCIeReceiveBytesPerSecond  *float64
	NVLinks                    []Link

	// MIGEnabled reports whether the GPU is partitioned, nil if it cannot be. Instances are its parts, those that this
	// process may see; InstancesRead separates none from not read.
	MIGEnabled    *bool
	Instances     []Instance
	InstancesRead bool
	// Denied reports that values of the whole of a partitioned GPU were refused for lack of privilege.
	Denied bool

	// Supported holds, for every call that was answered, whether the device supports it.
	// Field values count as calls of their own, such as nvmlDeviceGetFieldValues_energy.
	Supported map[Call]bool
	// Errors holds the calls that are expected to work here and failed.
	Errors map[Call]Return
	// Return is Success, or the code with which the device was lost; no other value is read then.
	Return Return
	// Hung is the call that has not returned, "" when all have; Since is when it was made.
	Hung  Call
	Since time.Time
}

// HeldKnown reports whether HeldBytes is the whole: the process list is complete and the driver gives a figure for
// every process in it.
func (d Device) HeldKnown() bool {
	return d.ProcessesRead && allKnown(d.Processes)
}

// HeldBytes is the GPU memory held by processes, as far as the driver gives figures.
func (d Device) HeldBytes() uint64 { return held(d.Processes) }

// HeldKnown reports whether HeldBytes is the whole.
func (i Instance) HeldKnown() bool { return i.ProcessesRead && allKnown(i.Processes) }

// HeldBytes is the memory held by the processes of the instance, as far as the driver gives figures.
func (i Instance) HeldBytes() uint64 { return held(i.Processes) }

func allKnown(processes []Process) bool {
	return !slices.ContainsFunc(processes, func(p Process) bool { return p.UsedBytes == nil })
}

func held(processes []Process) uint64 {
	var sum uint64
	for _, p := range processes {
		if p.UsedBytes != nil {
			sum += *p.UsedBytes
		}
	}
	return sum
}
