package dashboards

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// answered are the values that an expression has for host h with everything chosen, by the labels that are
// asked for.
func answered(t *testing.T, series string, e expr.Expr, labels ...metric.Label) map[string]float64 {
	t.Helper()
	page := stored(t, map[string]string{"host": "h", "cgroup": ".+", "runs": ".+"}, series)
	found := map[string]float64{}
	for _, sample := range page.samples(t, e, 5*time.Minute) {
		var name []string
		for _, label := range labels {
			name = append(name, sample.Metric.Get(string(label)))
		}
		key := strings.Join(name, "|")
		if _, twice := found[key]; twice {
			t.Errorf("%s: two series for %s", e, key)
		}
		found[key] = sample.F
	}
	return found
}

func TestContainersAreCalledWhatPeopleCallThem(t *testing.T) {
	id := strings.Repeat("0123456789ab", 5) + "cdef"
	paths := map[string]string{ // by what has to be shown
		"/":                              "/",
		"user.slice":                     "/user.slice",
		"session-2.scope":                "/user.slice/user-1000.slice/session-2.scope",
		"kubepods-burstable-pod0123abcd": "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0123abcd_0000_4000_8000_000000000001.slice",
		"podfeed0123":                    "/kubepods/besteffort/podfeed0123-0000-4000-8000-000000000001",
		"docker-0123456789ab":            "/system.slice/docker-" + id + ".scope",
		"0123456789ab":                   "/docker/" + id,
		"engine":                         "/system.slice/docker-" + strings.Replace(id, "0", "f", 1) + ".scope",
		"server (llm-7)":                 "/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope",
	}
	runtime := map[string]string{"engine": `container="engine",pod=""`, "server (llm-7)": `container="server",pod="llm-7"`}
	var series strings.Builder
	for name, path := range paths {
		exported := runtime[name]
		if exported == "" {
			exported = `container="",pod=""`
		}
		// Two exporters of one host give one line.
		for _, job := range []string{"a", "b"} {
			series.WriteString(`  uma_cgroup_info{host="h",job="` + job + `",cgroup="` + path + `",` + exported + "} 1x40\n")
			series.WriteString(`  uma_cgroup_footprint_bytes{host="h",job="` + job + `",cgroup="` + path + "\"} 7x40\n")
		}
	}
	found := answered(t, series.String(), ofCgroups(metric.CgroupFootprintBytes), metric.LabelName, metric.LabelPod)
	var got, want []string
	for key := range maps.Keys(found) {
		got = append(got, strings.ReplaceAll(key, "|", ""))
	}
	want = slices.Sorted(maps.Keys(paths))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("shown %q, want %q", got, want)
	}
}

func TestATableOfRunsShowsTheNewestOfTheHost(t *testing.T) {
	var series strings.Builder
	for i, run := range "abcdefghijklmno" {
		name := string(run)
		host := "h"
		if name == "c" {
			host = "other"
		}
		start := 1000 + 10*i
		if name == "a" {
			start = 5000 // it is of the same folder as the others, and the newest
		}
		for _, line := range []string{
			`uma_run_info{host="` + host + `",run="` + name + `",arm="native",scenario="standard",engine="vllm",model="m"} 1x40`,
			`uma_run_start_timestamp_seconds{run="` + name + `"} ` + strconv.Itoa(start) + "x40",
			`uma_run_energy_joules{run="` + name + `"} ` + strconv.Itoa(i) + "x40",
		} {
			series.WriteString("  " + line + "\n")
		}
	}
	started := answered(t, series.String(), runTimes()[0].expr, metric.LabelRun, metric.LabelArm, metric.LabelModel)
	if len(started) != newest || started["a|native|m"] != 5000*1000 || started["o|native|m"] == 0 {
		t.Errorf("%d runs: %v", len(started), started)
	}
	energy := answered(t, series.String(), ofRuns(metric.RunEnergyJoules), metric.LabelRun)
	for _, gone := range []string{"b", "c"} { // the oldest, and one of another host
		if _, shown := energy[gone]; shown {
			t.Errorf("run %s is shown", gone)
		}
	}
	if len(energy) != newest || energy["a"] != 0 || energy["o"] != 14 {
		t.Errorf("energy %v", energy)
	}
}

