package hostfs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// thermometer is a source of temperatures in millidegrees, by the values that it prints while it measures none.
type thermometer []int64

// zoneThermometer is the thermal framework. It prints THERMAL_TEMP_INVALID of include/linux/thermal.h for a sensor that
// has not measured yet, and the firmware of Tegra (Jetson) gives -256 degrees for a block without power.
func zoneThermometer() thermometer { return thermometer{-274_000, -256_000} }

// chipThermometer is a chip of hwmon. Tegra's shows the zones of its firmware, and chips with a register of eight bits
// hold its lowest value while no diode is connected (it87, lm90).
func chipThermometer() thermometer { return thermometer{-256_000, -128_000} }

// driveThermometer is an NVMe drive: a limit that was never set reads as 65261850 (0xFFFF kelvin), a limit that was set
// to 0 as -273150. Both are beyond any temperature.
func driveThermometer() thermometer { return nil }

// read returns a temperature in degrees Celsius, nil for a value that is none: what the source prints in place of one, or
// a temperature that no machine can have.
//
//	41850
func (t thermometer) read(sys Dir, name string) (*float64, error) {
	return parseFile(sys, name, func(text string) (*float64, error) {
		millidegrees, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %s", errMalformed, excerpt(text))
		}
		if millidegrees <= -273_000 || millidegrees > 1_000_000 || slices.Contains(t, millidegrees) {
			return nil, nil
		}
		celsius := float64(millidegrees) / 1e3
		return &celsius, nil
	})
}
