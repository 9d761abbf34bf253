package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// NvidiaFS is what the kernel module nvidia-fs, the kernel's half of GPUDirect Storage, reports of itself. The module
// truncates amounts to MiB: small ones read 0.
type NvidiaFS struct {
	// Version is the module's, such as 2.28.4, without the last part where only the version file has it. GDSVersion is
	// that of the release it belongs to, "" where it is not built in.
	Version, GDSVersion string
	// Modules are the versions of the registered storage drivers, by name, such as nvme.
	Modules map[string]string
	// RWStats reports whether reads and writes are counted; nil where neither parameter nor statistics show it.
	RWStats *bool
	// ShadowBufferBytes is the memory pinned in buffers that shadow a GPU's; nil if the module is built
	// without statistics.
	ShadowBufferBytes *uint64
	// Operations, Bytes and Errors are counts since the module was loaded or since its statistics were last reset by a
	// write, by operation. Reads and writes are there only while they are counted, errors of them always.
	Operations, Bytes, Errors map[string]uint64
	// GPUs are those that have registered memory since then.
	GPUs []NvidiaFSGPU
}

// NvidiaFSGPU is the memory that a GPU has registered with nvidia-fs.
type NvidiaFSGPU struct {
	UUID            string // as NVML writes it, with the prefix GPU-
	RegisteredBytes uint64
}

// ReadNvidiaFS reads /proc/driver/nvidia-fs and the module's parameter. Without the module it returns fs.ErrNotExist.
// The formats are those of gds-nvidia-fs (nvfs-stat.c, nvfs-proc.c), statistics version 2 to 4.
func ReadNvidiaFS(proc, sys Dir) (NvidiaFS, error) {
	const at = "driver/nvidia-fs/"
	if _, err := proc.Stat("driver/nvidia-fs"); err != nil {
		return NvidiaFS{}, err
	}
	stats, statsErr := parseFile(proc, at+"stats", parseNvidiaFSStats)
	modules, modulesErr := parseFile(proc, at+"modules", parseNvidiaFSModules)
	stats.Modules = modules
	var versionErr error
	if stats.Version == "" {
		stats.Version, versionErr = parseFile(proc, at+"version", parseNvidiaFSVersion)
	}
	on, parameterErr := readUint(sys, "module/nvidia_fs/parameters/rw_stats_enabled")
	if parameterErr == nil {
		stats.RWStats = new(on != 0)
	}
	return stats, errors.Join(unlessMissing(statsErr), unlessMissing(modulesErr), unlessMissing(versionErr), unlessMissing(parameterErr))
}

func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// parseNvidiaFSVersion reads the one line of the file version, which has no patch level.
//
//	version: 2.28
func parseNvidiaFSVersion(text string) (string, error) {
	version, found := strings.CutPrefix(strings.TrimSpace(text), "version: ")
	if !found || !nvidiaFSVersion.MatchString(version) {
		return "", fmt.Errorf("%w: %s", errMalformed, excerpt(text))
	}
	return version, nil
}

