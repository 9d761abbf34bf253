package hostfs

import (
	"strings"
)

// BuddyZone is the free memory of one zone of one node in the page allocator.
type BuddyZone struct {
	Node, Zone string
	// FreeBlocks is the number of free blocks of 2^order pages, by order.
	FreeBlocks []uint64
}

// ReadBuddyinfo reads /proc/buddyinfo.
//
//	Node 0, zone   Normal   2544    637    994   1117    800    692    536    412    295    204    382
func ReadBuddyinfo(proc Dir) ([]BuddyZone, error) {
	return parseFile(proc, "buddyinfo", parseBuddyinfo)
}

// maxOrders is above the maximum of any kernel: 11 is usual, 14 the most (arm64 with pages of 64 KiB).
const maxOrders = 32

func parseBuddyinfo(text string) ([]BuddyZone, error) {
	var zones []BuddyZone
	err := parseLines(text, func(line string) error {
		zone, err := parseBuddyZone(line)
		zones = append(zones, zone)
		return err
	})
	if err != nil {
		return nil, err
	}
	return zones, nil
}

func parseBuddyZone(line string) (BuddyZone, error) {
	fields := strings.Fields(line)
	if len(fields) < 5 || len(fields) > 4+maxOrders || fields[0] != "Node" || fields[2] != "zone" {
		return BuddyZone{}, errMalformed
	}
	zone := BuddyZone{Node: strings.TrimSuffix(fields[1], ","), Zone: fields[3], FreeBlocks: make([]uint64, len(fields)-4)}
	for order, field := range fields[4:] {
		count, err := parseUint(field)
		if err != nil {
			return BuddyZone{}, errMalformed
		}
		zone.FreeBlocks[order] = count
	}
	return zone, nil
}

// FreeContiguousBytes is the free memory in blocks of at least minBlock bytes, over all zones, for
// the page size of the kernel that wrote the file. It is a float so that a corrupt file cannot wrap it.
func FreeContiguousBytes(zones []BuddyZone, minBlock uint64, pageSize int) float64 {
	sum := 0.0
	for _, zone := range zones {
		for order, count := range zone.FreeBlocks {
			if block := uint64(pageSize) << order; block >= minBlock {
				sum += float64(count) * float64(block)
			}
		}
	}
	return sum
}
