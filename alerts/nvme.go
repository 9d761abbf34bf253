package alerts

import (
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// nvmeGroup is about drives.
func nvmeGroup() Group {
	t := metric.AlertThresholds()
	return Group{Name: "nvme", Recordings: nvmeRecordings(t), Alerts: []Alert{nvmeHot(t), nvmeLatency(t), nvmeWear(t), nvmeFailing()}}
}

// nvmeBaselineGroup has the recordings that are too expensive for the usual interval: a week of a series. Its interval
// is below the 5 minutes for which Prometheus takes a value as the present one.
func nvmeBaselineGroup() Group {
	t := metric.AlertThresholds()
	const week = 7 * 24 * time.Hour
	enough := expr.CountOverTime(metric.NVMeLoadedOperationSeconds5m, expr.Over(week)).Max(byDrive()).AtLeast(expr.Number(t.NVMeLatencySamples))
	median := expr.QuantileOverTime(0.5, metric.NVMeLoadedOperationSeconds5m, expr.Over(week)).Max(byDrive())
	return Group{Name: "nvme-baseline", Every: 2 * time.Minute, Recordings: []Recording{
		{metric.NVMeOperationSeconds7d, median.And(enough, onDrive())},
	}}
}

// byDrive reduces to one series per drive. The collector reports whole drives only, no partitions.
func byDrive() expr.Grouping { return expr.By(metric.LabelHost, metric.LabelDevice) }

func onDrive() expr.Matching { return expr.On(metric.LabelHost, metric.LabelDevice) }

// byController reduces to one series per controller, which temperature and health belong to.
func byController() expr.Grouping { return expr.By(metric.LabelHost, metric.LabelController) }

func onController() expr.Matching { return expr.On(metric.LabelHost, metric.LabelController) }

// nvmeRecordings are the figures of iostat.
func nvmeRecordings(t metric.Thresholds) []Recording {
	rate := func(c metric.Counter) expr.Expr { return expr.Rate(c, expr.Over(5*time.Minute)).Max(byDrive()) }
	mean := func(seconds, operations expr.Expr) expr.Expr {
		return seconds.DividedBy(operations.Above(expr.Number(0)), onDrive())
	}
	reads, writes := rate(metric.NVMeReadsCompletedTotal), rate(metric.NVMeWritesCompletedTotal)
	readTime, writeTime := rate(metric.NVMeReadTimeSecondsTotal), rate(metric.NVMeWriteTimeSecondsTotal)
	loaded := expr.Select(metric.NVMeOperationsPerSecond5m).Above(expr.Number(t.NVMeOperations))
	return []Recording{
		{metric.NVMeReadAwaitSeconds5m, mean(readTime, reads)},
		{metric.NVMeWriteAwaitSeconds5m, mean(writeTime, writes)},
		{metric.NVMeOperationSeconds5m, mean(readTime.Plus(writeTime, onDrive()), reads.Plus(writes, onDrive()))},
		{metric.NVMeOperationsPerSecond5m, reads.Plus(writes, onDrive())},
		{metric.NVMeQueueLength5m, rate(metric.NVMeIOTimeWeightedSecondsTotal)},
		{metric.NVMeBusyRatio5m, rate(metric.NVMeIOTimeSecondsTotal)},
		{metric.NVMeLoadedOperationSeconds5m, expr.Select(metric.NVMeOperationSeconds5m).And(loaded, onDrive())},
	}
}

func nvmeHot(t metric.Thresholds) Alert {
	composite := expr.Is(metric.LabelSensor, metric.SensorComposite)
	temperature := expr.Select(metric.NVMeTemperatureCelsius, composite).Max(byController())
	warning := expr.Select(metric.NVMeTemperatureWarningCelsius, composite).Min(byController())
	critical := expr.Select(metric.NVMeTemperatureCriticalCelsius, composite).Min(byController())
	beyond := func(limit expr.Expr, otherwise float64) expr.Expr {
		return temperature.AtLeast(limit, onController()).
			Or(temperature.AtLeast(expr.Number(otherwise)).Unless(limit, onController()), onController())
	}
	description := func(limit string, otherwise float64) string {
		return "drive {{ $labels.controller }} is at {{ $value }} °C: at or above " + limit + ", or " + metric.Decimal(otherwise) + " °C where it names none."
	}
	return Alert{
		Name: "NVMeHot", About: AboutPart,
		Summary: "A drive is so hot that it slows down or soon will.",
		Rules: []Rule{
			{Severity: Warning, For: 5 * time.Minute, KeepFiringFor: 10 * time.Minute,
				Expr: beyond(warning, t.NVMeWarningCelsius), Description: description("its own warning limit", t.NVMeWarningCelsius)},
			{Severity: Critical, For: time.Minute, KeepFiringFor: 10 * time.Minute,
				Expr: beyond(critical, t.NVMeCriticalCelsius), Description: description("its own critical limit", t.NVMeCriticalCelsius)},
		},
		Runbook: Runbook{
			Meaning: "The composite temperature of the controller, which its limits refer to; single sensors may be hotter, and are not judged. Beyond the warning limit the drive slows itself down, beyond the critical one it may stop. With a KV cache that spills to the drive this is latency of every request that comes back.",
			Check:   "`sudo nvme smart-log /dev/nvme0` (package nvme-cli): temperature, warning and critical time, thermal management transitions. The dashboard KV cache and storage shows temperature and time per operation together. `cat /sys/class/nvme/nvme0/hwmon*/temp1_{input,max,crit}` needs no root.",
			Action:  "Stop what writes: a disk tier of a KV cache, a download of weights. As critical, now. Then see to air at the drive; a Spark's is beneath the machine, which needs room below. Discard runs in which the drive mattered.",
		},
	}
}

func nvmeLatency(t metric.Thresholds) Alert {
	now := expr.Select(metric.NVMeLoadedOperationSeconds5m)
	usual := expr.Select(metric.NVMeOperationSeconds7d)
	return Alert{
		Name: "NVMeLatency", About: AboutPart,
		Summary: "A drive under load takes much longer for a read or write than it usually does.",
		Rules: []Rule{{
			Severity: Warning, For: 10 * time.Minute, KeepFiringFor: 10 * time.Minute,
			Expr: now.Above(usual.Times(expr.Number(t.NVMeLatencyFactor)), onDrive()),
			Description: "a read or write of {{ $labels.device }} takes {{ $value | humanizeDuration }} on average, more than " + metric.Decimal(t.NVMeLatencyFactor) +
				" times its median of 7d, at more than " + metric.Decimal(t.NVMeOperations) + " a second.",
		}},
		Runbook: Runbook{
			Meaning: "The mean over reads and writes, waiting in the queue included, against the median of the same drive over the last 7 days, in both only while it was under load: at rest it answers in other times. The drive may be hot, full, or worn; or the load is another one: deep queues and large blocks take longer on a sound drive too. A drive that is 100 % busy is not full: it serves many requests at once.",
			Check:   "`iostat -x 5 /dev/nvme0n1`: r_await, w_await, aqu-sz, and the size of requests. The dashboard KV cache and storage shows them with temperature and bytes. `df -h` and `sudo nvme smart-log /dev/nvme0` show a full and a failing drive.",
			Action:  "If it is hot, see NVMeHot. If it is nearly full, free a tenth of it and trim it (`sudo fstrim -v /`). If a second program uses the drive, stop it during runs. If the load has changed for good, do nothing: the median follows within days. Treat runs with a disk tier of that time as not comparable.",
		},
	}
}

func nvmeWear(t metric.Thresholds) Alert {
	used := expr.Select(metric.NVMeSMARTUsedRatio).Max(byController())
	spare := expr.Select(metric.NVMeSMARTAvailableSpareRatio).Min(byController())
	least := expr.Select(metric.NVMeSMARTAvailableSpareThresholdRatio).Max(byController())
	return Alert{
		Name: "NVMeWear", About: AboutPart,
		Summary: "A drive is nearly worn out.",
		Rules: []Rule{
			{Severity: Warning, For: time.Hour, KeepFiringFor: 10 * time.Minute,
				Expr:        used.Above(expr.Number(t.NVMeUsedRatio)),
				Description: "drive {{ $labels.controller }} has used up {{ $value | humanizePercentage }} of its endurance, more than " + metric.Decimal(t.NVMeUsedRatio*100) + " %."},
			{Severity: Critical, For: 15 * time.Minute, KeepFiringFor: 10 * time.Minute,
				Expr:        spare.Below(least, onController()),
				Description: "drive {{ $labels.controller }} has {{ $value | humanizePercentage }} of its spare blocks left, less than it says that it needs."},
		},
		Runbook: Runbook{
			Meaning: "As warning, the maker's own estimate of the endurance used up, which may pass 100 % while the drive still works. As critical, the blocks that replace failed ones run short: the drive may soon refuse to write. A KV cache that spills to the drive can write some TB a day. Silent where the exporter does not read health logs (`--collector.nvme.smart`).",
			Check:   "`sudo nvme smart-log /dev/nvme0`: percentage_used, available_spare, data_units_written. The dashboard KV cache and storage shows bytes written a day and what writes them.",
			Action:  "As warning: plan a replacement, and make the disk tier smaller or turn it off. As critical: save what is on the drive today, and replace it.",
		},
	}
}

func nvmeFailing() Alert {
	const window = 6 * time.Hour
	errors := expr.Increase(metric.NVMeSMARTMediaErrorsTotal, expr.Over(window)).Max(byController())
	warns := expr.Select(metric.NVMeSMARTCriticalWarning, expr.OneOf(metric.LabelKind, metric.SMARTFailing()...))
	return Alert{
		Name: "NVMeFailing", About: AboutPart,
		Summary: "A drive loses data, or says that it is failing.",
		Rules: []Rule{
			{Severity: Warning, KeepFiringFor: time.Hour,
				Expr:        errors.Above(expr.Number(0)),
				Description: `drive {{ $labels.controller }} has found {{ $value | printf "%.0f" }} piece(s) of data that it could not recover within ` + duration(window) + "."},
			{Severity: Critical, For: time.Minute, KeepFiringFor: time.Hour,
				Expr:        warns.Max(expr.By(metric.LabelHost, metric.LabelController, metric.LabelKind)).Equals(expr.Number(1)),
				Description: "drive {{ $labels.controller }} has warned of {{ $labels.kind }} for 1m."},
		},
		Runbook: Runbook{
			Meaning: "As warning, the count of media errors has grown: a file may be damaged, weights and results among them. As critical, the controller itself says that it is unreliable (reliability), has stopped writing (read_only), or cannot keep its write cache without power (volatile_backup). Entries of the error log are not judged: many drives make one for every command that they do not support. It does not fire where the exporter does not read health logs (`--collector.nvme.smart`).",
			Check:   "`sudo nvme smart-log /dev/nvme0`: critical_warning, media_errors. `journalctl -k -g 'nvme|I/O error|EXT4-fs' --since -1d` names the blocks and file systems.",
			Action:  "Save what is on the drive, then replace it. Check weights against their checksums before the next run, and results of that time against a copy.",
		},
	}
}
