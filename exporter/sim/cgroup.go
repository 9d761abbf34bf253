package sim

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// noLimit is memory.max and memory.high of a cgroup without them.
const noLimit = -1

// group is a cgroup. Its counts include everything below it, as in the kernel, and outlive it: page cache of a
// container that has ended stays charged to the slice above.
type group struct {
	path     string
	parent   *group // nil for the root
	children []*group

	memory    amounts
	peak      int64 // pages
	max, high int64 // pages, or noLimit
	events    memoryEvents
	io        diskCounts
	cpu       computed
	stalls    [resources]stall
	processes int // in the group itself
}

// computed is CPU time in microseconds.
type computed struct{ user, system int64 }

// compute counts CPU time here and in all groups above. The root has that of the whole machine, as in the kernel.
func (g *group) compute(user, system int64) {
	for at := g; at != nil; at = at.parent {
		at.cpu.user += user
		at.cpu.system += system
	}
}

// memoryEvents are the counts of memory.events.
type memoryEvents struct{ high, max, oom, oomKill int64 }

func newGroup(path string, parent *group) *group {
	return &group{path: path, parent: parent, max: noLimit, high: noLimit}
}

// add charges pages of a kind, or gives them back.
func (g *group) add(k kind, n int64) {
	for at := g; at != nil; at = at.parent {
		at.memory[k] += n
		if k < chargedKinds && n > 0 {
			at.peak = max(at.peak, at.memory.charged())
		}
	}
}

func (g *group) addAll(change *amounts) {
	for k, n := range change {
		if n != 0 {
			g.add(kind(k), n)
		}
	}
}

// holds reports whether the other group is this one or below it.
func (g *group) holds(other *group) bool {
	for at := other; at != nil; at = at.parent {
		if at == g {
			return true
		}
	}
	return false
}

// note counts an event here and in all groups above, as memory.events does.
func (g *group) note(count func(*memoryEvents)) {
	for at := g; at != nil; at = at.parent {
		count(&at.events)
	}
}

// groupAt finds the group at a path, nil if there is none.
func (m *machine) groupAt(path string) *group {
	at := m.root
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name == "" {
			continue
		}
		i, found := at.find(name)
		if !found {
			return nil
		}
		at = at.children[i]
	}
	return at
}

// find looks for a child by its name.
func (g *group) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(g.children, name, func(child *group, name string) int {
		return cmp.Compare(path.Base(child.path), name)
	})
}

// makeGroup finds the group at a path and makes it, with its parents, if there is none. A group costs kernel memory for
// itself: counters on every CPU.
func (m *machine) makeGroup(name string) *group {
	at := m.root
	for part := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		if part == "" {
			continue
		}
		i, found := at.find(part)
		if !found {
			child := newGroup(path.Join(at.path, part), at)
			at.children = slices.Insert(at.children, i, child)
			m.force(child, groupCost())
		}
		at = at.children[i]
	}
	return at
}

// groupCost is the memory of a cgroup itself; percpu is one page for every second CPU.
func groupCost() *amounts {
	return &amounts{percpu: cpus / 2, slabUnreclaimable: 24}
}

// leave is called when a process has left a group. As systemd does, it removes an empty scope. Page cache that is still
// charged to the scope stays with the groups above.
func (m *machine) leave(g *group) {
	g.processes--
	if g.processes > 0 || g.parent == nil || !strings.HasSuffix(g.path, ".scope") || len(g.children) > 0 {
		return
	}
	m.give(g, groupCost(), scatteredAtOnce)
	for _, e := range m.cache {
		if e.group == g {
			e.group = g.parent
		}
	}
	i, _ := g.parent.find(path.Base(g.path))
	g.parent.children = slices.Delete(g.parent.children, i, i+1)
}

// walkGroups calls visit for a group and all below it, in order of paths.
func walkGroups(g *group, visit func(*group)) {
	visit(g)
	for _, child := range g.children {
		walkGroups(child, visit)
	}
}