func TestAnEngineThatDoesNotAnswerStaysInTheTable(t *testing.T) {
	const series = `  uma_engine_up{host="h",source="a"} 1x40
  uma_engine_up{host="h",source="b"} 0x40
  uma_engine_info{host="h",source="a",engine="vllm",model="m",version="1"} 1x40
  uma_engine_info{host="h",source="a",engine="vllm",model="n",version="1"} 1x40
`
	found := answered(t, series, engineAnswers(), metric.LabelSource, metric.LabelModel)
	if want := map[string]float64{"a|m": 1, "a|n": 1, "b|": 0}; !maps.Equal(found, want) {
		t.Errorf("%v, want %v", found, want)
	}
}

func TestLevelsOfTheAlertAreDrawnOfAGB10WithoutLimitsOnly(t *testing.T) {
	gpu := func(uuid, name string) string {
		return `  uma_gpu_info{host="h",uuid="` + uuid + `",gpu="0",name="` + name + `"} 1x40` + "\n" +
			`  uma_gpu_temperature_celsius{host="h",uuid="` + uuid + `"} 60x40` + "\n"
	}
	const margin = `  uma_gpu_temperature_margin_celsius{host="h",uuid="1",limit="slowdown"} 27x40` + "\n"
	cases := map[string]struct {
		series string
		want   map[string]float64
	}{
		"GB10":              {gpu("1", "NVIDIA GB10"), map[string]float64{"h": 88}},
		"H200":              {gpu("1", "NVIDIA H200"), map[string]float64{}},
		"GB10 with a limit": {gpu("1", "NVIDIA GB10") + margin, map[string]float64{}},
	}
	for name, c := range cases {
		if found := answered(t, c.series, levelOfGB10(88), metric.LabelHost); !maps.Equal(found, c.want) {
			t.Errorf("%s: %v, want %v", name, found, c.want)
		}
	}
	limits := answered(t, gpu("1", "NVIDIA H200")+margin, limitsOfGPU(), metric.LabelGPU, metric.LabelLimit)
	if want := map[string]float64{"0|slowdown": 87}; !maps.Equal(limits, want) {
		t.Errorf("limits %v, want %v", limits, want)
	}
}

func TestADriveWithoutLimitsHasThoseOfTheAlert(t *testing.T) {
	const drives = `  uma_nvme_temperature_celsius{host="h",controller="nvme0",sensor="composite"} 40x40
  uma_nvme_temperature_celsius{host="h",controller="nvme0",sensor="sensor_1"} 90x40
  uma_nvme_temperature_celsius{host="h",controller="nvme1",sensor="composite"} 40x40
  uma_nvme_temperature_warning_celsius{host="h",controller="nvme1"} 83x40
`
	found := answered(t, drives, limitOfDrives(metric.NVMeTemperatureWarningCelsius, 70), metric.LabelController)
	if want := map[string]float64{"nvme0": 70, "nvme1": 83}; !maps.Equal(found, want) {
		t.Errorf("%v, want %v", found, want)
	}
}

func TestEveryKindOfChargedMemoryIsAColumn(t *testing.T) {
	var shown []string
	for _, c := range chargeKindColumns() {
		shown = append(shown, c.kind)
	}
	want := metric.CgroupKinds()
	slices.Sort(shown)
	slices.Sort(want)
	if !slices.Equal(shown, want) {
		t.Errorf("shown %v, want %v", shown, want)
	}
}

// The driver counts the time of these reasons; what else it gives as a reason is among the states.
func TestEveryReasonWhoseTimeIsCountedIsDrawn(t *testing.T) {
	counted := regexp.MustCompile(metric.GPUClockEventSecondsTotal.Def().Name + `\{reason="([a-z_]+)"`)
	pages, err := filepath.Glob("../exporter/testdata/*.prom")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	want := map[string]bool{}
	for _, path := range pages {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range counted.FindAllSubmatch(page, -1) {
			want[string(match[1])] = true
		}
	}
	drawn, colors := map[string]bool{}, map[string]bool{}
	for _, r := range heldReasons() {
		drawn[r.reason] = true
		colors[r.color] = true
	}
	if len(want) == 0 || !maps.Equal(drawn, want) || len(colors) != len(drawn) {
		t.Errorf("drawn %v in %d colours, want %v", drawn, len(colors), want)
	}
}

