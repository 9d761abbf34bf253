package exporter

import "github.com/alecthomas/kingpin/v2"

// defineKernelLog adds the flag of the host collector.
func (l *commandLine) defineKernelLog(c *kingpin.CmdClause) {
	c.Flag("collector.host.kernel-log", "Count errors of NVIDIA's driver in the kernel log (/dev/kmsg) by kind, from the start of the exporter on. Needs CAP_SYSLOG where kernel.dmesg_restrict is 1.").BoolVar(&l.options.KernelLog)
}
