package dashboards

import (
	"fmt"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

func driveBytes() panel {
	return series(subject{
		title:  "Bytes read and written",
		means:  "What each drive moves, by the kernel's count; what the page cache answers is not in it. Writes are drawn below zero.",
		wrong:  "a run with an SSD tier writes and never reads, or something else uses the drive during a run.",
		noData: noDrive,
		queries: []query{
			{"read {{device}}", eachPerSecond(metric.NVMeReadBytesTotal)},
			{"written {{device}}", eachPerSecond(metric.NVMeWrittenBytesTotal)},
		},
	}).OverrideByRegexp("/^written/", below())
}

func driveOperations() panel {
	return series(subject{
		title:  "Operations",
		means:  "Reads and writes completed per second. Bytes over operations is the size of one: a tier that works well moves whole blocks. Writes are drawn below zero.",
		wrong:  "there are many small reads: blocks are read in pieces.",
		noData: noDrive,
		queries: []query{
			{"reads {{device}}", eachPerSecond(metric.NVMeReadsCompletedTotal)},
			{"writes {{device}}", eachPerSecond(metric.NVMeWritesCompletedTotal)},
		},
	}).OverrideByRegexp("/^writes/", below())
}

func driveTimes() panel {
	t := metric.AlertThresholds()
	usual := each(metric.NVMeOperationSeconds7d)
	return series(subject{
		title:  "Time of an operation",
		means:  fmt.Sprintf("Mean time of a read (r_await of iostat) and of a write (w_await), waiting included, over 5 minutes. Dashed: the median of the last 7 days, and %s times it, where NVMeLatency fires if there is load.", metric.Decimal(t.NVMeLatencyFactor)),
		wrong:  "reads take several times as long as usual: the drive is hot (page *Thermal and power*), full or busy with writes, and requests wait for it.",
		noData: noDriveRule,
		queries: []query{
			{"read {{device}}", each(metric.NVMeReadAwaitSeconds5m)},
			{"write {{device}}", each(metric.NVMeWriteAwaitSeconds5m)},
			{"usual {{device}}", usual},
			{"too long {{device}}", usual.Times(expr.Number(t.NVMeLatencyFactor))},
		},
	}).
		Min(0).
		OverrideByRegexp("/^usual/", limit("text")).
		OverrideByRegexp("/^too long/", limit("orange"))
}

func driveQueue() panel {
	return series(subject{
		title:   "Queue",
		means:   "Mean number of requests in flight over 5 minutes (aqu-sz of iostat).",
		wrong:   "it is 1 while a tier is read: one block after the other, which wastes most of what the drive can do.",
		noData:  noDriveRule,
		queries: []query{{"{{device}}", each(metric.NVMeQueueLength5m)}},
	}).Min(0)
}

func driveBusy() panel {
	return series(subject{
		title:   "Busy",
		means:   "Share of the last 5 minutes with a request in flight (%util of iostat). A drive that serves many at once is not full at 100 %.",
		wrong:   "it is high while no run is active: another program uses the drive.",
		noData:  noDriveRule,
		queries: []query{{"{{device}}", each(metric.NVMeBusyRatio5m)}},
	}).Min(0).Max(1)
}

func driveWear() panel {
	return series(subject{
		title:  "Wear",
		means:  "Endurance used up, by the maker's estimate, and spare blocks left, with the drive's own threshold for them. The dashed line is where NVMeWear fires for endurance. An SSD tier writes much: its wear belongs to its cost.",
		wrong:  "endurance climbs visibly between runs, or spare blocks near their threshold.",
		noData: "health logs are read with --collector.nvme.smart only",
		queries: []query{
			{"endurance used {{controller}}", each(metric.NVMeSMARTUsedRatio)},
			{"spare left {{controller}}", each(metric.NVMeSMARTAvailableSpareRatio)},
			{"least spare {{controller}}", each(metric.NVMeSMARTAvailableSpareThresholdRatio)},
		},
	}).
		Min(0).
		Thresholds(steps("transparent", from(metric.AlertThresholds().NVMeUsedRatio, "orange"))).
		ThresholdsStyle(dashedLine()).
		OverrideByRegexp("/^least spare/", limit("red"))
}

func networkBytes() panel {
	return series(subject{
		title:  "Network and RDMA",
		means:  "Bytes between this machine and others: by network interface, and by RDMA port, which no interface counts. What is sent is drawn below zero.",
		wrong:  "a transfer between machines goes over the slow interface, or a model or data set is being loaded during a run.",
		noData: "no hardware interface, or no exporter answers",
		queries: []query{
			{"received {{device}}", eachPerSecond(metric.NetworkReceiveBytesTotal)},
			{"sent {{device}}", eachPerSecond(metric.NetworkTransmitBytesTotal)},
			{"received RDMA {{device}}/{{port}}", eachPerSecond(metric.InfiniBandPortDataReceivedBytesTotal)},
			{"sent RDMA {{device}}/{{port}}", eachPerSecond(metric.InfiniBandPortDataTransmittedBytesTotal)},
		},
	}).OverrideByRegexp("/^sent/", below())
}
