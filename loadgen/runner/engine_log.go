package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
)

// engineLog is a file or stream that an engine writes its log to.
type engineLog struct {
	name string // for the report
	// read writes to out what was logged since the engine's start. It returns false if there is nothing to read.
	read func(ctx context.Context, out io.Writer) (bool, error)
}

// engineLogs returns all logs of the engine. The log that was named, if any, comes first.
func engineLogs(r *run, named string) []engineLog {
	var all []engineLog
	if named != "" {
		all = append(all, engineLog{"the log " + named, func(_ context.Context, out io.Writer) (bool, error) { return copyLog(out, named, 0) }})
	}
	all = append(all, engineLog{"the log of container " + r.keep.Capture.Container, r.capture.startLog})
	if e := r.env.Engine; e != nil && e.Logs != nil {
		for _, one := range e.Logs() {
			all = append(all, engineLog{"the log of process " + one.Process, func(_ context.Context, out io.Writer) (bool, error) { return copyLog(out, one.Path, one.From) }})
		}
	}
	return all
}

// logTools returns the tools that read the log of an engine; none if its format is not supported. Extractors have the
// names of engines. A frontend has one of these engines behind it.
func logTools(engine string) []enginelog.Tool {
	names := []string{engine}
	if known, is := supported.Engines().Find(engine); is && known.Metrics.Around != nil {
		names = server.EngineNames(supported.Engines())
	}
	return slices.DeleteFunc(enginelog.Tools(supported.Engines()), func(t enginelog.Tool) bool { return !slices.Contains(names, t.Name) })
}

// readEngineLog returns the engine's report of its memory at start, from the first of its logs that contains it, or
// nil. It adds a warning if a log that was named contains no report.
func readEngineLog(ctx context.Context, r *run, named, engine string) *rundir.EngineReport {
	if reading, source := findEngineReading(ctx, r, named, engine, slog.LevelInfo); reading != nil {
		if found := summary.EngineOf(reading, source); found != nil {
			return found
		}
	}
	if named != "" {
		hint := ""
		switch known, is := supported.Engines().Find(engine); {
		case engine == openai.EngineOpenAI:
			hint = "; --engine names the engine whose log it is"
		case is && known.LogNeeds != "":
			hint = "; " + known.Title + " prints it with " + known.LogNeeds + " only"
		}
		r.env.Log.Warn("--engine-log: nothing of the engine's memory was found in it"+hint, "engine", engine)
	}
	return nil
}

// findEngineReading returns the reading of the first log of the engine that contains a report of its memory or of its
// KV cache's tiers, and the name of the log; nil if there is none.
func findEngineReading(ctx context.Context, r *run, named, engine string, level slog.Level) (*enginelog.Reading, string) {
	tools := logTools(engine)
	if len(tools) == 0 {
		return nil, ""
	}
	for _, log := range engineLogs(r, named) {
		found, err := log.reading(ctx, tools)
		if err != nil {
			r.env.Log.Log(ctx, level, "what the engine reports of its start could not be read", "in", log.name, "why", printable(err.Error()))
		}
		if found != nil {
			return found, log.name
		}
	}
	return nil, ""
}

// reading reads the log with all tools at once and returns the first reading with a report, or nil. It may return a
// reading together with an error: the report was read before the error.
func (l engineLog) reading(ctx context.Context, tools []enginelog.Tool) (*enginelog.Reading, error) {
	var readings []*enginelog.Reading
	for _, tool := range tools {
		readings = append(readings, tool.Read())
	}
	lines := enginelog.NewLines(func(line enginelog.Line) {
		for _, reading := range readings {
			reading.Line("log", line)
		}
	})
	there, err := l.read(ctx, lines)
	lines.Flush()
	if !there {
		return nil, err
	}
	for _, reading := range readings {
		if summary.EngineOf(reading, l.name) != nil || !reading.Tiers().Empty() {
			return reading, err
		}
	}
	return nil, err
}

// mostEngineLog is the most of a log that is read, in bytes. The report of the last start may be at the end of a log
// that many starts have written to, so the beginning is not enough.
const mostEngineLog = 256 << 20

// copyLog copies a regular file from an offset on, in bytes. It returns false if there is no such file.
func copyLog(out io.Writer, path string, from int64) (bool, error) {
	file, err := openLog(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	if from > info.Size() {
		from = 0 // the file was truncated or replaced
	}
	if size := info.Size() - from; size > mostEngineLog {
		return false, fmt.Errorf("%d MiB are more than is read: give each start of the engine a log of its own", size>>20)
	}
	_, err = io.Copy(out, io.NewSectionReader(file, from, info.Size()-from))
	return err == nil, err
}

// CheckEngineLog refuses a file that cannot be read. The engine runs before the run begins, so its log must exist.
func CheckEngineLog(path string) error {
	if path == "" {
		return nil
	}
	file, err := openLog(path)
	if err == nil {
		return file.Close()
	}
	if wrong := (*fs.PathError)(nil); errors.As(err, &wrong) {
		err = wrong.Err
	}
	return fmt.Errorf("--engine-log %s: %w: have the engine write there, by 2>&1 | tee -i FILE", path, err)
}

// openLog opens a regular file. Any other kind of file could block for ever.
func openLog(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("no plain file")
	}
	return os.Open(path)
}
