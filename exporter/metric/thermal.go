package metric

const (
	hwmon = "/sys/class/hwmon"
	spbm  = "out-of-tree driver spbm of the DGX Spark's power manager"
)

// Heat, power and clocks outside the GPU and the drives. The maker names the zones of firmware and the rails.
var (
	ThermalZoneCelsius = gauge(Def{Name: "uma_thermal_zone_celsius", Unit: Celsius, Telemetry: true, Sum: SumNever(),
		Help:   "Temperature of a zone. Zones of one type differ by number only; which part of the machine each is, is not documented.",
		Source: "/sys/class/thermal", Labels: []Label{LabelZone, LabelType}})
	ThermalTripCelsius = gauge(Def{Name: "uma_thermal_trip_celsius", Unit: Celsius, Sum: SumNever(),
		Help:   "Temperature at which the kernel acts on a zone: active cools, passive slows down, critical shuts down. Trip points that are not set are absent.",
		Source: "/sys/class/thermal trip_point_*", Labels: []Label{LabelZone, LabelTrip, LabelType}})
	HwmonTemperatureCelsius = gauge(Def{Name: "uma_hwmon_temperature_celsius", Unit: Celsius, Telemetry: true, Sum: SumNever(),
		Help:   "Temperature of a sensor. Chips that show thermal zones a second time are left out, and drives are in uma_nvme_temperature_celsius.",
		Source: hwmon + " temp*_input", Labels: []Label{LabelChip, LabelSensor}})
	HwmonPowerWatts = gauge(Def{Name: "uma_hwmon_power_watts", Unit: Watts, Telemetry: true, Sum: SumKeeping(LabelChip, LabelSensor),
		Help:   "Power of a rail now; rails contain each other. The power manager of a DGX Spark regulates every 100 ms, so that the rate of energy is the steadier figure where there is one.",
		Source: hwmon + " power*_input, else power*_average", Labels: []Label{LabelChip, LabelSensor}})
	HwmonPowerLimitWatts = gauge(Def{Name: "uma_hwmon_power_limit_watts", Unit: Watts, Sum: SumKeeping(LabelChip, LabelSensor),
		Help:   "What the chip keeps the power of a rail to.",
		Source: hwmon + " power*_cap", Labels: []Label{LabelChip, LabelSensor}})
	HwmonEnergyJoulesTotal = counter(Def{Name: "uma_hwmon_energy_joules_total", Unit: Joules, Telemetry: true, Sum: SumKeeping(LabelChip, LabelSensor),
		Help:   "Energy that a rail has carried; rails contain each other. The registers of a DGX Spark have 32 bits of millijoules and start anew after 4.29 MJ, half a day at 100 W.",
		Source: hwmon + " energy*_input", Labels: []Label{LabelChip, LabelSensor}})
	SPBMProcHot = gauge(Def{Name: "uma_spbm_prochot", Unit: State, Telemetry: true, Sum: SumNever(),
		Help:   "Whether the firmware throttles the processor for heat.",
		Source: spbm + ", prochot", Labels: []Label{LabelChip}})
	SPBMPowerLimitLevel = gauge(Def{Name: "uma_spbm_power_limit_level", Unit: Index, Telemetry: true, Sum: SumNever(),
		Help:   "Number of the power limit that is in force; no document says what each number stands for.",
		Source: spbm + ", pl_level", Labels: []Label{LabelChip}})
	CPUFrequencyHertz = gauge(Def{Name: "uma_cpu_frequency_hertz", Unit: Hertz, Sum: SumNever(),
		Help:   "Clock that a CPU was last set to.",
		Source: "/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq", Labels: []Label{LabelCPU}})
	CPUSecondsTotal = counter(Def{Name: "uma_cpu_seconds_total", Unit: Seconds, Telemetry: true,
		Help:   "Time that all CPUs together spent in a mode. Guests of virtual machines are in user and nice.",
		Source: "/proc/stat", Labels: []Label{LabelMode}})
)

func thermalDefs() []Definer {
	return []Definer{
		ThermalZoneCelsius, ThermalTripCelsius, HwmonTemperatureCelsius, HwmonPowerWatts, HwmonPowerLimitWatts,
		HwmonEnergyJoulesTotal, SPBMProcHot, SPBMPowerLimitLevel, CPUFrequencyHertz, CPUSecondsTotal,
	}
}
