package hostfs

import (
	"regexp"
	"strconv"
	"strings"
)

// CuFileLogLevels are those of log messages, the most severe first.
func CuFileLogLevels() []string { return []string{"ERROR", "WARN", "NOTICE", "INFO", "DEBUG", "TRACE"} }

// CuFileLogEntry is a message of a log.
type CuFileLogEntry struct {
	// PID is the process that wrote it, in its own PID namespace.
	PID     uint32
	Level   string
	Message string
}

// cuFileLogLine has the time first, with one to three digits of milliseconds, and the place in the library's source before
// the message.
var cuFileLogLine = regexp.MustCompile(`^ ?\d\d-\d\d-\d{4} \d\d:\d\d:\d\d:\d{1,3} \[pid=(\d+) tid=\d+\] (ERROR|WARN|NOTICE|INFO|DEBUG|TRACE) +[\w-]+:\d+ (.*)$`)

// ParseCuFileLogLine reads a line of cufile.log. Lines that go on with the message before are no entries.
//
//	09-06-2025 07:00:09:116 [pid=276 tid=276] NOTICE  cufio-drv:830 running in compatible mode
func ParseCuFileLogLine(line string) (entry CuFileLogEntry, ok bool) {
	fields := cuFileLogLine.FindStringSubmatch(line)
	if fields == nil {
		return CuFileLogEntry{}, false
	}
	pid, err := strconv.ParseUint(fields[1], 10, 32)
	if err != nil {
		return CuFileLogEntry{}, false
	}
	return CuFileLogEntry{PID: uint32(pid), Level: fields[2], Message: fields[3]}, true
}

// CuFileLogMarks are the evidence in a process's log of how its data moves.
type CuFileLogMarks struct {
	// CompatDriver reports that the library as a whole fell back to POSIX reads and writes, CompatHandle that it did
	// for some file. Both are notices: a log at the usual level, ERROR, does not have them.
	CompatDriver, CompatHandle bool
	// PeerToPeer reports that a transfer went by the kernel's peer-to-peer DMA. It is written at level TRACE; the
	// wording is that of cuFile 1.15, as users report it.
	PeerToPeer bool
}

// Add adds the evidence of a message.
func (m *CuFileLogMarks) Add(message string) {
	m.CompatDriver = m.CompatDriver || strings.Contains(message, "running in compatible mode")
	m.CompatHandle = m.CompatHandle || strings.Contains(message, "using cuFile posix read/write with compat mode enabled")
	m.PeerToPeer = m.PeerToPeer || strings.Contains(message, "p2p mode: 1 compat: 0")
}

// Join adds the evidence of another log of the process.
func (m *CuFileLogMarks) Join(other CuFileLogMarks) {
	m.CompatDriver = m.CompatDriver || other.CompatDriver
	m.CompatHandle = m.CompatHandle || other.CompatHandle
	m.PeerToPeer = m.PeerToPeer || other.PeerToPeer
}

// cuFileLogName matches the library's log names: cufile.log, or since 1.15 cufile_<pid>_<time>.log.
var cuFileLogName = regexp.MustCompile(`^cufile(_[\w.:-]*)?\.log$`)

// IsCuFileLogName reports whether a file, by its name without directories, is a log of cuFile.
func IsCuFileLogName(name string) bool { return cuFileLogName.MatchString(name) }
