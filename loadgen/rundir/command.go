package rundir

// Command is the program that was the load of a recorded run. Its arguments are left out: they may hold keys, and no
// rule detects which. Use labels for what distinguishes runs.
type Command struct {
	// Program is its name, without the folder.
	Program string `json:"program" pack:"word"`
	// Options are the names of its options in order, without values; Arguments is the total number of its arguments.
	Options   []string `json:"options,omitempty" pack:"word"`
	Arguments int      `json:"arguments"`
	// Extractor is the extractor that reads its log.
	Extractor string `json:"extractor" pack:"word"`
	Version   string `json:"version,omitempty" pack:"version"` // of the engine or the tool, by its log

	// ExitCode is absent while the command runs, and if it was never started. Signal is the signal that ended it.
	ExitCode *int   `json:"exit_code,omitempty"`
	Signal   string `json:"signal,omitempty" pack:"word"`
	// Cut are the names of the streams that were truncated.
	Cut []string `json:"cut,omitempty" pack:"text"`
	// Borders are the lines at which phases began.
	Borders []Border `json:"borders,omitempty"`
}

// Border is a line that began a phase.
type Border struct {
	Phase string `json:"phase" pack:"word"`
	// From is its stream and number, such as stdout:17.
	From string `json:"from" pack:"word"`
	// Text is the recognized part of the line; the rest of the line is in the log.
	Text string `json:"text"`
}

// Logs of a recorded command.
const (
	StdoutFile = LogsFolder + "/stdout.log"
	StderrFile = LogsFolder + "/stderr.log"
)
