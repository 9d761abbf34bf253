package exporter

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/recorder"
)

// sampled takes a sample of a recorded host, with the slow part in it.
func sampled(t testing.TB, name string) recorder.Sample {
	t.Helper()
	host := openRecorded(t, name)
	e := exporterOf(t, host, Settings{Options: hostOptions(name)})
	source := newRecorderSource(host, e.runner, nil)
	source.readSlow(source.enabled("cgroup", metric.CollectorEngine))
	return source.take(t.Context())
}

func TestASampleIsWhatThePageHas(t *testing.T) {
	host := openRecorded(t, "gb10-load")
	e := exporterOf(t, host, Settings{Options: hostOptions("gb10-load")})
	scrape, err := e.runner.Scrape(t.Context())
	must(t, err)
	page, err := scrape.Gather()
	must(t, err)
	s := sampled(t, "gb10-load")
	one := func(of metric.Definer) float64 {
		t.Helper()
		m := series(page, of)
		if len(m) == 0 {
			t.Fatalf("%s is not on the page", of.Def().Name)
		}
		return m[0].GetGauge().GetValue() + m[0].GetCounter().GetValue()
	}
	if s.Memory == nil || len(s.GPUs) != 1 || len(s.Holders) == 0 || len(s.Groups) == 0 {
		t.Fatalf("%+v", s)
	}
	if sum := s.Memory.Lines.Sum(); sum != float64(s.Memory.Pool) {
		t.Errorf("lines add up to %.0f of %d", sum, s.Memory.Pool)
	}
	g := s.GPUs[0]
	for name, of := range map[string][2]float64{
		"pool": {float64(s.Memory.Pool), one(metric.MemoryPoolBytes)}, "available": {float64(*s.Memory.Available), one(metric.MemoryAvailableBytes)},
		"utilization": {*g.Utilization, one(metric.GPUUtilizationRatio)}, "power": {*g.Watts, one(metric.GPUPowerWatts)},
		"temperature": {*g.Celsius, one(metric.GPUTemperatureCelsius)}, "clock": {*g.ClockHertz, one(metric.GPUSMClockHertz)},
		"held": {float64(*g.HeldBytes), one(metric.GPUMemoryHeldBytes)}, "OOM kills": {float64(*s.OOM.Kills), one(metric.VmstatOOMKillsTotal)},
		"largest holder": {float64(*s.Holders[0].Bytes), maximum(series(page, metric.GPUProcessMemoryBytes))},
	} {
		if of[0] != of[1] {
			t.Errorf("%s: %v, on the page %v", name, of[0], of[1])
		}
	}
	for _, m := range series(page, metric.PressureStalledSecondsTotal) {
		resource := labelOf(m, metric.LabelResource)
		if got := s.Pressure[resource].Full; got == nil || *got != m.GetCounter().GetValue() {
			t.Errorf("pressure of %s: %v", resource, got)
		}
	}
	if text, err := json.Marshal(s); err != nil || len(text) > 4000 {
		t.Errorf("%d bytes, %v: a usual sample fills one page of the disk", len(text), err)
	}
}

func maximum(all []*dto.Metric) float64 {
	most := math.Inf(-1)
	for _, m := range all {
		most = max(most, m.GetGauge().GetValue())
	}
	return most
}

func TestSamplesOfEveryHostHaveWhatItHasAndNoMore(t *testing.T) {
	for _, name := range hostNames() {
		s := sampled(t, name)
		if s.Memory == nil {
			t.Errorf("%s: no memory", name)
		}
		if lost := name == "gpu-lost"; lost != slices.ContainsFunc(s.GPUs, func(g recorder.GPU) bool { return g.Lost }) {
			t.Errorf("%s: %+v", name, s.GPUs)
		}
	}
	if s := sampled(t, "no-gpu"); len(s.GPUs)+len(s.Holders) != 0 || len(s.Missing) != 0 {
		t.Errorf("a machine without a GPU: %+v", s)
	}
	if s := sampled(t, "engines"); len(s.Engines) == 0 || s.Engines[0].KVRatio == nil || s.Engines[0].Source == "" {
		t.Errorf("engines: %+v", s.Engines)
	}
	groups := sampled(t, "docker-systemd").Groups
	for i, g := range groups {
		if i > 0 && g.Bytes > groups[i-1].Bytes || g.Cgroup == "/system.slice" || g.Cgroup == "/" {
			t.Errorf("%+v", groups)
		}
	}
}

