package hostfs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Node is a NUMA node in sysfs, with its part of the machine's memory by the names of /proc/meminfo, in bytes. Memory
// of a coherent GPU that is onlined is a node without processors. A node may be without memory: then its MemTotal is 0.
type Node struct {
	ID      int
	Meminfo Meminfo
}

// ReadNodes reads the memory of all NUMA nodes, in order of their numbers. A kernel built without NUMA
// gives fs.ErrNotExist. prometheus/procfs has no parser for these files.
//
//	devices/system/node/node1/meminfo  Node 1 MemTotal:       99090432 kB
func ReadNodes(sys Dir) ([]Node, error) {
	const directory = "devices/system/node"
	entries, err := sys.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for _, entry := range entries {
		id, isNode := nodeID(entry.Name())
		if !isNode {
			continue
		}
		memory, err := parseFile(sys, directory+"/"+entry.Name()+"/meminfo", func(text string) (Meminfo, error) {
			return parseNodeMeminfo(text, id)
		})
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed since it was listed
		case err != nil:
			return nil, err
		default:
			nodes = append(nodes, Node{ID: id, Meminfo: memory})
		}
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	return nodes, nil
}

// nodeID is the number in the name of a node's directory; the other entries there are lists such as online.
func nodeID(directory string) (id int, isNode bool) {
	digits, isNode := strings.CutPrefix(directory, "node")
	number, err := strconv.ParseUint(digits, 10, 31)
	return int(number), isNode && err == nil && number <= math.MaxInt32
}

// parseNodeMeminfo parses the lines of one node, each of which has its number.
func parseNodeMeminfo(text string, id int) (Meminfo, error) {
	prefix := fmt.Sprintf("Node %d ", id)
	memory := make(Meminfo, strings.Count(text, "\n"))
	err := parseLines(text, func(line string) error {
		field, ours := strings.CutPrefix(line, prefix)
		if !ours {
			return errMalformed
		}
		return memory.addField(field)
	})
	if err != nil {
		return nil, err
	}
	if _, there := memory["MemTotal"]; !there {
		return nil, fmt.Errorf("%w: no MemTotal", errMalformed)
	}
	return memory, nil
}

// addField adds a field, unless it is a number of pages, as the HugePages_ fields are.
func (m Meminfo) addField(line string) error {
	name, amount, found := strings.Cut(line, ":")
	if !found || name == "" {
		return errMalformed
	}
	kibibytes, isMemory := strings.CutSuffix(strings.TrimSpace(amount), " kB")
	value, err := parseUint(kibibytes)
	if err != nil || value > math.MaxInt64/1024 {
		return errMalformed
	}
	if isMemory {
		m[name] = value * 1024
	}
	return nil
}
