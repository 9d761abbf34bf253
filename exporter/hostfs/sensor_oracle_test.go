package hostfs

import (
	"maps"
	"strconv"
	"testing"
	"testing/fstest"

	"github.com/prometheus/procfs/sysfs"
)

// sysOracle is procfs' reader of a sysfs.
func sysOracle(t *testing.T, sys Dir) sysfs.FS {
	t.Helper()
	oracle, err := sysfs.NewFS(sys.Path)
	if err != nil {
		t.Fatal(err)
	}
	return oracle
}

func TestThermalZonesAgreeWithProcfs(t *testing.T) {
	contents := thermalFiles()
	for _, zone := range []string{"0", "11"} {
		contents["class/thermal/thermal_zone"+zone+"/policy"] = "step_wise\n" // procfs gives a zone up without it
	}
	oracle, err := sysOracle(t, files(t, contents)).ClassThermalZoneStats()
	if err != nil {
		t.Fatal(err)
	}
	got := must(t, ReadThermalZones, files(t, contents))
	if len(got) != len(oracle) {
		t.Fatalf("%d zones, procfs has %d", len(got), len(oracle))
	}
	for i, want := range oracle {
		if got[i].Zone != want.Name || got[i].Type != want.Type || *got[i].Celsius != float64(want.Temp)/1e3 {
			t.Errorf("got %+v, procfs has %+v", got[i], want)
		}
	}
}

func TestCPUTimesAgreeWithProcfs(t *testing.T) {
	contents := map[string]string{"stat": "cpu  695175 24566 168959 1160454 6072 0 2634 2912 11 22\ncpu0 1 2 3 4 5 6 7 8 9 10\nbtime 1700000000\n"}
	oracle, err := procOracle(t, contents).Stat()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"user": oracle.CPUTotal.User, "nice": oracle.CPUTotal.Nice, "system": oracle.CPUTotal.System, "idle": oracle.CPUTotal.Idle,
		"iowait": oracle.CPUTotal.Iowait, "irq": oracle.CPUTotal.IRQ, "softirq": oracle.CPUTotal.SoftIRQ, "steal": oracle.CPUTotal.Steal,
	}
	if got := must(t, ReadCPUSeconds, files(t, contents)); !maps.Equal(got, want) {
		t.Errorf("got %v, procfs has %v", got, want)
	}
}

func TestCPUFrequenciesAgreeWithProcfs(t *testing.T) {
	contents := map[string]string{
		"devices/system/cpu/offline":                       "\n",
		"devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "3900000\n",
		"devices/system/cpu/cpu7/cpufreq/scaling_cur_freq": "2808000\n",
	}
	for _, cpu := range []string{"cpu0", "cpu7"} { // procfs gives up without these
		for _, file := range []string{"scaling_available_governors", "scaling_driver", "scaling_governor", "related_cpus", "scaling_setspeed"} {
			contents["devices/system/cpu/"+cpu+"/cpufreq/"+file] = "0\n"
		}
	}
	oracle, err := sysOracle(t, files(t, contents)).SystemCpufreq()
	if err != nil {
		t.Fatal(err)
	}
	got := must(t, ReadCPUFrequencies, files(t, contents))
	if len(oracle) != 2 || len(got) != 2 {
		t.Fatalf("%d CPUs, procfs has %d", len(got), len(oracle))
	}
	for i, want := range oracle {
		if got[i].CPU != want.Name || got[i].Hertz != float64(*want.ScalingCurrentFrequency)*1e3 {
			t.Errorf("got %+v, procfs has %+v", got[i], want)
		}
	}
}

func TestInterfacesAgreeWithProcfs(t *testing.T) {
	oracle, err := sysOracle(t, onDisk(t, networkFiles())).NetClassByIface("enp1s0f0np0")
	if err != nil {
		t.Fatal(err)
	}
	got := must(t, ReadNetworkInterfaces, onDisk(t, networkFiles()))[1]
	if got.Device != oracle.Name || *got.Up != (oracle.OperState == "up") || *got.BytesPerSecond != float64(*oracle.Speed)*1e6/8 {
		t.Errorf("got %+v, procfs has %+v", got, oracle)
	}
}

func TestPortsAgreeWithProcfs(t *testing.T) {
	ports := networkFiles()
	const device = "devices/pci0000:00/0000:01:00.0/infiniband/rocep1s0f0/"
	for name, content := range map[string]string{ // procfs gives the device up without these
		"fw_ver": "28.45.4028\n", "board_id": "NVD0000000087\n", "hca_type": "MT4129\n", "node_type": "1: CA\n",
		"ports/1/phys_state": "5: LinkUp\n", "ports/1/lid": "0x0\n", "ports/1/lid_mask_count": "0\n", "ports/1/sm_lid": "0x0\n",
	} {
		ports[device+name] = &fstest.MapFile{Data: []byte(content)}
	}
	sys := onDisk(t, ports)
	oracle, err := sysOracle(t, sys).InfiniBandClass()
	if err != nil {
		t.Fatal(err)
	}
	want, got := oracle["rocep1s0f0"].Ports[1], must(t, ReadInfiniBandPorts, sys)[0]
	if *got.Up != (want.StateID == 4) || *got.BytesPerSecond != float64(want.Rate) || got.Port != strconv.FormatUint(uint64(want.Port), 10) {
		t.Errorf("got %+v, procfs has %+v", got, want)
	}
	if *got.ReceivedBytes != *want.Counters.PortRcvData || *got.TransmittedBytes != *want.Counters.PortXmitData {
		t.Errorf("%d and %d bytes, procfs has %d and %d", *got.ReceivedBytes, *got.TransmittedBytes, *want.Counters.PortRcvData, *want.Counters.PortXmitData)
	}
}
