package sim

import (
	"fmt"
	"strconv"
	"strings"
)

const controllers = "cpuset cpu io memory hugetlb pids rdma misc dmem"

// groupFiles adds a group and all below it to a directory. The root has no limits and no figures of its own, so half of
// the files are missing there, as in the kernel.
func (m *machine) groupFiles(at directory, g *group) {
	at.line("cgroup.controllers", controllers)
	at.file("cgroup.procs", m.procs(g))
	at.file("memory.stat", g.memoryStat())
	at.file("io.stat", g.io.text())
	if g.parent == nil {
		at.file("cpu.stat", m.cpu.computed().text())
	} else {
		at.file("cpu.stat", g.cpu.text())
		at.number("memory.current", g.memory.charged()*pageBytes)
		at.number("memory.peak", g.peak*pageBytes)
		at.file("memory.max", limitText(g.max))
		at.file("memory.high", limitText(g.high))
		at.number("memory.swap.current", g.memory[swapped]*pageBytes)
		at.file("memory.swap.max", limitText(noLimit))
		at.file("memory.events", g.eventsText())
		at.number("pids.current", m.tasks(g))
		at.file("cpu.pressure", g.stalls[cpuTime].text())
		at.file("io.pressure", g.stalls[diskTraffic].text())
		at.file("memory.pressure", g.stalls[memoryShort].text())
	}
	for _, child := range g.children {
		m.groupFiles(at.at(strings.TrimPrefix(child.path[len(g.path):], "/")), child)
	}
}

func limitText(pages int64) string {
	if pages == noLimit {
		return "max\n"
	}
	return strconv.FormatInt(pages*pageBytes, 10) + "\n"
}

func (m *machine) procs(g *group) string {
	var t strings.Builder
	for _, p := range m.processes {
		if p.group == g {
			fmt.Fprintf(&t, "%d\n", p.pid)
		}
	}
	return t.String()
}

// tasks counts the threads of a group and of those below it.
func (m *machine) tasks(g *group) int64 {
	var n int64
	for _, p := range m.processes {
		if g.holds(p.group) {
			n += int64(p.program.Threads)
		}
	}
	return n
}

// text is cpu.stat of a group without a quota.
func (c computed) text() string {
	return fmt.Sprintf("usage_usec %d\nuser_usec %d\nsystem_usec %d\nnice_usec 0\n", c.user+c.system, c.user, c.system)
}

// memoryStat is memory.stat, in the order of the kernel (memory_stats in mm/memcontrol.c).
func (g *group) memoryStat() string {
	a := &g.memory
	var t table
	for _, row := range []struct {
		name  string
		pages int64
	}{
		{"anon", a.anon()}, {"file", a.file() + a[shmem]}, {"kernel", a.kernel()}, {"kernel_stack", a[kernelStack]},
		{"pagetables", a[pageTables]}, {"sec_pagetables", a[secPageTables]}, {"percpu", a[percpu]}, {"sock", a[sock]},
		{"vmalloc", a[vmalloc]}, {"shmem", a[shmem]}, {"zswap", 0}, {"zswapped", 0}, {"file_mapped", a[fileMapped]},
		{"file_dirty", a[fileDirty]}, {"file_writeback", 0}, {"swapcached", 0}, {"anon_thp", 0}, {"file_thp", 0}, {"shmem_thp", 0},
		{"inactive_anon", a[anonInactive] + a[shmem]}, {"active_anon", a[anonActive]},
		{"inactive_file", a[fileInactive]}, {"active_file", a[fileActive]}, {"unevictable", 0},
		{"slab_reclaimable", a[slabReclaimable]}, {"slab_unreclaimable", a[slabUnreclaimable]}, {"slab", a.slab()},
	} {
		t.row(row.name, row.pages*pageBytes)
	}
	t.row("pgscan", a[pagesScanned])
	t.row("pgsteal", a[pagesStolen])
	t.row("pgfault", a[pageFaults])
	t.row("pgmajfault", a[majorFaults])
	return t.String()
}

func (g *group) eventsText() string {
	return fmt.Sprintf("low 0\nhigh %d\nmax %d\noom %d\noom_kill %d\noom_group_kill 0\n",
		g.events.high, g.events.max, g.events.oom, g.events.oomKill)
}

// text is io.stat; a group without I/O has no line.
func (c *diskCounts) text() string {
	if *c == (diskCounts{}) {
		return ""
	}
	return fmt.Sprintf("%d:0 rbytes=%d wbytes=%d rios=%d wios=%d dbytes=0 dios=0\n", diskMajor,
		c[reading].bytes, c[writing].bytes, c[reading].requests, c[writing].requests)
}
