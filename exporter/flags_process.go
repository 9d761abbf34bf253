package exporter

import (
	"regexp"

	"github.com/alecthomas/kingpin/v2"
)

// defineProcess adds the flags of the process collector; how many processes it shows is --gpu.processes.
func (l *commandLine) defineProcess(c *kingpin.CmdClause) {
	c.Flag("process", "Show the processes whose name (comm, at most 15 bytes) matches too, largest first, besides those that use a GPU; --gpu.processes limits both together. The expression may match anywhere in the name.").PlaceHolder("REGEX").SetValue(value[*regexp.Regexp]{"--process", &l.options.Processes.Match, expression})
}
