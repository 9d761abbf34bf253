package loadgen

import (
	"context"

	"github.com/umascope/umascope/loadgen/extract"
	"github.com/umascope/umascope/loadgen/report"
)

// readEngineLog reads what the engine said of its memory when its container started, where its log is
// understood. Extractors are called as the engines are.
func (r *run) readEngineLog(ctx context.Context) {
	tool, err := extract.Find(r.server.Engine)
	if err != nil {
		return
	}
	reading := tool.Read()
	lines := extract.NewLines(func(l extract.Line) { reading.Line("log", l) })
	there, err := r.scene.StartLog(ctx, lines)
	if err != nil {
		r.log.Info("the engine's log of its start could not be read", "why", printable(err.Error()))
	}
	if lines.Flush(); there {
		r.engine = report.EngineOf(reading, "the log of container "+r.settings.scene.Container)
	}
}
