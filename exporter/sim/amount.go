package sim

// pageBytes is the page size of the simulated kernel. All memory is counted in pages, so that all figures shown agree
// to the byte.
const (
	pageBytes = 4096
	pageKiB   = pageBytes / 1024
	mebibyte  = (1 << 20) / pageBytes // pages
	gibibyte  = (1 << 30) / pageBytes // pages
)

// maxBytes is the maximum of every size that a caller gives, far above any machine, so that sums cannot overflow.
const maxBytes = 1 << 50

// pages returns the number of pages for a number of bytes; negative sizes give 0.
func pages(bytes int64) int64 {
	return (min(max(bytes, 0), maxBytes) + pageBytes - 1) / pageBytes
}

// kind is a kind of memory, or a count, as memory.stat lists them.
type kind int

const (
	anonActive kind = iota
	anonInactive
	shmem
	fileActive // page cache of files, without shared memory
	fileInactive
	kernelStack
	pageTables
	secPageTables
	percpu
	vmalloc
	slabReclaimable
	slabUnreclaimable
	kernelOther // charged kernel memory that memory.stat does not list: managed memory and page tables of the GPU
	sock

	// The kinds up to here add up to what is charged; those that follow break it down further, or count.
	fileDirty
	fileMapped
	swapped
	pageFaults
	majorFaults
	pagesScanned
	pagesStolen

	kinds
)

const chargedKinds = fileDirty

// amounts are pages, or events, by kind.
type amounts [kinds]int64

// charged is the memory in it.
func (a *amounts) charged() int64 {
	var sum int64
	for _, n := range a[:chargedKinds] {
		sum += n
	}
	return sum
}

func (a *amounts) anon() int64 { return a[anonActive] + a[anonInactive] }
func (a *amounts) file() int64 { return a[fileActive] + a[fileInactive] }
func (a *amounts) slab() int64 { return a[slabReclaimable] + a[slabUnreclaimable] }

// kernel is all kernel memory in it.
func (a *amounts) kernel() int64 {
	return a[kernelStack] + a[pageTables] + a[secPageTables] + a[percpu] + a[vmalloc] + a.slab() + a[kernelOther]
}

func (a *amounts) minus(b *amounts) amounts {
	difference := *a
	for k, n := range b {
		difference[k] -= n
	}
	return difference
}
