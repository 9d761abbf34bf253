package hostfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"reflect"
	"testing"
	"unsafe"
)

// sampleSMARTLog is the log of a drive as nvme-cli printed it, put back into the bytes of the page:
// critical_warning 0, temperature 328, avail_spare 100, spare_thresh 10, percent_used 2, and so on below.
func sampleSMARTLog() []byte {
	log := make([]byte, SMARTLogBytes)
	put16 := func(at int, value uint16) { binary.LittleEndian.PutUint16(log[at:], value) }
	put32 := func(at int, value uint32) { binary.LittleEndian.PutUint32(log[at:], value) }
	put64 := func(at int, value uint64) { binary.LittleEndian.PutUint64(log[at:], value) }
	put16(1, 328)
	log[3], log[4], log[5] = 100, 10, 2
	put64(32, 21331123)   // data_units_read
	put64(48, 129415397)  // data_units_written
	put64(64, 342132364)  // host_read_commands
	put64(80, 2576184016) // host_write_commands
	put64(96, 7856)       // controller_busy_time
	put64(112, 683)       // power_cycles
	put64(128, 12993)     // power_on_hours
	put64(144, 97)        // unsafe_shutdowns
	put64(160, 0)         // media_errors
	put64(176, 1860)      // num_err_log_entries
	put32(192, 0)         // warning_temp_time
	put32(196, 0)         // critical_comp_time
	put16(200, 328)       // temperature_sensor_1
	put16(202, 334)       // temperature_sensor_2
	return log
}

func TestSMARTLogOfADrive(t *testing.T) {
	got, err := ParseSMARTLog(sampleSMARTLog())
	want := SMARTLog{
		Warnings: map[string]bool{"available_spare": false, "temperature": false, "reliability": false, "read_only": false,
			"volatile_backup": false, "persistent_memory_read_only": false},
		Temperatures:        []NVMeTemperature{{Sensor: "composite", Celsius: 54.85}, {Sensor: "sensor_1", Celsius: 54.85}, {Sensor: "sensor_2", Celsius: 60.85}},
		AvailableSpareRatio: 1, SpareThresholdRatio: 0.1, UsedRatio: 0.02,
		ReadBytes: 21331123 * 512000, WrittenBytes: 129415397 * 512000, HostReads: 342132364, HostWrites: 2576184016,
		BusySeconds: 7856 * 60, PowerOnSeconds: 12993 * 3600,
		PowerCycles: 683, UnsafeShutdowns: 97, MediaErrors: 0, ErrorLogEntries: 1860,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestSMARTLogOfADriveInTrouble(t *testing.T) {
	log := sampleSMARTLog()
	log[0] = 0b101101                            // all kinds but temperature and volatile backup
	log[5] = 255                                 // worn far beyond its endurance, which the log cannot count further
	log[1], log[2] = 0, 0                        // no composite temperature
	binary.LittleEndian.PutUint64(log[168:], 1)  // 2^64 media errors
	binary.LittleEndian.PutUint32(log[192:], 7)  // minutes above the warning limit
	binary.LittleEndian.PutUint32(log[196:], 3)  // and above the critical one
	binary.LittleEndian.PutUint32(log[216:], 11) // light throttling
	binary.LittleEndian.PutUint32(log[220:], 5)  // heavy
	binary.LittleEndian.PutUint32(log[224:], 120)
	binary.LittleEndian.PutUint32(log[228:], 30)
	got, err := ParseSMARTLog(log)
	if err != nil {
		t.Fatal(err)
	}
	warnings := map[string]bool{"available_spare": true, "temperature": false, "reliability": true, "read_only": true,
		"volatile_backup": false, "persistent_memory_read_only": true}
	if !reflect.DeepEqual(got.Warnings, warnings) || got.UsedRatio != 2.55 || got.MediaErrors != math.Ldexp(1, 64) {
		t.Errorf("%+v", got)
	}
	if got.WarningSeconds != 420 || got.CriticalSeconds != 180 || got.Throttling != [2]Throttling{{11, 120}, {5, 30}} {
		t.Errorf("%+v", got)
	}
	if len(got.Temperatures) != 2 || got.Temperatures[0].Sensor != "sensor_1" {
		t.Errorf("temperatures %+v", got.Temperatures)
	}
}

// TestTheCommandIsLaidOutAsTheKernelReadsIt checks against struct nvme_passthru_cmd of linux/nvme_ioctl.h.
func TestTheCommandIsLaidOutAsTheKernelReadsIt(t *testing.T) {
	var c nvmeAdminCommand
	for name, offset := range map[string][2]uintptr{
		"nsid": {unsafe.Offsetof(c.namespace), 4}, "addr": {unsafe.Offsetof(c.data), 24}, "data_len": {unsafe.Offsetof(c.dataBytes), 36},
		"cdw10": {unsafe.Offsetof(c.dword10), 40}, "timeout_ms": {unsafe.Offsetof(c.timeoutMilliseconds), 64}, "size": {unsafe.Sizeof(c), 72},
		"ioctl": {ioctlNVMeAdmin, 0xc0484e41},
	} {
		if offset[0] != offset[1] {
			t.Errorf("%s: %#x, want %#x", name, offset[0], offset[1])
		}
	}
}

func TestOnlyControllersAreAskedForTheirHealth(t *testing.T) {
	for _, name := range []string{"", "nvme0n1", "../null", "null", "nvme", "nvme0/../null"} {
		if log, err := ReadSMARTLog(name); err == nil || log != nil {
			t.Errorf("%q: %d bytes, %v", name, len(log), err)
		}
	}
	if _, err := ReadSMARTLog("nvme999999"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a controller that is not there: %v", err)
	}
}

func FuzzSMARTLog(f *testing.F) {
	f.Add(sampleSMARTLog(), uint16(100))
	f.Add(bytes.Repeat([]byte{0xff}, SMARTLogBytes), uint16(511))
	f.Add([]byte{}, uint16(0))
	f.Fuzz(func(t *testing.T, log []byte, cut uint16) {
		parsed, err := ParseSMARTLog(log)
		if (err == nil) != (len(log) == SMARTLogBytes) {
			t.Fatalf("%d bytes: %v", len(log), err)
		}
		if err != nil {
			return
		}
		value := reflect.ValueOf(parsed)
		for i := range value.NumField() {
			if number, isFloat := value.Field(i).Interface().(float64); isFloat && !(number >= 0 && number <= math.Ldexp(512000, 128)) {
				t.Errorf("%s: %v", value.Type().Field(i).Name, number)
			}
		}
		for _, temperature := range parsed.Temperatures {
			if !(temperature.Celsius > -273.15 && temperature.Celsius < 65536) {
				t.Errorf("%+v", temperature)
			}
		}
		if len(parsed.Temperatures) > 9 || len(parsed.Warnings) != len(SMARTWarnings()) {
			t.Errorf("%d temperatures, %d warnings", len(parsed.Temperatures), len(parsed.Warnings))
		}
		if _, err := ParseSMARTLog(log[:min(int(cut), SMARTLogBytes-1)]); err == nil {
			t.Error("a part of a log passes for one")
		}
	})
}
