package exporter

import "github.com/alecthomas/kingpin/v2"

// defineGPU adds the flags of the gpu collector alone; flags that other collectors use too are among the flags of every
// host.
func (l *commandLine) defineGPU(c *kingpin.CmdClause) {
	c.Flag("gpu.pcie", "Show PCIe traffic. For each direction the driver counts for 20 ms, in every scrape.").BoolVar(&l.options.PCIeThroughput)
}
