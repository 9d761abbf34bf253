package dashboards

import (
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// cufileError is the value of metric.LabelLevel for errors in a cuFile log.
const cufileError = "ERROR"

func waysToFiles() panel {
	return areas(subject{
		title:   "Processes by their way to files",
		means:   "Processes that may be an engine's, by how they get at files: *nvfs* cuFile through nvidia-fs, *p2pdma* through the kernel's peer-to-peer DMA, *compat* cuFile with a copy by the CPU, *posix* O_DIRECT without cuFile, *absent* neither, *unknown* where nothing that can be seen decides. Judged from mappings, descriptors, configuration and log.",
		wrong:   "*compat* or *posix* is shown where GPUDirect Storage is said to be on. On GB10 these are the expected ways.",
		noData:  "no process that may be an engine's, or the exporter may not look into those of others",
		queries: []query{{"{{mode}}", each(metric.CuFileProcesses).Above(expr.Number(0))}},
	}).ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdPaletteClassicByName))
}

func directBytes() panel {
	return series(subject{
		title:  "Moved by nvidia-fs and NIXL",
		means:  "Bytes that the kernel module nvidia-fs moved (only while it counts: " + called(metric.CuFileNVFSRWStatsEnabled) + "), and that NIXL moved: *tx* is its operation WRITE, *rx* its READ, of all its backends.",
		wrong:  "nvidia-fs moves nothing while a process is said to use it: only its counters prove that data goes that way.",
		noData: "no nvidia-fs that counts, and no page of NIXL",
		queries: []query{
			{"nvidia-fs {{op}}", eachPerSecond(metric.CuFileNVFSBytesTotal)},
			{"NIXL {{direction}} {{agent}}", eachPerSecond(metric.KVBMNIXLBytesTotal)},
		},
	}).Min(0).OverrideByRegexp("/^NIXL/", dashed())
}

func processesOfFiles() panel {
	process := expr.By(metric.LabelComm, metric.LabelPID, metric.LabelCgroup)
	moved := func(op string) expr.Expr {
		return expr.Rate(metric.ProcessIOBytesTotal, expr.RateInterval, onHost(), expr.Is(metric.LabelOp, op)).Max(process)
	}
	evidence := expr.By(metric.LabelComm, metric.LabelPID, metric.LabelCgroup, metric.LabelMode, metric.LabelEvidence)
	return list(board{
		title:  "Processes at files",
		means:  "What each process on the GPU reads and writes at the storage layer (what the page cache answers is not in it), and for those that have libcufile mapped by which way and what decided so. PyTorch maps the library without using it.",
		wrong:  "an engine with an SSD tier reads nothing, or its way is *compat*: then the CPU copies every byte.",
		noData: "no process on the GPU, the exporter may not look into the processes of others, or none answers",
		keys: []key{{label: metric.LabelComm, title: "Process"}, {label: metric.LabelPID, title: "PID", look: width(80)}, {label: metric.LabelCgroup, title: "Cgroup", look: width(420)},
			{label: metric.LabelMode, title: "Way"}, {label: metric.LabelEvidence, title: "Judged from"}},
		figures: []figure{
			{title: "Reads", expr: moved(metric.OpRead)},
			{title: "Writes", expr: moved(metric.OpWrite)},
			{title: "libcufile", expr: expr.Select(metric.CuFileProcessInfo, onHost()).Max(evidence), look: look{{Id: "mappings", Value: worded("", "mapped")}}},
		},
		sortBy: "Reads", desc: true,
	})
}

func transferErrors() panel {
	// in10m is the count of events in 10 minutes, of the most frequent kind.
	in10m := func(c metric.Counter, matchers ...expr.Matcher) expr.Expr {
		on := append([]expr.Matcher{onHost()}, matchers...)
		return expr.Increase(c, expr.Over(10*time.Minute), on...).Max(byHost())
	}
	return series(subject{
		title:  "Failures in 10 minutes",
		means:  "Failed transfers of KVBM, blocks that the object store did not give or take, errors of NIXL and the telemetry events that it dropped, errors of nvidia-fs, and errors in the logs of cuFile. Of each, the kind with most.",
		wrong:  "any is not 0. With dropped events the other figures of NIXL are too low.",
		noData: "none of those who count these is there",
		queries: []query{
			{"KVBM transfers", in10m(metric.KVBMTransferFailuresTotal)},
			{"object store", in10m(metric.KVBMObjectFailuresTotal)},
			{"NIXL", in10m(metric.KVBMNIXLErrorsTotal)},
			{"NIXL, dropped events", in10m(metric.KVBMNIXLDroppedEventsTotal)},
			{"nvidia-fs", in10m(metric.CuFileNVFSErrorsTotal)},
			{"logs of cuFile", in10m(metric.CuFileLogMessagesTotal, expr.Is(metric.LabelLevel, cufileError))},
		},
	}).Min(0)
}
