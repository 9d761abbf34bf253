package exporter

import "github.com/alecthomas/kingpin/v2"

// collectorFlags lists the flags of single collectors, each set in a file of its own.
func (l *commandLine) collectorFlags() []func(*kingpin.CmdClause) {
	return []func(*kingpin.CmdClause){
		l.defineKernelLog,
		l.defineGPU,
		l.defineCgroup,
		l.defineProcess,
		l.defineSources,
		l.defineMemory,
		l.defineNVMe,
	}
}
