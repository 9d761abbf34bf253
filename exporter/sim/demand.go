package sim

import "math"

// Demand is the load of a process, in plain numbers. It takes effect at the next tenth of a second of the host's clock,
// as far as the machine can serve it. Negative numbers and NaN count as zero; ratios are capped at 1.
type Demand struct {
	// DeviceBytes is memory of cudaMalloc. It is charged to no cgroup and listed by the driver; the page tables of the
	// GPU for it, 2 MiB a GiB, are charged. It includes what a CUDA context needs.
	DeviceBytes int64
	// PinnedBytes is memory of cudaMallocHost; see PinnedRule.
	PinnedBytes int64
	// ManagedBytes is memory of cudaMallocManaged: charged as kernel memory, not listed by the driver.
	ManagedBytes int64
	// AnonBytes is memory of malloc, also where the GPU uses it (ATS). ShmemBytes is shared memory.
	AnonBytes, ShmemBytes int64

	// BusyRatio is the share of the time in which the process keeps the GPU busy, CPUs how many CPUs.
	BusyRatio, CPUs float64

	// Read is a file that is read through the page cache, once from the beginning; another name, or "" and the name
	// again, starts a new pass. Write is written in the same way.
	Read, Write FileTransfer
	// DirectReadBytesPerSecond and DirectWriteBytesPerSecond pass by the page cache (O_DIRECT).
	DirectReadBytesPerSecond, DirectWriteBytesPerSecond int64
	// DirectReadMostBytes and DirectWriteMostBytes are the maximum moved in this way since the process started, however
	// late the next demand comes; 0 is no limit.
	DirectReadMostBytes, DirectWriteMostBytes int64

	// RDMAReceiveBytesPerSecond and RDMATransmitBytesPerSecond go over the cable to the other machine (Config.Cable),
	// as far as the link can; without a cable they are dropped. They are not in the counters of any interface.
	RDMAReceiveBytesPerSecond, RDMATransmitBytesPerSecond int64
}

// FileTransfer is a sequential pass over a file of the host (Host.AddFile).
type FileTransfer struct {
	File           string
	BytesPerSecond int64
}

// want is a demand in the units of the model.
type want struct {
	held                    [holdings]int64 // pages
	busy                    int64           // millionths
	milliCPUs               int64
	read, write             FileTransfer
	directRead, directWrite int64 // bytes per second
	mostRead, mostWritten   int64 // of these, in bytes since the start; 0 is no limit
	received, transmitted   int64 // by RDMA, bytes per second
}

const millionths = 1_000_000

func (d *Demand) want() want {
	w := want{
		busy: ratio(d.BusyRatio, millionths), milliCPUs: ratio(d.CPUs/cpus, cpus*1000),
		read: d.Read, write: d.Write,
		directRead: bounded(d.DirectReadBytesPerSecond), directWrite: bounded(d.DirectWriteBytesPerSecond),
		mostRead: max(0, d.DirectReadMostBytes), mostWritten: max(0, d.DirectWriteMostBytes),
		received: bounded(d.RDMAReceiveBytesPerSecond), transmitted: bounded(d.RDMATransmitBytesPerSecond),
	}
	w.held[device] = pages(d.DeviceBytes)
	w.held[pinned] = pages(d.PinnedBytes)
	w.held[managed] = pages(d.ManagedBytes)
	w.held[anon] = pages(d.AnonBytes)
	w.held[shared] = pages(d.ShmemBytes)
	w.read.BytesPerSecond = bounded(d.Read.BytesPerSecond)
	w.write.BytesPerSecond = bounded(d.Write.BytesPerSecond)
	return w
}

// ratio converts a share, at most 1, to whole parts.
func ratio(share float64, one int64) int64 {
	if !(share > 0) { // NaN too
		return 0
	}
	return int64(math.Round(min(share, 1) * float64(one)))
}

func bounded(n int64) int64 { return min(max(n, 0), maxBytes) }

// Status is the state of a process.
type Status struct {
	// Alive is false once it has been stopped or killed; Killed reports that it was for lack of memory.
	Alive, Killed bool
	// DeviceBytes, PinnedBytes, ManagedBytes, AnonBytes and ShmemBytes are what it holds now. Anonymous memory that is
	// swapped out is in SwappedBytes instead.
	DeviceBytes, PinnedBytes, ManagedBytes, AnonBytes, ShmemBytes, SwappedBytes int64
	// Refusals counts the allocations of the driver that failed. A failed allocation is refused whole, without an OOM
	// kill, and is tried again only after the demand has changed.
	Refusals int64
	// ReadBytes and WrittenBytes are its /proc/<pid>/io: what it moved from and to the drive.
	ReadBytes, WrittenBytes uint64
	// ReadLeftBytes and WriteLeftBytes are the remainders of the passes over the files.
	ReadLeftBytes, WriteLeftBytes int64
}

func (p *process) status() Status {
	return Status{
		Alive: p.alive, Killed: p.killed, Refusals: p.refusals,
		DeviceBytes: p.held[device] * pageBytes, PinnedBytes: p.held[pinned] * pageBytes,
		ManagedBytes: p.held[managed] * pageBytes, AnonBytes: p.held[anon] * pageBytes,
		ShmemBytes: p.held[shared] * pageBytes, SwappedBytes: p.swapped * pageBytes,
		ReadBytes: uint64(p.io.read), WrittenBytes: uint64(p.io.written),
		ReadLeftBytes: p.reading.remaining * pageBytes, WriteLeftBytes: p.writing.remaining * pageBytes,
	}
}
