package sim

import "fmt"

// trees are the file systems of a machine, valid until its topology changes: the content of files is generated on read.
type trees struct {
	topology int64
	roots    [roots]*node
}

// tree is a file system as it is now. The host's mutex must be held.
func (h *Host) tree(r root) *node {
	known := h.trees.Load()
	if known == nil || known.topology != h.machine.topology {
		known = &trees{h.machine.topology, [roots]*node{h.procFiles(), h.machine.sysFiles(), h.machine.cgroupFiles()}}
		h.trees.Store(known)
	}
	return known.roots[r]
}

// number is the text of a file with one number.
func number(n func() int64) func() string {
	return func() string { return fmt.Sprintf("%d\n", n()) }
}
