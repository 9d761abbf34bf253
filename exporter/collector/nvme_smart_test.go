package collector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
)

// healthLog is the page of a drive with these fields set, as the NVMe base specification lays it out.
func healthLog() []byte {
	log := make([]byte, hostfs.SMARTLogBytes)
	log[0] = 1 << 2                               // reliability degraded
	binary.LittleEndian.PutUint16(log[1:], 328)   // composite, kelvin
	log[3], log[4], log[5] = 90, 10, 102          // spare, its threshold, used
	binary.LittleEndian.PutUint64(log[32:], 3)    // units read
	binary.LittleEndian.PutUint64(log[48:], 5)    // units written
	binary.LittleEndian.PutUint64(log[64:], 7)    // host reads
	binary.LittleEndian.PutUint64(log[80:], 9)    // host writes
	binary.LittleEndian.PutUint64(log[96:], 2)    // busy minutes
	binary.LittleEndian.PutUint64(log[112:], 11)  // power cycles
	binary.LittleEndian.PutUint64(log[128:], 13)  // power-on hours
	binary.LittleEndian.PutUint64(log[144:], 4)   // unsafe shutdowns
	binary.LittleEndian.PutUint64(log[160:], 1)   // media errors
	binary.LittleEndian.PutUint64(log[176:], 6)   // error log entries
	binary.LittleEndian.PutUint32(log[192:], 8)   // warning minutes
	binary.LittleEndian.PutUint32(log[196:], 3)   // critical minutes
	binary.LittleEndian.PutUint16(log[200:], 334) // sensor 1, kelvin
	binary.LittleEndian.PutUint32(log[220:], 2)   // heavy throttling, times
	binary.LittleEndian.PutUint32(log[228:], 17)  // and seconds
	return log
}

func smartHost(t testing.TB, answer func() ([]byte, error)) Host {
	host := spark(t)
	host.SMARTLog = func(controller string) ([]byte, error) {
		if controller != "nvme0" {
			return nil, fmt.Errorf("%s is not the drive", controller)
		}
		return answer()
	}
	return host
}

func TestHealthOfADriveWorkedOutByHand(t *testing.T) {
	host := smartHost(t, func() ([]byte, error) { return healthLog(), nil })
	series, outcome := page(t, nvmeSpec(), host, Options{NVMeSMART: true})
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	const drive = `{controller="nvme0"}`
	wantSeries(t, series, map[string]float64{
		"uma_nvme_smart_percentage_used_ratio" + drive:                                           1.02,
		"uma_nvme_smart_available_spare_ratio" + drive:                                           0.9,
		"uma_nvme_smart_available_spare_threshold_ratio" + drive:                                 0.1,
		"uma_nvme_smart_data_read_bytes_total" + drive:                                           3 * 512000,
		"uma_nvme_smart_data_written_bytes_total" + drive:                                        5 * 512000,
		"uma_nvme_smart_host_reads_total" + drive:                                                7,
		"uma_nvme_smart_host_writes_total" + drive:                                               9,
		"uma_nvme_smart_controller_busy_seconds_total" + drive:                                   120,
		"uma_nvme_smart_power_cycles_total" + drive:                                              11,
		"uma_nvme_smart_power_on_seconds_total" + drive:                                          13 * 3600,
		"uma_nvme_smart_unsafe_shutdowns_total" + drive:                                          4,
		"uma_nvme_smart_media_errors_total" + drive:                                              1,
		"uma_nvme_smart_error_log_entries_total" + drive:                                         6,
		"uma_nvme_smart_warning_temperature_seconds_total" + drive:                               480,
		"uma_nvme_smart_critical_temperature_seconds_total" + drive:                              180,
		`uma_nvme_smart_critical_warning{controller="nvme0",kind="reliability"}`:                 1,
		`uma_nvme_smart_critical_warning{controller="nvme0",kind="available_spare"}`:             0,
		`uma_nvme_smart_critical_warning{controller="nvme0",kind="persistent_memory_read_only"}`: 0,
		`uma_nvme_smart_thermal_management_transitions_total{controller="nvme0",level="1"}`:      0,
		`uma_nvme_smart_thermal_management_transitions_total{controller="nvme0",level="2"}`:      2,
		`uma_nvme_smart_thermal_management_seconds_total{controller="nvme0",level="2"}`:          17,
		`uma_nvme_temperature_celsius{controller="nvme0",sensor="composite"}`:                    41.85, // of hwmon
		`uma_collector_privilege{collector="nvme",needs="nvme_admin"}`:                           1,
	})
	wantAbsent(t, series, `uma_nvme_temperature_celsius{controller="nvme0",sensor="sensor_1"}`)
}

