package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// kernelRelease is the kernel release that the files imitate.
const kernelRelease = "6.17.0-1014-nvidia"

// selfPID is the process that reads, the exporter, which is not part of the simulation.
const selfPID = 7001

// hostPIDNamespace is that of the machine (PROC_PID_INIT_INO in the kernel).
const hostPIDNamespace = "pid:[4026531836]"

func (h *Host) procFiles(proc directory) {
	m := h.machine
	proc.file("meminfo", m.meminfo())
	proc.file("vmstat", m.vmstat())
	proc.file("buddyinfo", m.buddyinfo())
	proc.file("diskstats", m.diskstats())
	proc.file("stat", m.stat(h.start))
	proc.line("sys/kernel/osrelease", kernelRelease)
	proc.line("sys/kernel/arch", "aarch64")
	proc.file("pressure/cpu", m.root.stalls[cpuTime].text())
	proc.file("pressure/io", m.root.stalls[diskTraffic].text())
	proc.file("pressure/memory", m.root.stalls[memoryShort].text())
	self := proc.at(strconv.Itoa(selfPID))
	self.link("ns/pid", hostPIDNamespace)
	self.line("status", "Name:\tuma-exporter\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff")
	proc.link("self", strconv.Itoa(selfPID))
	for _, p := range m.processes {
		h.processFiles(proc.at(strconv.FormatUint(uint64(p.pid), 10)), p)
	}
}

// table makes lines of a name and a number.
type table struct{ strings.Builder }

func (t *table) kibibytes(name string, n int64) {
	fmt.Fprintf(t, "%-16s%8d kB\n", name+":", n)
}

func (t *table) row(name string, n int64) {
	t.WriteString(name)
	t.WriteByte(' ')
	t.WriteString(strconv.FormatInt(n, 10))
	t.WriteByte('\n')
}

// meminfo is /proc/meminfo. Buffers, the page cache of block devices, is a file like others in the model.
func (m *machine) meminfo() string {
	total := &m.root.memory
	buffers := m.buffers()
	var t table
	for _, field := range []struct {
		name  string
		pages int64
	}{
		{"MemTotal", m.pool}, {"MemFree", m.free}, {"MemAvailable", m.available()},
		{"Buffers", buffers}, {"Cached", total.file() + total[shmem] - buffers}, {"SwapCached", 0},
		{"Active", total[anonActive] + total[fileActive]}, {"Inactive", total[anonInactive] + total[shmem] + total[fileInactive]},
		{"Active(anon)", total[anonActive]}, {"Inactive(anon)", total[anonInactive] + total[shmem]},
		{"Active(file)", total[fileActive]}, {"Inactive(file)", total[fileInactive]},
		{"Unevictable", 0}, {"Mlocked", 0},
		{"SwapTotal", m.swapTotal}, {"SwapFree", m.swapFree()}, {"Zswap", 0}, {"Zswapped", 0},
		{"Dirty", total[fileDirty]}, {"Writeback", 0},
		{"AnonPages", total.anon()}, {"Mapped", m.mapped()}, {"Shmem", total[shmem]},
		{"KReclaimable", total[slabReclaimable]}, {"Slab", total.slab()},
		{"SReclaimable", total[slabReclaimable]}, {"SUnreclaim", total[slabUnreclaimable]},
		{"KernelStack", total[kernelStack]}, {"PageTables", total[pageTables]}, {"SecPageTables", total[secPageTables]},
		{"NFS_Unstable", 0}, {"Bounce", 0}, {"WritebackTmp", 0},
		{"CommitLimit", m.pool/2 + m.swapTotal}, {"Committed_AS", total.anon() + total[swapped] + total[shmem]},
	} {
		t.kibibytes(field.name, field.pages*pageKiB)
	}
	fmt.Fprintf(&t, "VmallocTotal:   133009506240 kB\n")
	t.kibibytes("VmallocUsed", (total[vmalloc]+total[kernelStack])*pageKiB)
	t.kibibytes("VmallocChunk", 0)
	t.kibibytes("Percpu", total[percpu]*pageKiB)
	for _, name := range []string{"HardwareCorrupted", "AnonHugePages", "ShmemHugePages", "ShmemPmdMapped", "FileHugePages", "FilePmdMapped"} {
		t.kibibytes(name, 0)
	}
	t.WriteString("HugePages_Total:       0\nHugePages_Free:        0\nHugePages_Rsvd:        0\nHugePages_Surp:        0\n")
	t.kibibytes("Hugepagesize", 2048)
	t.kibibytes("Hugetlb", 0)
	return t.String()
}

// buffers is the page cache of block devices.
func (m *machine) buffers() int64 {
	for _, e := range m.cache {
		if e.file.name == blockDevices {
			return e.pages
		}
	}
	return 0
}

// mapped is the memory of files, shared memory and the driver that processes have mapped; the kernel counts pages of
// the driver like those of files once they are in page tables.
func (m *machine) mapped() int64 {
	n := m.root.memory[fileMapped]
	if m.config.Pinned == PinnedIsDriverMemory {
		for _, p := range m.processes {
			n += p.held[pinned]
		}
	}
	return n
}