func TestAGB10ThatIsStuckAtLowPowerIsBusyAboveTheLineAndSlowBelowIt(t *testing.T) {
	const stuck = `  uma_gpu_info{host="h",uuid="1",gpu="0",name="NVIDIA GB10"} 1x40
  uma_gpu_info{host="h",uuid="2",gpu="1",name="NVIDIA H200"} 1x40
  uma_gpu_sm_clock_hertz{host="h",uuid="1"} 700000000x40
  uma_gpu_sm_clock_hertz{host="h",uuid="2"} 700000000x40
  uma_gpu_power_watts{host="h",uuid="1"} 15x40
  uma_gpu_utilization_ratio{host="h",uuid="1"} 1x40
`
	machine := metric.AlertThresholds().MachineThresholds
	for _, c := range []struct {
		of    metric.Definer
		level float64
		above bool
	}{{metric.GPUUtilizationRatio, machine.BusyRatio, true}, {metric.GPUSMClockHertz, machine.StuckHertz, false}, {metric.GPUPowerWatts, machine.StuckWatts, false}} {
		found := answered(t, stuck, overLevel(c.of, c.level), metric.LabelGPU)
		if value, drawn := found["0"]; len(found) != 1 || !drawn || (value > 1) != c.above {
			t.Errorf("%s: %v", c.of.Def().Name, found)
		}
	}
}

func TestAlertsAreInTheOrderOfTheirUrgency(t *testing.T) {
	var series strings.Builder
	for _, severity := range []string{"info", "none", "warning", "critical"} {
		series.WriteString(`  ALERTS{alertstate="firing",host="h",mode="live",alertname="` + severity + `",severity="` + severity + "\"} 1x40\n")
	}
	found := answered(t, series.String(), byUrgency(), metric.LabelAlertName)
	if want := map[string]float64{"critical": 1, "warning": 2, "info": 3}; !maps.Equal(found, want) {
		t.Errorf("order %v, want %v", found, want)
	}
}

func TestTemperatureIsDrawnOncePerArmWhileItsRunsLast(t *testing.T) {
	found := answered(t, `  uma_gpu_temperature_celsius{host="h",uuid="a"} 50x40
  uma_gpu_temperature_celsius{host="h",uuid="b"} 60x40
  uma_run_active{host="h",run="r",arm="native",scenario="s"} 1x40
  uma_run_active{host="h",run="q",arm="native",scenario="t"} 1x40
  uma_run_active{host="h",run="p",arm="container",scenario="s"} 1x40
  uma_run_active{host="h",run="o",arm="ended",scenario="s"} 0x40
`, hottestByArm(), metric.LabelArm)
	if want := map[string]float64{"native": 60, "container": 60}; !maps.Equal(found, want) {
		t.Errorf("drawn %v, want %v", found, want)
	}
}

func TestAnAlertFiresSinceTheFirstOfWhatItIsAbout(t *testing.T) {
	found := answered(t, `  ALERTS{alertstate="firing",host="h",mode="live",alertname="a",severity="warning",uuid="1"} 1x40
  ALERTS{alertstate="pending",host="h",mode="live",alertname="a",severity="warning",uuid="2"} 1x40
  ALERTS{alertstate="pending",host="h",mode="live",alertname="b",severity="warning"} 1x40
  ALERTS_FOR_STATE{host="h",mode="live",alertname="a",severity="warning",uuid="1"} 100x40
  ALERTS_FOR_STATE{host="h",mode="live",alertname="a",severity="warning",uuid="2"} 200x40
  ALERTS_FOR_STATE{host="h",mode="live",alertname="b",severity="warning"} 200x40
`, firingSince(), metric.LabelAlertName)
	if want := map[string]float64{"a": 100}; !maps.Equal(found, want) {
		t.Errorf("since %v, want %v", found, want)
	}
}