func TestTheKernelLogIsReadFromTheStartAndOnlyWhatIsNew(t *testing.T) {
	records := []string{"3,1,5000000,-;Out of memory: Killed process 9 (vllm) total-vm:1kB", "overrun", "nonsense", "6,2,5000001,-;usb 1-1: new device", "4,3,6000000,-;NVRM: Xid (PCI:0000:01:00): 79"}
	k := &kernelReader{open: func() (func() (string, error), error) {
		return func() (string, error) {
			if len(records) == 0 {
				return "", hostfs.ErrNoRecord
			}
			first := records[0]
			if records = records[1:]; first == "overrun" {
				return "", hostfs.ErrOverrun
			}
			return first, nil
		}, nil
	}}
	lines, read := k.lines()
	if !read || len(lines) != 2 || lines[0].Killed != 9 || !lines[1].Driver {
		t.Errorf("%+v, %v", lines, read)
	}
	records = []string{"4,3,7000000,-;NVRM: Xid (PCI:0000:01:00): 31"}
	if lines, read := k.lines(); !read || len(lines) != 1 || lines[0].MonotonicMS != 7000 {
		t.Errorf("%+v, %v", lines, read)
	}
	closed := &kernelReader{open: func() (func() (string, error), error) { return nil, os.ErrPermission }}
	if lines, read := closed.lines(); read || lines != nil {
		t.Errorf("without the right to read: %+v, %v", lines, read)
	}
	if _, read := (*kernelReader)(nil).lines(); read {
		t.Error("a log that is not to be read is read")
	}
	broken := &kernelReader{open: func() (func() (string, error), error) {
		return func() (string, error) { return "", errors.New("I/O error") }, nil
	}}
	if _, read := broken.lines(); read {
		t.Error("a log that fails counts as read")
	}
}

func TestARecorderIsOnThePageWithItsCostAndThePreviousEnd(t *testing.T) {
	folder := t.TempDir()
	ring, _, err := recorder.Open(folder, "before")
	must(t, err)
	_, err = ring.Append(recorder.Record{Boot: "before", PID: 3, UnixMS: 1000, Sample: &recorder.Sample{}})
	must(t, err)
	must(t, ring.Close())

	host := openRecorded(t, "no-gpu")
	host.Mode = collector.Live // so that it may be recorded
	e := exporterOf(t, host, Settings{})
	wantNotIn(t, body(t, get(t, e.Handler(), "/metrics")), "uma_exporter_recorder_")
	if got := get(t, e.Handler(), lastBootPath); got.StatusCode != 404 {
		t.Errorf("%d without a recorder", got.StatusCode)
	}
	wantNotIn(t, body(t, get(t, e.Handler(), "/")), "last-boot")
	source := newRecorderSource(host, e.runner, nil)
	e.recorder = recorder.New(recorder.Settings{Folder: folder, Identity: recorder.Identity{Boot: "now", PID: 4}, Look: source.look, Take: source.take, Monotonic: recorder.Monotonic})
	e.record(t.Context())() // a start and a stop
	wantIn(t, body(t, get(t, e.Handler(), "/metrics")),
		"uma_exporter_recorder_up 1", "uma_exporter_recorder_records_total 2", "uma_exporter_recorder_written_bytes_total 8192", "uma_exporter_recorder_errors_total 0",
		`uma_exporter_recorder_previous_boot_end{end="no_shutdown"} 1`, `uma_exporter_recorder_previous_boot_end{end="shutdown"} 0`, "uma_exporter_recorder_boot_timestamp_seconds ")
	wantIn(t, body(t, get(t, e.Handler(), lastBootPath)), "The machine probably stopped without a shutdown", "likely: no_shutdown")
	wantIn(t, body(t, get(t, e.Handler(), "/")), `<a href="/last-boot">`)
	var report recorder.Report
	must(t, json.Unmarshal([]byte(body(t, get(t, e.Handler(), lastBootJSONPath))), &report))
	if report.Schema != recorder.ReportSchema || report.Boot == nil || report.Boot.End != recorder.EndNoShutdown {
		t.Errorf("%+v", report)
	}
}