func (m *machine) vmstat() string {
	total, moved := &m.root.memory, &m.disk.total
	var t table
	for _, row := range []struct {
		name string
		n    int64
	}{
		{"nr_free_pages", m.free},
		{"nr_inactive_anon", total[anonInactive] + total[shmem]}, {"nr_active_anon", total[anonActive]},
		{"nr_inactive_file", total[fileInactive]}, {"nr_active_file", total[fileActive]},
		{"nr_unevictable", 0}, {"nr_mlock", 0},
		{"nr_slab_reclaimable", total[slabReclaimable]}, {"nr_slab_unreclaimable", total[slabUnreclaimable]},
		{"nr_anon_pages", total.anon()}, {"nr_mapped", m.mapped()}, {"nr_file_pages", total.file() + total[shmem]},
		{"nr_dirty", total[fileDirty]}, {"nr_writeback", 0}, {"nr_shmem", total[shmem]},
		{"nr_kernel_stack", total[kernelStack] * pageKiB}, {"nr_page_table_pages", total[pageTables]},
		{"nr_sec_page_table_pages", total[secPageTables]}, {"nr_swapcached", 0},
		{"pgpgin", moved[reading].bytes / 1024}, {"pgpgout", moved[writing].bytes / 1024},
		{"pswpin", m.counts.swappedIn}, {"pswpout", m.counts.swappedOut},
		{"pgfault", total[pageFaults]}, {"pgmajfault", total[majorFaults]},
		{"pgscan_file", total[pagesScanned]}, {"pgsteal_file", total[pagesStolen]},
		{"allocstall_normal", m.counts.directReclaims}, {"drop_pagecache", m.counts.cacheDrops},
		{"compact_stall", m.counts.compactStalls}, {"compact_fail", m.counts.compactFailures},
		{"compact_success", m.counts.compactStalls - m.counts.compactFailures},
		{"oom_kill", m.counts.kills},
	} {
		t.row(row.name, row.n)
	}
	return t.String()
}

func (m *machine) buddyinfo() string {
	var t strings.Builder
	for _, z := range m.zones() {
		fmt.Fprintf(&t, "Node 0, zone %8s ", z.name)
		for _, blocks := range z.blocks {
			fmt.Fprintf(&t, "%6d ", blocks)
		}
		t.WriteByte('\n')
	}
	return t.String()
}

// The first partition, with the firmware's files, was read when the machine was booted; all else goes to the second.
const (
	bootRequests, bootSectors, bootMilliseconds = 512, 18244, 61
)

func (m *machine) diskstats() string {
	var t strings.Builder
	d := &m.disk
	line := func(minor int, name string, lessRequests, lessSectors, lessMilliseconds int64) {
		read, written := d.total[reading], d.total[writing]
		readMS, writtenMS := read.nanoseconds/1e6-lessMilliseconds, written.nanoseconds/1e6
		flushes, flushMS := d.flushes.requests, d.flushes.nanoseconds/1e6
		if minor != 0 {
			flushes, flushMS = 0, 0 // counted for whole devices only
		}
		fmt.Fprintf(&t, " %d %7d %s %d 0 %d %d %d 0 %d %d %d %d %d 0 0 0 0 %d %d\n", diskMajor, minor, name,
			read.requests-lessRequests, read.bytes/512-lessSectors, readMS,
			written.requests, written.bytes/512, writtenMS,
			d.inFlight, d.busy/1e6, readMS+writtenMS+flushMS, flushes, flushMS)
	}
	line(0, diskName, 0, 0, 0)
	fmt.Fprintf(&t, " %d %7d %sp1 %d 0 %d %d 0 0 0 0 0 %d %d 0 0 0 0 0 0\n", diskMajor, 1, diskName,
		bootRequests, bootSectors, bootMilliseconds, bootMilliseconds, bootMilliseconds)
	line(2, diskName+"p2", bootRequests, bootSectors, bootMilliseconds)
	return t.String()
}

// stat is /proc/stat, whose CPUs share everything evenly in the model.
func (m *machine) stat(start time.Time) string {
	var t strings.Builder
	c := &m.cpu
	columns := [...]int64{c.user, 0, c.system, c.idle, c.ioWait, c.irq, c.softIRQ, 0, 0, 0}
	write := func(name string, part func(ticks int64) int64) {
		t.WriteString(name)
		for _, microseconds := range columns {
			fmt.Fprintf(&t, " %d", part(microseconds/userTick))
		}
		t.WriteByte('\n')
	}
	write("cpu ", func(ticks int64) int64 { return ticks })
	for cpu := range int64(cpus) {
		write(fmt.Sprintf("cpu%d", cpu), func(ticks int64) int64 { return (ticks + cpu) / cpus })
	}
	fmt.Fprintf(&t, "btime %d\nprocesses %d\nprocs_running 1\nprocs_blocked 0\n", start.Add(-uptime).Unix(), m.nextPID)
	return t.String()
}

// userTick is the unit of CPU times in procfs, in microseconds (USER_HZ is 100).
const userTick = 10_000

// text is a file of pressure. For the whole machine the kernel writes 0 for tasks that all wait for a CPU.
func (s *stall) text() string {
	return "some " + s.someAverage.text(s.some) + "full " + s.fullAverage.text(s.full)
}

func (a *averages) text(total int64) string {
	var t strings.Builder
	for i, name := range []string{"avg10", "avg60", "avg300"} {
		share := a.shares[i]
		fmt.Fprintf(&t, "%s=%d.%02d ", name, share>>fixedBits, share&(fixedOne-1)*100>>fixedBits)
	}
	fmt.Fprintf(&t, "total=%d\n", total)
	return t.String()
}
