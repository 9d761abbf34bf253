package sim

import "fmt"

const (
	diskMajor      = 259
	diskName       = "nvme0n1"
	diskSectors    = 8001573552
	drivePath      = "devices/pci0004:00/0004:00:00.0/0004:01:00.0"
	controllerPath = drivePath + "/nvme/nvme0"
)

func (m *machine) sysFiles(sys directory) {
	dmi := sys.at("devices/virtual/dmi/id")
	dmi.line("sys_vendor", "NVIDIA")
	dmi.line("product_name", "NVIDIA_DGX_Spark")
	dmi.line("board_name", "P4242")
	dmi.line("bios_version", "5.36_0ACUM018")
	sys.link("class/dmi/id", "../../devices/virtual/dmi/id")
	sys.line("module/nvidia/version", m.config.DriverVersion)
	m.driveFiles(sys)
	m.zoneFiles(sys)
	for cpu := range int64(cpus) {
		sys.number(fmt.Sprintf("devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu), m.kilohertz(cpu))
	}
	if m.config.RailSensors {
		m.railFiles(sys)
	}
	if m.config.Cable {
		m.cable.files(sys)
	}
}

// driveFiles are the NVMe drive and its sensors, which the drive gives in whole kelvins.
func (m *machine) driveFiles(sys directory) {
	controller := sys.at(controllerPath)
	controller.line("model", "SAMSUNG MZALC4T0HBL1-00B07")
	controller.line("firmware_rev", "NXHB202Q")
	controller.line("state", "live")
	controller.line(diskName+"/size", fmt.Sprint(diskSectors))
	controller.line(diskName+"/dev", fmt.Sprintf("%d:0", diskMajor))
	chip := controller.at("hwmon1")
	chip.line("name", "nvme")
	chip.line("temp1_crit", "84850")
	chip.line("temp1_max", "81850")
	for i, sensor := range []struct {
		label string
		above int64
	}{{"Composite", 0}, {"Sensor 1", 0}, {"Sensor 2", diskSensorAboveComposite}} {
		prefix := fmt.Sprintf("temp%d_", i+1)
		chip.line(prefix+"label", sensor.label)
		chip.number(prefix+"input", wholeKelvin((m.disk.temperature+sensor.above)/1000))
	}
	chip.link("device", "../../nvme0")
	controller.link("device", "../../../0004:01:00.0")
	pcieFiles(sys.at(drivePath))
	sys.link("class/nvme/nvme0", "../../"+controllerPath)
	sys.link("class/hwmon/hwmon1", "../../"+controllerPath+"/hwmon1")
	sys.link("class/block/"+diskName, "../../"+controllerPath+"/"+diskName)
	sys.link(fmt.Sprintf("dev/block/%d:0", diskMajor), "../../"+controllerPath+"/"+diskName)
}

// pcieFiles are a sound link of a DGX Spark: four lanes of PCIe 5, and no errors.
func pcieFiles(function directory) {
	for _, which := range []string{"current", "max"} {
		function.line(which+"_link_width", "4")
		function.line(which+"_link_speed", "32.0 GT/s PCIe")
	}
	for kind, total := range map[string]string{"correctable": "COR", "nonfatal": "NONFATAL", "fatal": "FATAL"} {
		function.line("aer_dev_"+kind, "TOTAL_ERR_"+total+" 0")
	}
}

// wholeKelvin rounds millidegrees Celsius to a whole number of kelvin.
func wholeKelvin(milliCelsius int64) int64 {
	const zero = 273_150
	return (milliCelsius+zero+500)/1000*1000 - zero
}

// zoneFiles are the ACPI thermal zones. Owners' reports show no trip points of them.
func (m *machine) zoneFiles(sys directory) {
	for zone := range int64(thermalZones) {
		name := fmt.Sprintf("thermal_zone%d", zone)
		at := sys.at("devices/virtual/thermal/" + name)
		at.line("type", "acpitz")
		at.number("temp", m.zoneMillidegrees(zone)/100*100)
		sys.link("class/thermal/"+name, "../../devices/virtual/thermal/"+name)
	}
}

// railFiles are the sensors of the driver spbm (antheas/spark_hwmon) that the model can serve: powers in microwatts,
// energies in microjoules.
func (m *machine) railFiles(sys directory) {
	const path = "devices/platform/NVDA8800:00/hwmon/hwmon2"
	chip := sys.at(path)
	chip.line("name", "spbm")
	chip.line("prochot", "0")
	chip.line("pl_level", "0")
	packagePower := m.gpu.power + m.cpuPower()
	for i, rail := range []struct {
		label string
		power int64 // milliwatts
	}{
		{"sys_total", packagePower + boardPower},
		{"soc_pkg", packagePower},
		{"cpu_gpu", packagePower - 4_000},
		{"dc_input", packagePower + boardPower + 1_500},
		{"gpu", m.gpu.power},
	} {
		prefix := fmt.Sprintf("power%d_", i+1)
		chip.line(prefix+"label", rail.label)
		chip.number(prefix+"input", rail.power*1000)
	}
	chip.line("energy1_label", "gpu")
	chip.number("energy1_input", m.gpu.energy)
	chip.line("temp1_label", "gpu")
	chip.number("temp1_input", m.heat.die/1000)
	chip.line("temp2_label", "soc")
	chip.number("temp2_input", m.heat.sink/1000)
	sys.link("class/hwmon/hwmon2", "../../"+path)
}

// boardPower is the power of the rest of the machine, in milliwatts.
const boardPower = 8_000
