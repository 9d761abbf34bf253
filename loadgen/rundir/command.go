package rundir

// Command is the program that was the load of a recorded run. Its arguments are not here: they may
// hold keys, and which of them do nobody can tell. What tells runs apart belongs into labels.
type Command struct {
	// Program is its name, without the folder that it is in.
	Program string `json:"program"`
	// Options are the names of its options in their order, without values, and Arguments how many
	// arguments it has in all.
	Options   []string `json:"options,omitempty"`
	Arguments int      `json:"arguments"`
	// Extractor is what reads its log.
	Extractor string `json:"extractor"`
	Version   string `json:"version,omitempty"` // of the engine or the tool, by its log

	// ExitCode is absent while it runs, and of one that was never started. Signal is what ended it.
	ExitCode *int   `json:"exit_code,omitempty"`
	Signal   string `json:"signal,omitempty"`
	// Cut names the streams of which not all is kept.
	Cut []string `json:"cut,omitempty"`
	// Borders are the lines that phases began with.
	Borders []Border `json:"borders,omitempty"`
}

// Border is a line that began a phase.
type Border struct {
	Phase string `json:"phase"`
	// From is its stream and number, such as stdout:17.
	From string `json:"from"`
	// Text is what was recognised in it; the rest of the line is in the log.
	Text string `json:"text"`
}

// Logs of a recorded command.
const (
	StdoutFile = LogsFolder + "/stdout.log"
	StderrFile = LogsFolder + "/stderr.log"
)
