package hostfs

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// SMARTLogBytes is the length of an NVMe controller's health log.
const SMARTLogBytes = 512

// SMARTLog is the health log of an NVMe controller, counted since its manufacture unless noted. Counts that the log
// keeps in 128 bits are floats: exact up to 2^53, rounded beyond.
type SMARTLog struct {
	// Warnings holds the critical warnings by kind, each true while it lasts.
	Warnings map[string]bool
	// Temperatures are the controller's: composite, sensor_1 to sensor_8. The log has no limits.
	Temperatures []NVMeTemperature
	// AvailableSpareRatio is the remaining share of the spare blocks, SpareThresholdRatio the share at which the
	// controller begins to warn. UsedRatio is the maker's estimate of the endurance used up; it may pass 1.
	AvailableSpareRatio, SpareThresholdRatio, UsedRatio float64
	// ReadBytes and WrittenBytes are the bytes that the host moved, rounded up to units of 512000 bytes; HostReads and
	// HostWrites are its commands.
	ReadBytes, WrittenBytes, HostReads, HostWrites float64
	// BusySeconds is the time with commands outstanding, in whole minutes; PowerOnSeconds in whole hours.
	BusySeconds, PowerOnSeconds                                float64
	PowerCycles, UnsafeShutdowns, MediaErrors, ErrorLogEntries float64
	// WarningSeconds and CriticalSeconds are the times above the two limits of temperature, in whole minutes.
	WarningSeconds, CriticalSeconds float64
	// Throttling holds, for the light and the heavy throttling that the host can configure, how often it began and how
	// long it lasted.
	Throttling [2]Throttling
}

// Throttling is how often a controller slowed down to stay cool, and for how long altogether.
type Throttling struct{ Transitions, Seconds float64 }

// SMARTWarnings are the kinds of critical warnings, in the order of their bits.
func SMARTWarnings() []string {
	return []string{"available_spare", "temperature", "reliability", "read_only", "volatile_backup", "persistent_memory_read_only"}
}

// The offsets of the fields in the log (NVM Express Base Specification, SMART / Health Information, log page 02h), in
// bytes. Numbers are little-endian.
const (
	smartWarnings       = 0
	smartComposite      = 1 // 2 bytes, kelvin
	smartSpare          = 3 // per cent, as are the next two
	smartSpareThreshold = 4
	smartUsed           = 5
	smartReadUnits      = 32 // from here 16 bytes each
	smartWrittenUnits   = 48
	smartHostReads      = 64
	smartHostWrites     = 80
	smartBusyMinutes    = 96
	smartPowerCycles    = 112
	smartPowerOnHours   = 128
	smartUnsafe         = 144
	smartMediaErrors    = 160
	smartLogEntries     = 176
	smartWarningMinutes = 192 // from here 4 bytes each
	smartCritical       = 196
	smartSensors        = 200 // 8 of 2 bytes, kelvin
	smartTransitions    = 216 // 2 of 4 bytes
	smartThrottled      = 224 // 2 of 4 bytes
	smartSensorCount    = 8
	smartUnitBytes      = 512 * 1000
)

// ParseSMARTLog parses log page 02h. The bytes come from the controller: an input of another length than 512 bytes is another log.
func ParseSMARTLog(log []byte) (SMARTLog, error) {
	if len(log) != SMARTLogBytes {
		return SMARTLog{}, fmt.Errorf("%w: a health log of %d bytes", errMalformed, len(log))
	}
	count := func(at int) float64 { return wide(log[at:]) }
	short := func(at int) float64 { return float64(binary.LittleEndian.Uint32(log[at:])) }
	parsed := SMARTLog{
		Warnings: map[string]bool{}, Temperatures: smartTemperatures(log),
		AvailableSpareRatio: ratio(log[smartSpare]), SpareThresholdRatio: ratio(log[smartSpareThreshold]), UsedRatio: ratio(log[smartUsed]),
		ReadBytes: count(smartReadUnits) * smartUnitBytes, WrittenBytes: count(smartWrittenUnits) * smartUnitBytes,
		HostReads: count(smartHostReads), HostWrites: count(smartHostWrites),
		BusySeconds: count(smartBusyMinutes) * 60, PowerOnSeconds: count(smartPowerOnHours) * 3600,
		PowerCycles: count(smartPowerCycles), UnsafeShutdowns: count(smartUnsafe),
		MediaErrors: count(smartMediaErrors), ErrorLogEntries: count(smartLogEntries),
		WarningSeconds: short(smartWarningMinutes) * 60, CriticalSeconds: short(smartCritical) * 60,
	}
	for bit, kind := range SMARTWarnings() {
		parsed.Warnings[kind] = log[smartWarnings]>>bit&1 != 0
	}
	for i := range parsed.Throttling {
		parsed.Throttling[i] = Throttling{short(smartTransitions + 4*i), short(smartThrottled + 4*i)}
	}
	return parsed, nil
}

// smartTemperatures are the composite temperature and the sensors; 0 kelvin is a missing sensor.
func smartTemperatures(log []byte) []NVMeTemperature {
	var temperatures []NVMeTemperature
	add := func(sensor string, at int) {
		if kelvin := binary.LittleEndian.Uint16(log[at:]); kelvin != 0 && kelvin != math.MaxUint16 {
			temperatures = append(temperatures, NVMeTemperature{Sensor: sensor, Celsius: float64(int(kelvin)*1000-millikelvinOfZeroCelsius) / 1000})
		}
	}
	add("composite", smartComposite)
	for i := range smartSensorCount {
		add("sensor_"+strconv.Itoa(i+1), smartSensors+2*i)
	}
	return temperatures
}

// millikelvinOfZeroCelsius converts a drive's whole kelvin to the figures of the kernel's hwmon driver, which end in
// .85. (nvme-cli subtracts 273.)
const millikelvinOfZeroCelsius = 273_150

func ratio(percent byte) float64 { return float64(percent) / 100 }

// wide returns a little-endian number of 16 bytes.
func wide(bytes []byte) float64 {
	low, high := binary.LittleEndian.Uint64(bytes), binary.LittleEndian.Uint64(bytes[8:])
	return math.Ldexp(float64(high), 64) + float64(low)
}
