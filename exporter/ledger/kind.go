package ledger

import "slices"

// Names of the lines of a ledger, values of the label line.
const (
	GPUProcess        = "gpu_process"
	Managed           = "managed"
	Anon              = "anon"
	Shmem             = "shmem"
	Hugetlb           = "hugetlb"
	KernelStack       = "kernel_stack"
	PageTables        = "page_tables"
	Percpu            = "percpu"
	SlabUnreclaimable = "slab_unreclaimable"
	Unattributed      = "unattributed"
	ZFSArc            = "zfs_arc"
	SlabReclaimable   = "slab_reclaimable"
	SwapCache         = "swap_cache"
	PageCache         = "page_cache"
	FreeCMA           = "free_cma"
	Free              = "free"
)

// Kind is a kind of memory, a line of every ledger whose machine has it.
type Kind struct {
	Name string // in the vocabulary
	// Title is the name for people, and Colour the colour (#rrggbb) in terminals, reports and dashboards.
	Title, Colour string
	// Formula has the inputs under the names of their source. Names without a file are fields of /proc/meminfo.
	Formula string
}

// Kinds lists the lines in the order of comparisons and of charts over time, where they are stacked from the first:
// memory that processes and the kernel hold, unattributed memory, reclaimable memory, and free memory. A table of one
// moment is sorted by size instead. The colours of bands are those of Okabe and Ito, which colour-blind people can tell
// apart, with greys for the remainder and for free memory; the other lines of a band have shades of its colour.
func Kinds() []Kind {
	return []Kind{
		{GPUProcess, "GPU-held", "#0072b2", "what the driver says that processes hold, over all devices whose memory comes from the pool or, on a coherent machine, is a NUMA node of it (by the driver's source, not measured); elsewhere there is no such line"},
		{Managed, "other kernel-charged", "#56b4e9", "over the top-level cgroups, memory.stat: kernel - (slab + kernel_stack + pagetables + sec_pagetables + percpu + vmalloc + zswap): CUDA managed memory and the GPU's page tables. A figure of memory.stat may be two seconds old, but then differs by less than 128 pages for each CPU"},
		{Anon, "anonymous", "#d55e00", "AnonPages"},
		{Shmem, "shared", "#cc79a7", "Shmem"},
		{Hugetlb, "reserved huge pages", "#f0e442", "Hugetlb"},
		{KernelStack, "kernel stacks", "#33b591", "KernelStack"},
		{PageTables, "page tables", "#00634a", "PageTables + SecPageTables"},
		{Percpu, "per-CPU", "#8fdcc5", "Percpu"},
		{SlabUnreclaimable, "unreclaimable slab", "#009e73", "SUnreclaim"},
		{Unattributed, "unattributed", "#6b7280", "the pool minus all other lines, signed: pools and buffers of drivers, and what could not be read"},
		{ZFSArc, "ZFS ARC", "#8a5a00", "/proc/spl/kstat/zfs/arcstats: size without headers, which are slab; only where ZFS is loaded"},
		{SlabReclaimable, "reclaimable slab", "#ffd27f", "SReclaimable"},
		{SwapCache, "swap cache", "#6b4500", "SwapCached"},
		{PageCache, "page cache", "#e69f00", "Buffers + Cached - Shmem"},
		{FreeCMA, "free in CMA", "#9aa3ad", "CmaFree: free memory that the kernel gives to movable pages only, such as those of programs and of the page cache; a driver cannot pin it. Only on kernels with CMA"},
		{Free, "free", "#c9ced4", "MemFree - CmaFree"},
	}
}

// Names lists the names of the lines in that order.
func Names() []string {
	var names []string
	for _, kind := range Kinds() {
		names = append(names, kind.Name)
	}
	return names
}

// FreeNames lists the lines that add up to MemFree. What occupies the pool are all other lines.
func FreeNames() []string { return []string{FreeCMA, Free} }

// ReclaimableNames lists the lines that the kernel gives up for an allocation.
func ReclaimableNames() []string { return []string{ZFSArc, SlabReclaimable, SwapCache, PageCache} }

// Named returns the kind of a line. The kind of a line outside the vocabulary has no colour, and its name as title.
func Named(line string) Kind {
	kinds := Kinds()
	if i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == line }); i >= 0 {
		return kinds[i]
	}
	return Kind{Name: line, Title: line}
}

// Band is a group of lines that is drawn as one area: more than nine areas cannot be told apart.
type Band struct {
	// Name is also the class of its colour on pages and in terminals.
	Name  string
	Title string
	// Colour (#rrggbb) is the colour of its largest line.
	Colour string
	Lines  []string
}

// Bands lists the bands, which are stacked in the order of Kinds.
func Bands() []Band {
	of := func(name string, kind Kind) Band { return Band{name, kind.Title, kind.Colour, []string{kind.Name}} }
	return []Band{
		of("gpu", Named(GPUProcess)),
		of("managed", Named(Managed)),
		of("anon", Named(Anon)),
		of("shmem", Named(Shmem)),
		of("huge", Named(Hugetlb)),
		{"kernel", "kernel", Named(SlabUnreclaimable).Colour, []string{KernelStack, PageTables, Percpu, SlabUnreclaimable}},
		of("rest", Named(Unattributed)),
		{"cache", "page cache and reclaimable", Named(PageCache).Colour, ReclaimableNames()},
		{"free", "free", Named(Free).Colour, FreeNames()},
	}
}

// Bytes adds the lines of a band in a ledger.
func (b Band) Bytes(l Ledger) (bytes float64) {
	for _, line := range b.Lines {
		bytes += l[line]
	}
	return bytes
}
