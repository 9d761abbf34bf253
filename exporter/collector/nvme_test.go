package collector

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestDriveOfASparkWorkedOutByHand(t *testing.T) {
	series, outcome := page(t, nvmeSpec(), spark(t), Options{})
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	const device = `{device="nvme0n1"}`
	wantSeries(t, series, map[string]float64{
		"uma_nvme_read_bytes_total" + device:               214478132 * 512,
		"uma_nvme_reads_completed_total" + device:          1841223,
		"uma_nvme_read_time_seconds_total" + device:        402.911,
		"uma_nvme_written_bytes_total" + device:            391882744 * 512,
		"uma_nvme_writes_completed_total" + device:         2213377,
		"uma_nvme_write_time_seconds_total" + device:       1902.877,
		"uma_nvme_discarded_bytes_total" + device:          8192 * 512,
		"uma_nvme_discards_completed_total" + device:       17,
		"uma_nvme_discard_time_seconds_total" + device:     0.003,
		"uma_nvme_flush_requests_total" + device:           98211,
		"uma_nvme_flush_time_seconds_total" + device:       85.216,
		"uma_nvme_io_now" + device:                         4,
		"uma_nvme_io_time_seconds_total" + device:          1187.412,
		"uma_nvme_io_time_weighted_seconds_total" + device: 2391.004,
		"uma_nvme_capacity_bytes" + device:                 8001573552 * 512,
		`uma_nvme_info{controller="nvme0",device="nvme0n1",firmware="NXHB202Q",model="SAMSUNG MZALC4T0HBL1-00B07"}`: 1,
		`uma_nvme_temperature_celsius{controller="nvme0",sensor="composite"}`:                                       41.85,
		`uma_nvme_temperature_warning_celsius{controller="nvme0",sensor="composite"}`:                               81.85,
		`uma_nvme_temperature_critical_celsius{controller="nvme0",sensor="composite"}`:                              84.85,
	})
	for name := range series {
		for _, other := range []string{"nvme0n1p2", "nvme0c0n1", "loop0"} {
			if strings.Contains(name, other) {
				t.Errorf("%s is no NVMe drive of its own", name)
			}
		}
	}
}

func TestHostWithoutNVMeIsAbsent(t *testing.T) {
	host := spark(t)
	host.Sys = onDisk(t, fstest.MapFS{})
	for _, disks := range []string{"", "   7       0 loop0 12 0 34 5 0 0 0 0 0 8 5\n"} {
		host.Proc = onDisk(t, tree(map[string]string{"diskstats": disks}))
		if series, outcome := page(t, nvmeSpec(), host, Options{}); outcome.State != Absent {
			t.Errorf("%q: %s, %v, %v", disks, outcome.State, outcome.Err, series)
		}
	}
	host.Proc = onDisk(t, fstest.MapFS{})
	if _, outcome := page(t, nvmeSpec(), host, Options{}); outcome.State != Absent {
		t.Errorf("without diskstats: %s, %v", outcome.State, outcome.Err)
	}
}

func TestColumnsThatAKernelDoesNotHaveAreAbsent(t *testing.T) {
	host := spark(t)
	host.Proc = onDisk(t, tree(map[string]string{"diskstats": " 259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11\n"}))
	series, outcome := page(t, nvmeSpec(), host, Options{})
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{`uma_nvme_io_now{device="nvme0n1"}`: 9})
	wantAbsent(t, series, "uma_nvme_discard", "uma_nvme_flush")
}

func TestWhatADriveDoesNotTellCostsOnlyItself(t *testing.T) {
	host := spark(t)
	host.Sys = onDisk(t, replaced(sparkSys(), "class/nvme/nvme0/hwmon3/temp1_input", "\n"))
	series, outcome := page(t, nvmeSpec(), host, Options{})
	if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), "temp1_input") {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{`uma_nvme_io_now{device="nvme0n1"}`: 4})
	wantAbsent(t, series, "uma_nvme_temperature")

	host.Sys = onDisk(t, without(sparkSys(), "class/block", "class/nvme/nvme0/hwmon3"))
	series, outcome = page(t, nvmeSpec(), host, Options{})
	if outcome.State != OK {
		t.Errorf("without size and sensors: %s, %v", outcome.State, outcome.Err)
	}
	wantAbsent(t, series, "uma_nvme_temperature", "uma_nvme_capacity")
}

// TestTemperaturesAreAskedForAtMostTwiceAMinute also when they cannot be read: each read is a command to the drive.
func TestTemperaturesAreAskedForAtMostTwiceAMinute(t *testing.T) {
	for _, input := range []string{"41850\n", "broken\n"} {
		var sys counting
		start := time.Unix(1_800_000_000, 0)
		now := start
		host := spark(t)
		host.Sys, host.Now = sys.in(onDisk(t, replaced(sparkSys(), "class/nvme/nvme0/hwmon3/temp1_input", input))), func() time.Time { return now }
		runner := NewRunner(host, Options{}, []Spec{nvmeSpec()}, RunnerSettings{})
		for _, step := range []struct {
			at    time.Duration
			reads int
		}{{0, 1}, {time.Second, 1}, {29 * time.Second, 1}, {30 * time.Second, 2}, {59 * time.Second, 2}, {60 * time.Second, 3}, {-time.Hour, 4}} {
			now = start.Add(step.at)
			scrape := mustScrape(t, runner, t.Context())
			if got := sys.reads["class/nvme/nvme0/hwmon3/temp1_input"]; got != step.reads {
				t.Errorf("%q after %v: read %d times, want %d", input, step.at, got, step.reads)
			}
			_, served := gather(t, scrape)[`uma_nvme_temperature_celsius{controller="nvme0",sensor="composite"}`]
			if healthy := input == "41850\n"; served != healthy || (scrape.Outcomes[0].State == OK) != healthy {
				t.Errorf("%q after %v: served %v, %s", input, step.at, served, scrape.Outcomes[0].State)
			}
		}
	}
}