func TestBeforeLinux55TheLogGivesTheTemperatures(t *testing.T) {
	host := smartHost(t, func() ([]byte, error) { return healthLog(), nil })
	host.Sys = onDisk(t, without(sparkSys(), "class/nvme/nvme0/hwmon3"))
	series, _ := page(t, nvmeSpec(), host, Options{NVMeSMART: true})
	wantSeries(t, series, map[string]float64{
		`uma_nvme_temperature_celsius{controller="nvme0",sensor="composite"}`: 54.85,
		`uma_nvme_temperature_celsius{controller="nvme0",sensor="sensor_1"}`:  60.85,
	})
}

func TestADriveThatKeepsItsHealthToItself(t *testing.T) {
	for name, test := range map[string]struct {
		answer    func() ([]byte, error)
		state     State
		privilege float64
		why       string
	}{
		"not privileged": {func() ([]byte, error) {
			return nil, &fs.PathError{Op: "health log", Path: "/dev/nvme0", Err: fs.ErrPermission}
		}, OK, 0, ""},
		"no device node":  {func() ([]byte, error) { return nil, &fs.PathError{Op: "open", Path: "/dev/nvme0", Err: fs.ErrNotExist} }, OK, 0, ""},
		"does not answer": {func() ([]byte, error) { return nil, errors.New("the controller answers with status 0x2002") }, Failed, 1, "0x2002"},
		"cut short":       {func() ([]byte, error) { return healthLog()[:100], nil }, Failed, 1, "100 bytes"},
		"panics":          {func() ([]byte, error) { panic("broken") }, Failed, 1, "panic: broken"},
	} {
		series, outcome := page(t, nvmeSpec(), smartHost(t, test.answer), Options{NVMeSMART: true})
		if outcome.State != test.state || outcome.Err != nil && (!strings.Contains(outcome.Err.Error(), test.why) || !strings.Contains(outcome.Err.Error(), "nvme0")) {
			t.Errorf("%s: %s, %v", name, outcome.State, outcome.Err)
		}
		wantAbsent(t, series, "uma_nvme_smart")
		wantSeries(t, series, map[string]float64{
			`uma_collector_privilege{collector="nvme",needs="nvme_admin"}`:        test.privilege,
			`uma_nvme_io_now{device="nvme0n1"}`:                                   4,
			`uma_nvme_temperature_celsius{controller="nvme0",sensor="composite"}`: 41.85,
		})
	}
}

func TestHealthIsAskedForOnlyIfWanted(t *testing.T) {
	asked := 0
	host := smartHost(t, func() ([]byte, error) { asked++; return healthLog(), nil })
	series, _ := page(t, nvmeSpec(), host, Options{})
	wantAbsent(t, series, "uma_nvme_smart", `uma_collector_privilege{collector="nvme"`)
	if asked != 0 {
		t.Error("the drive was asked")
	}
	series, outcome := page(t, nvmeSpec(), spark(t), Options{NVMeSMART: true}) // a recording cannot be asked
	if wantAbsent(t, series, "uma_nvme_smart"); outcome.State != OK {
		t.Error(outcome.Err)
	}
}

// TestADriveThatHangsCostsItsOwnSeriesOnly hangs as a drive does whose controller is dead.
func TestADriveThatHangsCostsItsOwnSeriesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var asked atomic.Int32
		host := smartHost(t, func() ([]byte, error) {
			asked.Add(1)
			<-release
			return healthLog(), nil
		})
		runner := NewRunner(host, Options{NVMeSMART: true}, []Spec{nvmeSpec()}, RunnerSettings{})
		for range 5 {
			series := gather(t, mustScrape(t, runner, t.Context()))
			wantSeries(t, series, map[string]float64{`uma_nvme_io_now{device="nvme0n1"}`: 4, `uma_nvme_temperature_celsius{controller="nvme0",sensor="composite"}`: 41.85})
			wantAbsent(t, series, "uma_nvme_smart")
			time.Sleep(20 * time.Second)
		}
		outcome := mustScrape(t, runner, t.Context()).Outcomes[0]
		if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), "nvme0: asked") || asked.Load() != 1 {
			t.Errorf("%s: %v; asked %d times", outcome.State, outcome.Err, asked.Load())
		}
		close(release)
		synctest.Wait()
		series := gather(t, mustScrape(t, runner, t.Context()))
		wantSeries(t, series, map[string]float64{`uma_nvme_smart_power_cycles_total{controller="nvme0"}`: 11, `uma_collector_state{collector="nvme",state="ok"}`: 1})
	})
}
