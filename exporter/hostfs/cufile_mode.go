package hostfs

// CuFileMode is the way by which a process reads and writes files.
type CuFileMode string

// The modes.
const (
	CuFileAbsent  CuFileMode = "absent"  // neither by cuFile nor past the page cache, as far as is visible
	CuFilePosix   CuFileMode = "posix"   // past the page cache, without cuFile
	CuFileCompat  CuFileMode = "compat"  // by cuFile, which uses POSIX reads and writes and copies
	CuFileNVFS    CuFileMode = "nvfs"    // by cuFile through the kernel module nvidia-fs
	CuFileP2PDMA  CuFileMode = "p2pdma"  // by cuFile through the kernel's peer-to-peer DMA
	CuFileUnknown CuFileMode = "unknown" // the evidence does not decide it
)

// CuFileModes lists them all.
func CuFileModes() []CuFileMode {
	return []CuFileMode{CuFileAbsent, CuFilePosix, CuFileCompat, CuFileNVFS, CuFileP2PDMA, CuFileUnknown}
}

// CuFileEvidence is what is visible of a process from outside. It does not prove that data has moved; only the counters of
// nvidia-fs prove that data moved through it.
type CuFileEvidence struct {
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
	Log     CuFileLogMarks
	// ForcedCompat reports that environment or configuration demand compat mode, ConfigUnknown that there is a
	// configuration that could not be read, and CompatForbidden that it forbids compat mode.
	ForcedCompat, ConfigUnknown, CompatForbidden bool
	// PeerMemory reports that a GPU of the host offers memory to peer-to-peer DMA, or that this is unknown.
	PeerMemory bool
}

// used reports whether there is any sign that the library is at work and not only mapped.
func (e CuFileEvidence) used() bool {
	return e.NvidiaFS || e.LogOpen || e.TwinFile || e.Log != CuFileLogMarks{}
}

// CuFileVerdict is a mode and its evidence.
type CuFileVerdict struct {
	Mode CuFileMode
	// Evidence is the strongest piece of it, in a word.
	Evidence string
}

// Judge returns the mode. If pieces of evidence contradict each other, or another way is possible as well, it is
// unknown: log lines can belong to an earlier process with the same PID, and one process can move two files by
// different ways.
func (e CuFileEvidence) Judge() CuFileVerdict {
	switch {
	case !e.Inspected:
		return CuFileVerdict{CuFileUnknown, "not_readable"}
	case !e.Loaded && e.DirectFile:
		return CuFileVerdict{CuFilePosix, "direct_file"}
	case !e.Loaded:
		return CuFileVerdict{CuFileAbsent, "not_loaded"}
	case !e.used() && e.DirectFile:
		return CuFileVerdict{CuFileUnknown, "direct_file"}
	case !e.used():
		return CuFileVerdict{CuFileAbsent, "not_used"}
	case e.ForcedCompat:
		return CuFileVerdict{CuFileCompat, "forced"}
	case e.contradictory():
		return CuFileVerdict{CuFileUnknown, "contradictory"}
	case e.NvidiaFS:
		return CuFileVerdict{CuFileNVFS, "nvidia_fs_open"}
	case e.Log.PeerToPeer:
		return CuFileVerdict{CuFileP2PDMA, "log"}
	case e.Log.CompatDriver, e.Log.CompatHandle:
		return CuFileVerdict{CuFileCompat, "log"}
	case e.ConfigUnknown, e.CompatForbidden, e.PeerMemory, e.RDMALoaded:
		return CuFileVerdict{CuFileUnknown, "other_ways_possible"}
	}
	return CuFileVerdict{CuFileCompat, "no_other_way"}
}

// contradictory reports that there are signs of several ways.
func (e CuFileEvidence) contradictory() bool {
	ways := 0
	for _, sign := range []bool{e.NvidiaFS, e.Log.PeerToPeer, e.Log.CompatDriver || e.Log.CompatHandle} {
		if sign {
			ways++
		}
	}
	return ways > 1
}
