package sim

import "fmt"

const (
	diskMajor      = 259
	diskName       = "nvme0n1"
	diskSectors    = 8001573552
	controllerPath = "devices/pci0004:00/0004:00:00.0/0004:01:00.0/nvme/nvme0"
)

func (m *machine) sysFiles() *node {
	sys := newDirectory("sys")
	dmi := sys.at("devices/virtual/dmi/id")
	dmi.constant("sys_vendor", "NVIDIA")
	dmi.constant("product_name", "NVIDIA_DGX_Spark")
	dmi.constant("board_name", "P4242")
	dmi.constant("bios_version", "5.36_0ACUM018")
	sys.link("class/dmi/id", "../../devices/virtual/dmi/id", dmi)
	sys.constant("module/nvidia/version", m.config.DriverVersion)
	m.driveFiles(sys)
	m.zoneFiles(sys)
	for cpu := range int64(cpus) {
		sys.file(fmt.Sprintf("devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu),
			number(func() int64 { return m.kilohertz(cpu) }))
	}
	if m.config.RailSensors {
		m.railFiles(sys)
	}
	if m.config.Cable {
		m.cable.files(sys)
	}
	return sys
}

// driveFiles are the NVMe drive and its sensors, which the drive gives in whole kelvins.
func (m *machine) driveFiles(sys *node) {
	controller := sys.at(controllerPath)
	controller.constant("model", "SAMSUNG MZALC4T0HBL1-00B07")
	controller.constant("firmware_rev", "NXHB202Q")
	controller.constant("state", "live")
	controller.constant(diskName+"/size", fmt.Sprint(diskSectors))
	controller.constant(diskName+"/dev", fmt.Sprintf("%d:0", diskMajor))
	chip := controller.at("hwmon1")
	chip.constant("name", "nvme")
	chip.constant("temp1_crit", "84850")
	chip.constant("temp1_max", "81850")
	for i, sensor := range []struct {
		label string
		above int64
	}{{"Composite", 0}, {"Sensor 1", 0}, {"Sensor 2", diskSensorAboveComposite}} {
		prefix := fmt.Sprintf("temp%d_", i+1)
		chip.constant(prefix+"label", sensor.label)
		chip.file(prefix+"input", number(func() int64 { return wholeKelvin((m.disk.temperature + sensor.above) / 1000) }))
	}
	chip.link("device", "../../nvme0", controller)
	sys.link("class/nvme/nvme0", "../../"+controllerPath, controller)
	sys.link("class/hwmon/hwmon1", "../../"+controllerPath+"/hwmon1", chip)
	sys.link("class/block/"+diskName, "../../"+controllerPath+"/"+diskName, controller.at(diskName))
	sys.link(fmt.Sprintf("dev/block/%d:0", diskMajor), "../../"+controllerPath+"/"+diskName, controller.at(diskName))
}

// wholeKelvin rounds millidegrees Celsius to a whole number of kelvin.
func wholeKelvin(milliCelsius int64) int64 {
	const zero = 273_150
	return (milliCelsius+zero+500)/1000*1000 - zero
}

// zoneFiles are the ACPI thermal zones. Owners' reports show no trip points of them.
func (m *machine) zoneFiles(sys *node) {
	for zone := range int64(thermalZones) {
		name := fmt.Sprintf("thermal_zone%d", zone)
		at := sys.at("devices/virtual/thermal/" + name)
		at.constant("type", "acpitz")
		at.file("temp", number(func() int64 { return m.zoneMillidegrees(zone) / 100 * 100 }))
		sys.link("class/thermal/"+name, "../../devices/virtual/thermal/"+name, at)
	}
}

// railFiles are the sensors of the driver spbm (antheas/spark_hwmon) that the model can serve: powers in microwatts,
// energies in microjoules.
func (m *machine) railFiles(sys *node) {
	const path = "devices/platform/NVDA8800:00/hwmon/hwmon2"
	chip := sys.at(path)
	chip.constant("name", "spbm")
	chip.constant("prochot", "0")
	chip.constant("pl_level", "0")
	packagePower := func() int64 { return m.gpu.power + m.cpuPower() }
	for i, rail := range []struct {
		label string
		power func() int64 // milliwatts
	}{
		{"sys_total", func() int64 { return packagePower() + boardPower }},
		{"soc_pkg", packagePower},
		{"cpu_gpu", func() int64 { return packagePower() - 4_000 }},
		{"dc_input", func() int64 { return packagePower() + boardPower + 1_500 }},
		{"gpu", func() int64 { return m.gpu.power }},
	} {
		prefix := fmt.Sprintf("power%d_", i+1)
		chip.constant(prefix+"label", rail.label)
		chip.file(prefix+"input", number(func() int64 { return rail.power() * 1000 }))
	}
	chip.constant("energy1_label", "gpu")
	chip.file("energy1_input", number(func() int64 { return m.gpu.energy }))
	chip.constant("temp1_label", "gpu")
	chip.file("temp1_input", number(func() int64 { return m.heat.die / 1000 }))
	chip.constant("temp2_label", "soc")
	chip.file("temp2_input", number(func() int64 { return m.heat.sink / 1000 }))
	sys.link("class/hwmon/hwmon2", "../../"+path, chip)
}

// boardPower is the power of the rest of the machine, in milliwatts.
const boardPower = 8_000
