package hostfs

import (
	"fmt"
	"strings"
)

// ReadARCBytes reads how much memory the ZFS cache holds that no field of /proc/meminfo counts, from
// /proc/spl/kstat/zfs/arcstats. Without ZFS it gives fs.ErrNotExist.
//
//	size                            4    17142194176
//
// That is size without the parts of it (arc_space_type_t in arc_impl.h of OpenZFS) that are objects of
// slab caches: headers, dnodes, dbufs and bonus buffers, which meminfo counts in Slab. The blocks
// themselves are pages that ZFS takes from the page allocator.
func ReadARCBytes(proc Dir) (uint64, error) {
	return parseFile(proc, "spl/kstat/zfs/arcstats", parseARC)
}

func arcPartsInSlab() []string {
	return []string{"hdr_size", "l2_hdr_size", "dbuf_size", "dnode_size", "bonus_size"}
}

// parseARC reads a kstat table: a line of identity, the column names, then name, type and value.
func parseARC(text string) (uint64, error) {
	sizes := map[string]uint64{}
	lines := 0
	err := parseLines(text, func(line string) error {
		lines++
		fields := strings.Fields(line)
		if lines <= 2 || len(fields) != 3 || !strings.HasSuffix(fields[0], "size") {
			return nil
		}
		value, err := parseUint(fields[2])
		sizes[fields[0]] = value
		return err
	})
	if err != nil {
		return 0, err
	}
	size, found := sizes["size"]
	if !found {
		return 0, fmt.Errorf("%w: no size", errMalformed)
	}
	for _, part := range arcPartsInSlab() {
		// The counters are summed lazily over CPUs, so that the parts can exceed the whole for a moment.
		size -= min(size, sizes[part])
	}
	return size, nil
}
