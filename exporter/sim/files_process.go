package sim

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// directFlag is O_DIRECT on arm64, as fdinfo shows it together with O_RDWR (read and write) and O_CLOEXEC.
const (
	plainFlags  = 0o2000002
	directFlags = 0o2200002
)

func (h *Host) processFiles(at directory, p *process) {
	m := h.machine
	at.line("comm", p.program.Comm)
	at.line("cgroup", "0::"+p.group.path)
	at.file("status", m.processStatus(p))
	at.file("stat", m.processStat(p))
	at.file("io", p.ioText())
	if p.program.Environ != "" {
		at.file("environ", p.program.Environ)
	}
	at.link("ns/pid", hostPIDNamespace)
	at.tree.directories[at.at("fd").path] = true
	for i, open := range p.program.OpenFiles {
		fd := strconv.Itoa(3 + i)
		flags := plainFlags
		if open.Direct {
			flags = directFlags
		}
		target := at.at("root").at(open.Target).path // see hostfs.ReadProcessLink
		at.tree.sizes[target] = max(open.Bytes, 0)
		at.link("fd/"+fd, filepath.Join(h.folder.path, target))
		at.line("fdinfo/"+fd, fmt.Sprintf("pos:\t0\nflags:\t0%o\nmnt_id:\t29\nino:\t%d", flags, 1000+i))
	}
}

// processStatus is /proc/<pid>/status, only the lines about memory, threads and users.
func (m *machine) processStatus(p *process) string {
	resident := p.resident(m)
	all := resident.anon + resident.file + resident.shmem
	var t strings.Builder
	fmt.Fprintf(&t, "Name:\t%s\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t1\nTracerPid:\t0\n",
		p.program.Comm, p.pid, p.pid)
	fmt.Fprintf(&t, "Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t64\nNStgid:\t%d\nNSpid:\t%d\nKthread:\t0\n", p.pid, p.pid)
	for _, field := range []struct {
		name  string
		pages int64
	}{
		{"VmPeak", p.virtual(resident)}, {"VmSize", p.virtual(resident)}, {"VmLck", 0}, {"VmPin", 0}, {"VmHWM", all}, {"VmRSS", all},
		{"RssAnon", resident.anon}, {"RssFile", resident.file}, {"RssShmem", resident.shmem},
		{"VmPTE", p.held[anon] / entriesPerTable}, {"VmSwap", p.swapped}, {"HugetlbPages", 0},
	} {
		fmt.Fprintf(&t, "%s:\t%8d kB\n", field.name, field.pages*pageKiB)
	}
	fmt.Fprintf(&t, "CoreDumping:\t0\nTHP_enabled:\t1\nThreads:\t%d\n", p.program.Threads)
	return t.String()
}

// virtual is the address space: what is resident, the GPU's memory, and as much again as libraries and
// stacks reserve.
func (p *process) virtual(r residence) int64 {
	return r.anon + r.file + r.shmem + p.swapped + p.held[device] + p.held[managed] + int64(p.program.Threads)*2048
}

// processStat is /proc/<pid>/stat, with 0 for what the model does not have.
func (m *machine) processStat(p *process) string {
	resident := p.resident(m)
	started := p.started * 1_000_000 / ticksPerSecond / userTick
	return fmt.Sprintf("%d (%s) S 1 %d %d 0 -1 4194560 0 0 0 0 %d %d 0 0 20 0 %d 0 %d %d %d 18446744073709551615"+
		" 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		p.pid, p.program.Comm, p.pid, p.pid, p.user/userTick, p.system/userTick, p.program.Threads, started,
		p.virtual(resident)*pageBytes, resident.anon+resident.file+resident.shmem)
}

func (p *process) ioText() string {
	return fmt.Sprintf("rchar: %d\nwchar: %d\nsyscr: %d\nsyscw: %d\nread_bytes: %d\nwrite_bytes: %d\ncancelled_write_bytes: 0\n",
		p.io.read, p.io.written, p.io.readCalls, p.io.writtenCalls, p.io.read, p.io.written)
}
