package hostfs

import (
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/procfs"
)

// ReadBuddyinfo reads /proc/buddyinfo: for each zone of each node the number of free blocks of 2^order pages, by order.
//
//	Node 0, zone   Normal   2544    637    994   1117    800    692    536    412    295    204    382
func ReadBuddyinfo(proc Dir) ([]procfs.BuddyInfo, error) {
	return readProcfs(proc, "buddyinfo", func(tree procfs.FS) ([]procfs.BuddyInfo, error) {
		zones, err := tree.BuddyInfo()
		if err != nil {
			return nil, err
		}
		for _, zone := range zones {
			if orders := len(zone.Sizes); orders == 0 || orders > maxOrders || slices.ContainsFunc(zone.Sizes, isNoCount) {
				return nil, fmt.Errorf("%w: %s", errMalformed, excerpt(fmt.Sprint(zone)))
			}
		}
		return zones, nil
	})
}

// maxOrders is above the maximum of any kernel: 11 is usual, 14 the most (arm64 with pages of 64 KiB).
const maxOrders = 32

// isNoCount finds what procfs takes for a number of blocks and is none: NaN, Inf, -1.
func isNoCount(count float64) bool { return !(count >= 0 && count <= math.MaxUint64) }

// FreeContiguousBytes is the free memory in blocks of at least minBlock bytes, over all zones, for the page size of the
// kernel that wrote the file.
func FreeContiguousBytes(zones []procfs.BuddyInfo, minBlock uint64, pageSize int) float64 {
	sum := 0.0
	for _, zone := range zones {
		for order, count := range zone.Sizes {
			if block := uint64(pageSize) << order; block >= minBlock {
				sum += count * float64(block)
			}
		}
	}
	return sum
}
