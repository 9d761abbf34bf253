package collector

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
)

// On a coherent machine such as GH200 the driver can hand the GPU's own memory to the kernel as a NUMA node, from which
// it takes pages again as processes allocate (os_alloc_pages_node in NVIDIA's open kernel modules). Such pages are in
// MemTotal and in no other field of meminfo: only the driver reports them. Drivers up to 595 charge them to no cgroup;
// later ones can (NV_ALLOC_PAGES_NODE_DO_ACCOUNT), and then they are kernel memory of it and so in the ledger's line
// managed too, which leaves unattributed negative by as much. This follows from the sources; it has not been measured.

// isNode reports whether a device's memory is a node of the pool.
func isNode(device nvml.Device) bool { return device.Architecture == nvml.CoherentNUMA }

// poolNodes are the kernel's figures of the nodes that make up the pool; err is why they are missing.
type poolNodes struct {
	total uint64 // MemTotal of the machine, in bytes
	nodes []hostfs.Node
	err   error
}

// contains returns nil if the memory of a node is part of MemTotal, else why that is uncertain. It is part of it if the
// memory of all nodes adds up to MemTotal, within one part in a thousand, which may come or go between two files.
func (p poolNodes) contains(id *int) error {
	switch {
	case errors.Is(p.err, fs.ErrNotExist):
		return errors.New("the kernel shows no NUMA nodes, so whether its memory is in the pool is unknown")
	case p.err != nil:
		return p.err
	case id == nil:
		return errors.New("the driver does not report which NUMA node its memory is")
	}
	var sum, own uint64
	for _, node := range p.nodes {
		sum += node.Meminfo["MemTotal"]
		if node.ID == *id {
			own = node.Meminfo["MemTotal"]
		}
	}
	if own == 0 {
		return fmt.Errorf("its NUMA node %d has no memory: it is not onlined", *id)
	}
	if difference := max(sum, p.total) - min(sum, p.total); difference > p.total/1000 {
		return fmt.Errorf("the memory of all NUMA nodes is %d bytes and that of the machine %d: it is unknown whether node %d is in the pool", sum, p.total, *id)
	}
	return nil
}
