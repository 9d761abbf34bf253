package snapshot

import "strconv"

// allowed is a row of the allow-list: a file that may be recorded. A component of the path may be a
// pattern of path.Match. Links on the way are recorded and followed.
type allowed struct {
	path string
	// link marks a path whose last component is recorded as a link.
	link bool
	// content is the kind of masking that the content needs.
	content content
}

// content is the kind of names that people may have put in.
type content int

const (
	plain       content = iota // none: numbers and the kernel's words
	names                      // names of processes
	cgroupPaths                // /proc/<pid>/cgroup
)

// allowedProc lists the files of procfs: only those that the collectors read; never a command line, never an
// environment.
func allowedProc() []allowed {
	return []allowed{
		{path: "meminfo"}, {path: "vmstat"}, {path: "buddyinfo"}, {path: "diskstats"}, {path: "pressure/*"},
		{path: "stat"}, {path: "spl/kstat/zfs/arcstats"},
		{path: "sys/kernel/osrelease"}, {path: "sys/kernel/arch"},
		{path: "self/ns/pid", link: true}, {path: "self/ns/cgroup", link: true},
		{path: "driver/nvidia-fs/stats"}, {path: "driver/nvidia-fs/version"}, {path: "driver/nvidia-fs/devcount"},
		{path: "driver/nvidia-fs/modules"},
	}
}

// allowedProcess lists the files of a process that uses a GPU.
func allowedProcess(pid uint32) []allowed {
	var rows []allowed
	at := strconv.FormatUint(uint64(pid), 10) + "/"
	rows = append(rows, allowed{path: at + "cgroup", content: cgroupPaths})
	for _, file := range []string{"comm", "status", "stat", "io"} {
		rows = append(rows, allowed{path: at + file, content: names})
	}
	return rows
}

// allowedSys lists the files of sysfs. The kind of a device is read, never its serial number, UUID or network address.
func allowedSys() []allowed {
	return []allowed{
		{path: "class/dmi/id/sys_vendor"}, {path: "class/dmi/id/product_name"}, {path: "class/dmi/id/board_name"},
		{path: "class/dmi/id/bios_version"}, {path: "firmware/devicetree/base/model"},
		{path: "module/nvidia/version"}, {path: "module/nvidia_fs/parameters/rw_stats_enabled"},
		{path: "bus/pci/drivers/nvidia/*:*/p2pmem/size"},
		{path: "class/nvme/nvme*/model"}, {path: "class/nvme/nvme*/firmware_rev"}, {path: "class/nvme/nvme*/state"},
		{path: "class/nvme/nvme*/nvme*n*/size"},
		{path: "class/nvme/nvme*/hwmon*/name"}, {path: "class/nvme/nvme*/hwmon*/temp*_*"},
		{path: "class/nvme/nvme*/device/hwmon/hwmon*/name"}, {path: "class/nvme/nvme*/device/hwmon/hwmon*/temp*_*"},
		{path: "class/block/*/size"}, {path: "dev/block/*", link: true},
		{path: "class/hwmon/hwmon*/name"}, {path: "class/hwmon/hwmon*/temp*_*"},
		{path: "class/hwmon/hwmon*/power*_*"}, {path: "class/hwmon/hwmon*/energy*_*"},
		{path: "class/hwmon/hwmon*/device", link: true},
		{path: "class/hwmon/hwmon*/prochot"}, {path: "class/hwmon/hwmon*/pl_level"},
		{path: "class/hwmon/hwmon*/device/prochot"}, {path: "class/hwmon/hwmon*/device/pl_level"},
		{path: "class/thermal/thermal_zone*/type"}, {path: "class/thermal/thermal_zone*/temp"},
		{path: "class/thermal/thermal_zone*/trip_point_*"},
		{path: "devices/system/node/online"}, {path: "devices/system/node/node*/meminfo"},
		{path: "devices/system/cpu/cpu*/cpufreq/scaling_cur_freq"},
		{path: "class/net/*/operstate"}, {path: "class/net/*/speed"}, {path: "class/net/*/mtu"},
		{path: "class/net/*/statistics/[rt]x_bytes"}, {path: "class/net/*/statistics/[rt]x_errors"},
		{path: "class/net/*/statistics/[rt]x_dropped"}, {path: "class/net/*/statistics/rx_missed_errors"},
		{path: "class/infiniband/*/ports/*/state"}, {path: "class/infiniband/*/ports/*/rate"},
		{path: "class/infiniband/*/ports/*/counters/port_*"}, {path: "class/infiniband/*/ports/*/counters/symbol_error"},
		{path: "class/infiniband/*/ports/*/counters/link_downed"},
		{path: "class/infiniband/*/ports/*/hw_counters/out_of_*"}, {path: "class/infiniband/*/ports/*/hw_counters/*_err"},
		{path: "class/infiniband/*/device/net/*/operstate"},
		{path: "class/net/*/device/*_link_*"}, {path: "class/net/*/device/aer_dev_*"},
		{path: "class/nvme/nvme*/device/*_link_*"}, {path: "class/nvme/nvme*/device/aer_dev_*"},
		{path: "bus/pci/drivers/nvidia/*:*/aer_dev_*"},
	}
}

// cgroupFiles are the files of one cgroup.
func cgroupFiles() []string {
	return []string{"memory.stat", "memory.current", "memory.max", "memory.high", "memory.peak",
		"memory.swap.current", "memory.events", "memory.pressure", "io.stat", "io.pressure", "cpu.pressure", "cpu.stat", "pids.current"}
}

// allowedCgroup lists the files of a cgroup; the path is "" or ends with a slash.
func allowedCgroup(cgroup string) []allowed {
	var rows []allowed
	for _, file := range cgroupFiles() {
		rows = append(rows, allowed{path: cgroup + file})
	}
	return rows
}
