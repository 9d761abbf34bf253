package hostfs

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// ThermalZone is one temperature of the kernel's thermal framework, such as a zone that the firmware describes (type
// acpitz). The firmware does not name the part of the machine that a zone measures.
type ThermalZone struct {
	Zone string // number
	Type string // many zones may share one
	// Celsius is nil where the zone has no reading now.
	Celsius *float64
	Trips   []ThermalTrip
}

// ThermalTrip is a temperature that triggers an action.
type ThermalTrip struct {
	Trip    string // number
	Type    string // active, passive, hot or critical
	Celsius float64
}

const (
	thermalClass    = "class/thermal"
	thermalZoneName = "thermal_zone"
	tripPrefix      = "trip_point_"
)

// ReadThermalZones reads /sys/class/thermal, in millidegrees. A zone or trip point that cannot be read is left out and
// in the error. procfs does not read trip points, and has 0 for a temperature that cannot be read.
//
//	class/thermal/thermal_zone0/type               acpitz
//	class/thermal/thermal_zone0/temp               41200
//	class/thermal/thermal_zone0/trip_point_0_type  critical
//	class/thermal/thermal_zone0/trip_point_0_temp  110000
func ReadThermalZones(sys Dir) ([]ThermalZone, error) {
	entries, err := sys.ReadDir(thermalClass)
	if err != nil {
		return nil, err
	}
	var zones []ThermalZone
	var errs []error
	for _, entry := range entries {
		number, isZone := strings.CutPrefix(entry.Name(), thermalZoneName)
		if !isZone {
			continue // cooling devices
		}
		zone, err := readThermalZone(sys, number)
		if zone.Type != "" {
			zones = append(zones, zone)
		}
		errs = append(errs, err)
	}
	return zones, errors.Join(errs...)
}

func readThermalZone(sys Dir, number string) (ThermalZone, error) {
	path := thermalClass + "/" + thermalZoneName + number
	kind, err := readText(sys, path+"/type")
	if err != nil {
		return ThermalZone{}, unlessNoReading(err)
	}
	zone := ThermalZone{Zone: number, Type: kind}
	zone.Celsius, err = zoneThermometer().read(sys, path+"/temp")
	trips, tripErr := readTrips(sys, path)
	zone.Trips = trips
	return zone, errors.Join(unlessNoReading(err), tripErr)
}

// readTrips reads the trip points that are set: firmware without a limit reports 0 or absolute zero.
func readTrips(sys Dir, zone string) ([]ThermalTrip, error) {
	entries, err := sys.ReadDir(zone)
	if err != nil {
		return nil, unlessNoReading(err)
	}
	var trips []ThermalTrip
	var errs []error
	for _, entry := range entries {
		rest, isTrip := strings.CutPrefix(entry.Name(), tripPrefix)
		number, isTemperature := strings.CutSuffix(rest, "_temp")
		if !isTrip || !isTemperature {
			continue
		}
		celsius, err := zoneThermometer().read(sys, zone+"/"+entry.Name())
		kind, kindErr := readText(sys, zone+"/"+tripPrefix+number+"_type")
		if err == nil && kindErr == nil && celsius != nil && *celsius > 0 {
			trips = append(trips, ThermalTrip{number, kind, *celsius})
		}
		errs = append(errs, unlessNoReading(err), unlessNoReading(kindErr))
	}
	return trips, errors.Join(errs...)
}

// unlessNoReading drops the error of a sensor that has no reading now: its device sleeps, is off, was removed since
// the directory was listed, or cannot measure what the driver offers. Such an error needs no repair, unlike an
// input/output error or a text that is no number.
func unlessNoReading(err error) error {
	for _, code := range []error{
		fs.ErrNotExist, unix.EAGAIN, unix.ENODATA, unix.ENXIO, unix.ENODEV, unix.EBUSY, unix.EINVAL, unix.EOPNOTSUPP,
	} {
		if errors.Is(err, code) {
			return nil
		}
	}
	return err
}