// parseNvidiaFSModules reads the storage drivers that have registered.
//
//	nvme: 1.0
func parseNvidiaFSModules(text string) (map[string]string, error) {
	modules := map[string]string{}
	err := parseLines(text, func(line string) error {
		name, version, found := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !found || name == "" || len(modules) == maxModules {
			return errMalformed
		}
		modules[name] = strings.TrimSpace(version)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return modules, nil
}

const (
	maxModules = 64
	maxGPUs    = 64
)

var (
	nvidiaFSVersion = regexp.MustCompile(`^[0-9]+([.:][0-9]+)*$`)
	nvidiaFSHeader  = regexp.MustCompile(`^NVFS (statistics|Driver)\((?:ver|version): ([0-9.:]+)\)`)
	nvidiaFSGPU     = regexp.MustCompile(`^GPU [0-9a-fA-F:.]+ +uuid:([0-9a-fA-F-]{36}) *:(.*)$`)
	nvidiaFSNumber  = regexp.MustCompile(`([A-Za-z0-9_()%/-]+)=([0-9]+)`)
)

// parseNvidiaFSStats reads the statistics. Labels of other versions are skipped; a label may occur twice, with other
// numbers after it.
//
//	Reads				: n=12608 ok=12606 err=2 readMiB=12608 io_state_err=0
//	GPU 0000:41:00.0  uuid:0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9 : Registered_MiB=64 Cache_MiB=0 max_pinned_MiB=128
func parseNvidiaFSStats(text string) (NvidiaFS, error) {
	stats := NvidiaFS{Operations: map[string]uint64{}, Bytes: map[string]uint64{}, Errors: map[string]uint64{}}
	headed := false
	err := parseLines(text, func(line string) error {
		if header := nvidiaFSHeader.FindStringSubmatch(line); header != nil {
			headed = true
			if header[1] == "Driver" {
				stats.Version = strings.ReplaceAll(header[2], ":", ".")
			}
			return nil
		}
		if gpu := nvidiaFSGPU.FindStringSubmatch(line); gpu != nil {
			return stats.addGPU(gpu[1], gpu[2])
		}
		label, rest, _ := strings.Cut(line, ":")
		return stats.add(strings.TrimSpace(label), strings.TrimSpace(rest))
	})
	if err == nil && !headed {
		err = fmt.Errorf("%w: no statistics of nvidia-fs", errMalformed)
	}
	if err != nil {
		return NvidiaFS{}, err
	}
	return stats, nil
}

func (s *NvidiaFS) addGPU(uuid, text string) error {
	numbers, err := nvidiaFSNumbers(text)
	registered, there := numbers["Registered_MiB"]
	if err != nil || !there || registered > math.MaxInt64>>20 || len(s.GPUs) == maxGPUs {
		return errMalformed
	}
	s.GPUs = append(s.GPUs, NvidiaFSGPU{"GPU-" + strings.ToLower(uuid), registered << 20})
	return nil
}

// add adds a line that is no header.
func (s *NvidiaFS) add(label, rest string) error {
	switch label {
	case "GDS Version":
		s.GDSVersion = rest
		return nil
	case "IO stats":
		s.RWStats = new(strings.HasPrefix(rest, "Enabled"))
		return nil
	case "Active Shadow-Buffer (MiB)":
		mebibytes, err := parseUint(rest)
		if err != nil || mebibytes > math.MaxInt64>>20 {
			return errMalformed
		}
		s.ShadowBufferBytes = new(mebibytes << 20)
		return nil
	}
	numbers, err := nvidiaFSNumbers(rest)
	if err != nil {
		return err
	}
	return s.count(label, numbers)
}

// nvidiaFSOperations are the lines that count operations, by label.
func nvidiaFSOperations() map[string]string {
	return map[string]string{
		"Reads": "read", "Writes": "write", "Batches": "batch", "Sparse Reads": "sparse_read", "Mmap": "mmap", "Bar1-map": "bar1_map",
	}
}

// count adds the numbers of a line to its operation. The line Error has the errors of no particular operation.
func (s *NvidiaFS) count(label string, numbers map[string]uint64) error {
	operation, known := nvidiaFSOperations()[label]
	for key, value := range numbers {
		switch {
		case label == "Error":
			s.Errors[strings.ReplaceAll(key, "-", "_")] = value
		case !known:
		case key == "n":
			s.Operations[operation] = value
		case key == "err":
			s.Errors[operation] = value
		case key == "io_state_err":
			s.Errors[operation+"_io_state"] = value
		case key == "readMiB", key == "writeMiB":
			if value > math.MaxInt64>>20 {
				return errMalformed
			}
			s.Bytes[operation] = value << 20
		}
	}
	return nil
}

// nvidiaFSNumbers reads the key=number parts of a line.
func nvidiaFSNumbers(text string) (map[string]uint64, error) {
	numbers := map[string]uint64{}
	for _, match := range nvidiaFSNumber.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseUint(match[2], 10, 63)
		if err != nil {
			return nil, errMalformed
		}
		numbers[match[1]] = value
	}
	return numbers, nil
}

// HasPeerMemory reports whether a GPU offers its memory to the kernel's peer-to-peer DMA, without which a drive can
// reach it only through nvidia-fs (Documentation/driver-api/pci/p2pdma.rst; drivers/pci/p2pdma.c makes the directory
// when a driver adds memory).
//
//	/sys/bus/pci/drivers/nvidia/0000:41:00.0/p2pmem/size
func HasPeerMemory(sys Dir) (bool, error) {
	const drivers = "bus/pci/drivers/nvidia"
	devices, err := sys.ReadDir(drivers)
	if err != nil {
		return false, unlessMissing(err)
	}
	for _, device := range devices {
		if _, err := sys.Stat(drivers + "/" + device.Name() + "/p2pmem"); err == nil {
			return true, nil
		}
	}
	return false, nil
}
