package collector

import (
	"strings"

	"github.com/umascope/umascope/exporter/hostfs"
)

const (
	// maxLogsOfProcess is the maximum number of logs read per process; the library writes one.
	maxLogsOfProcess = 2
	// maxFollowedLogs is the maximum number of logs whose offset is kept, those of processes that have ended included:
	// an engine that is restarted continues its old log. It covers all logs that processes have open, so that none of
	// their offsets is forgotten and its messages counted again.
	maxFollowedLogs = maxLogsOfProcess * maxEngineProcesses
	// maxMarked is the maximum number of processes counted separately in one log.
	maxMarked = 256
)

// cufileLogs follows the logs of cuFile.
type cufileLogs struct {
	files map[string]*followedLog // by LogPosition.File
	// messages are those counted so far, by level; found reports that there was a log to count in.
	messages map[string]uint64
	found    bool
	turn     uint64 // of readings
}

// followedLog is the read offset of a log, and what the log contains about the processes that write it.
type followedLog struct {
	offset uint64
	turn   uint64                            // when it was read last
	marks  map[uint32]*hostfs.CuFileLogMarks // by PID in the process's own namespace
}

func newCuFileLogs() *cufileLogs {
	return &cufileLogs{files: map[string]*followedLog{}, messages: map[string]uint64{}}
}

// evidence reads new lines of the logs of a process and adds them to the other evidence. A log that cannot be read adds
// none.
func (l *cufileLogs) evidence(proc hostfs.Dir, look *cufileLook) hostfs.CuFileEvidence {
	evidence := look.evidence
	for _, name := range look.logs {
		log := l.follow(proc, look.pid, name)
		if log == nil {
			continue
		}
		if marks := log.marks[look.innerPID]; marks != nil {
			evidence.Log.Join(*marks)
		}
	}
	return evidence
}

// follow reads the new part of a log, nil if it cannot be read. Processes that share a log share one reading.
func (l *cufileLogs) follow(proc hostfs.Dir, pid uint32, name string) *followedLog {
	lines, now, err := hostfs.FollowForeign(proc, pid, name, func(file string) (uint64, bool) {
		known := l.files[file]
		if known == nil {
			return 0, false
		}
		return known.offset, true
	})
	if err != nil {
		return nil
	}
	log := l.files[now.File]
	if log == nil {
		log = &followedLog{marks: map[uint32]*hostfs.CuFileLogMarks{}}
		l.makeRoom()
		l.files[now.File] = log
	}
	l.found = true
	l.turn++
	log.offset, log.turn = now.Offset, l.turn
	for line := range strings.Lines(lines) {
		entry, ok := hostfs.ParseCuFileLogLine(strings.TrimSuffix(line, "\n"))
		if ok {
			l.messages[entry.Level]++
			log.add(entry)
		}
	}
	return log
}

// makeRoom forgets the least recently read log if there are too many.
func (l *cufileLogs) makeRoom() {
	if len(l.files) < maxFollowedLogs {
		return
	}
	var oldest string
	for file, log := range l.files {
		if known := l.files[oldest]; known == nil || log.turn < known.turn {
			oldest = file
		}
	}
	delete(l.files, oldest)
}

func (l *followedLog) add(entry hostfs.CuFileLogEntry) {
	marks := l.marks[entry.PID]
	if marks == nil && len(l.marks) < maxMarked {
		marks = &hostfs.CuFileLogMarks{}
		l.marks[entry.PID] = marks
	}
	if marks != nil {
		marks.Add(entry.Message)
	}
}
