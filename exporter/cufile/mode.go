package cufile

// Mode is the way by which a process reads and writes files.
type Mode string

// The modes.
const (
	Absent  Mode = "absent"  // neither by cuFile nor past the page cache, as far as is visible
	Posix   Mode = "posix"   // past the page cache, without cuFile
	Compat  Mode = "compat"  // by cuFile, which uses POSIX reads and writes and copies
	NVFS    Mode = "nvfs"    // by cuFile through the kernel module nvidia-fs
	P2PDMA  Mode = "p2pdma"  // by cuFile through the kernel's peer-to-peer DMA
	Unknown Mode = "unknown" // the evidence does not decide it
)

// Modes lists them all.
func Modes() []Mode { return []Mode{Absent, Posix, Compat, NVFS, P2PDMA, Unknown} }

// Evidence is what is visible of a process from outside. It does not prove that data has moved; only the counters of
// nvidia-fs prove that data moved through it.
type Evidence struct {
	// Inspected reports that all mappings and descriptors could be read.
	Inspected bool
	// Loaded reports that the library is mapped. That alone is weak evidence: PyTorch loads it too.
	Loaded bool
	// RDMALoaded reports that its half for network file systems is mapped, by which data can move too.
	RDMALoaded bool
	// NvidiaFS reports that a device of nvidia-fs is open.
	NvidiaFS bool
	// DirectFile reports that a file is open with O_DIRECT, TwinFile that one is open both with it and without, as
	// cuFile does in compat mode: the one for aligned requests, the other for the rest.
	DirectFile, TwinFile bool
	// LogOpen reports that a log of cuFile is open.
	LogOpen bool
	Log     Marks
	// ForcedCompat reports that environment or configuration demand compat mode, ConfigUnknown that there is a
	// configuration that could not be read, and CompatForbidden that it forbids compat mode.
	ForcedCompat, ConfigUnknown, CompatForbidden bool
	// PeerMemory reports that a GPU of the host offers memory to peer-to-peer DMA, or that this is unknown.
	PeerMemory bool
}

// used reports whether there is any sign that the library is at work and not only mapped.
func (e Evidence) used() bool {
	return e.NvidiaFS || e.LogOpen || e.TwinFile || e.Log != Marks{}
}

// Verdict is a mode and its evidence.
type Verdict struct {
	Mode Mode
	// Evidence is the strongest piece of it, in a word.
	Evidence string
}

// Judge returns the mode. If pieces of evidence contradict each other, or another way is possible as well, it is
// unknown: log lines can belong to an earlier process with the same PID, and one process can move two files by
// different ways.
func (e Evidence) Judge() Verdict {
	switch {
	case !e.Inspected:
		return Verdict{Unknown, "not_readable"}
	case !e.Loaded && e.DirectFile:
		return Verdict{Posix, "direct_file"}
	case !e.Loaded:
		return Verdict{Absent, "not_loaded"}
	case !e.used() && e.DirectFile:
		return Verdict{Unknown, "direct_file"}
	case !e.used():
		return Verdict{Absent, "not_used"}
	case e.ForcedCompat:
		return Verdict{Compat, "forced"}
	case e.contradictory():
		return Verdict{Unknown, "contradictory"}
	case e.NvidiaFS:
		return Verdict{NVFS, "nvidia_fs_open"}
	case e.Log.PeerToPeer:
		return Verdict{P2PDMA, "log"}
	case e.Log.CompatDriver, e.Log.CompatHandle:
		return Verdict{Compat, "log"}
	case e.ConfigUnknown, e.CompatForbidden, e.PeerMemory, e.RDMALoaded:
		return Verdict{Unknown, "other_ways_possible"}
	}
	return Verdict{Compat, "no_other_way"}
}

// contradictory reports that there are signs of several ways.
func (e Evidence) contradictory() bool {
	ways := 0
	for _, sign := range []bool{e.NvidiaFS, e.Log.PeerToPeer, e.Log.CompatDriver || e.Log.CompatHandle} {
		if sign {
			ways++
		}
	}
	return ways > 1
}
