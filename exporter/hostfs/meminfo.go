package hostfs

import (
	"fmt"
	"math"

	"github.com/prometheus/procfs"
)

// Meminfo holds amounts of /proc/meminfo in bytes, by the kernel's names. A field that the kernel lacks is missing.
type Meminfo map[string]uint64

// ReadMeminfo reads the fields of /proc/meminfo that figures are made of. Without MemTotal it is an error: then it is
// another file. A line that is no field is left out.
//
//	MemAvailable:   118566368 kB
func ReadMeminfo(proc Dir) (Meminfo, error) {
	return readProcfs(proc, "meminfo", func(tree procfs.FS) (Meminfo, error) {
		read, err := tree.Meminfo()
		if err != nil {
			return nil, err
		}
		return meminfoInBytes(read)
	})
}

// meminfoInBytes converts the amounts itself: those in bytes that procfs has wrap without an error.
func meminfoInBytes(read procfs.Meminfo) (Meminfo, error) {
	fields := []struct {
		name      string
		kibibytes *uint64
	}{
		{"MemTotal", read.MemTotal}, {"MemFree", read.MemFree}, {"MemAvailable", read.MemAvailable}, {"Dirty", read.Dirty},
		{"SwapTotal", read.SwapTotal}, {"SwapFree", read.SwapFree}, {"SwapCached", read.SwapCached},
		{"Buffers", read.Buffers}, {"Cached", read.Cached}, {"AnonPages", read.AnonPages}, {"Shmem", read.Shmem},
		{"SReclaimable", read.SReclaimable}, {"SUnreclaim", read.SUnreclaim}, {"Percpu", read.Percpu},
		{"KernelStack", read.KernelStack}, {"PageTables", read.PageTables}, {"SecPageTables", read.SecPageTables},
		{"Hugetlb", read.Hugetlb}, {"Hugepagesize", read.Hugepagesize}, {"CmaTotal", read.CmaTotal}, {"CmaFree", read.CmaFree},
	}
	meminfo := make(Meminfo, len(fields))
	for _, field := range fields {
		switch {
		case field.kibibytes == nil:
		case *field.kibibytes > math.MaxInt64/1024:
			return nil, fmt.Errorf("%w: %s is %d", errMalformed, field.name, *field.kibibytes)
		default:
			meminfo[field.name] = *field.kibibytes * 1024
		}
	}
	if meminfo["MemTotal"] == 0 {
		return nil, fmt.Errorf("%w: no MemTotal", errMalformed)
	}
	return meminfo, nil
}
