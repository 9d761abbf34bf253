package exporter

import "github.com/alecthomas/kingpin/v2"

// defineNVMe adds the flags of the nvme collector.
func (l *commandLine) defineNVMe(c *kingpin.CmdClause) {
	c.Flag("collector.nvme.smart", "Ask the drives for their health logs, twice a minute at most: wear, spare blocks, media errors. Needs CAP_SYS_ADMIN and the device nodes of the controllers.").BoolVar(&l.options.NVMeSMART)
}
