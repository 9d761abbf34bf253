package hostfs

import (
	"math"
)

// Vmstat holds /proc/vmstat by the kernel's names: events since boot, and numbers of pages (nr_).
type Vmstat map[string]uint64

// ReadVmstat reads /proc/vmstat.
//
//	pgmajfault 1203
func ReadVmstat(proc Dir) (Vmstat, error) {
	return parseFile(proc, "vmstat", func(text string) (Vmstat, error) { return parseKeyed(text) })
}

// PageSize works out the page size in bytes, 0 where it cannot: vmstat counts in pages what meminfo
// gives in bytes. buddyinfo and the swap counters are in pages, and the size of the machine that
// runs this program need not be that of the files: a recording of a kernel with pages of 64 KiB
// may be looked at on one with 4 KiB.
//
// Free, anonymous and shared memory together hardly changes between two reads, so that bytes by pages
// is close to the size, which is a power of two. A ratio that is further off than 5 % means that the
// two files do not belong together.
func PageSize(m Meminfo, v Vmstat) int {
	var bytes, pages float64
	for field, counter := range map[string]string{"MemFree": "nr_free_pages", "AnonPages": "nr_anon_pages", "Shmem": "nr_shmem"} {
		amount, inMeminfo := m[field]
		count, inVmstat := v[counter]
		if inMeminfo && inVmstat {
			bytes, pages = bytes+float64(amount), pages+float64(count)
		}
	}
	ratio := bytes / pages
	size := math.Exp2(math.Round(math.Log2(ratio)))
	if !(size >= smallestPage && size <= largestPage && math.Abs(ratio/size-1) <= 0.05) {
		return 0 // NaN, from no bytes and no pages, ends here too
	}
	return int(size)
}

// The page sizes of the architectures that Linux has a GPU driver for, with room to spare.
const (
	smallestPage = 4 << 10
	largestPage  = 256 << 10
)
