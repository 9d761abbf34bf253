package alerts

import (
	"strconv"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

func xid() Alert {
	const window = 5 * time.Minute
	var codes []string
	for _, code := range metric.HardwareXIDs() {
		codes = append(codes, strconv.FormatUint(code, 10))
	}
	reported := expr.Increase(metric.GPUXIDErrorsTotal, expr.Over(window), expr.OneOf(metric.LabelXID, codes...))
	return Alert{
		Name: "XID", About: AboutPart,
		Summary: "The driver has reported an error of a GPU that no program brings about.",
		Rules: []Rule{{
			Severity: Critical, KeepFiringFor: time.Hour,
			Expr:        reported.Max(expr.By(metric.LabelHost, metric.LabelUUID, metric.LabelXID)).Above(expr.Number(0)),
			Description: `GPU {{ $labels.uuid }} has reported XID {{ $labels.xid }} {{ $value | printf "%.0f" }} time(s) within ` + duration(window) + ".",
		}},
		Runbook: Runbook{
			Meaning: xidMeaning(),
			Check:   "`journalctl -k -g 'NVRM: Xid' --since -1h` has the whole message, with the process. `nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT` shows what became of memory that failed. No XID does not mean no error: whether the driver reports them on GB10 is not known, and an exporter that was not running has not counted them.",
			Action:  "Discard the run and stop what uses the GPU. Look the code up in NVIDIA's XID catalogue (docs.nvidia.com/deploy/xid-errors); most of these end with a reset of the GPU (`sudo nvidia-smi --gpu-reset`, not on GB10: reboot). If it comes back on a machine that is cool and whose driver is supported, have the GPU replaced.",
		},
	}
}

// xidMeaning lists the codes with what they mean.
func xidMeaning() string {
	text := "An XID is an error that the driver writes into the kernel's log. Codes that a fault of a program brings about, such as 13, 31, 43 and 45, are counted and shown, but not alerted on. Those that are:"
	hardware := map[uint64]bool{}
	for _, code := range metric.HardwareXIDs() {
		hardware[code] = true
	}
	for _, known := range metric.KnownXIDs() {
		if hardware[known.Code] {
			text += "\n- " + strconv.FormatUint(known.Code, 10) + ": " + known.Meaning
		}
	}
	return text
}

func gpuLost() Alert {
	return Alert{
		Name: "GPULost", About: AboutPart,
		Summary: "A GPU has fallen off the bus, or its driver has gone.",
		Rules: []Rule{{
			Severity: Critical, KeepFiringFor: 15 * time.Minute,
			Expr:        expr.Select(metric.GPULost).Max(byGPU()).Equals(expr.Number(1)),
			Description: "GPU {{ $labels.uuid }} is lost; looked for again after 1 s, then less often, at least once a minute.",
		}},
		Runbook: Runbook{
			Meaning: "The driver answers that the device is gone. Programs that used it have failed; its figures are absent, not 0. Other GPUs of the machine go on. It is not a call that does not return, which is NVMLCallHung, and not a driver that was unloaded before the exporter had seen the GPU.",
			Check:   "`nvidia-smi -L` and `lspci -d 10de:` show whether driver and bus still list it. `journalctl -k -g 'NVRM|pcie|AER' --since -1h` shows what happened before: mostly XID 79, or 119 with calls that hung.",
			Action:  "Reboot; if it does not come back then, take the machine off power for a minute. Discard the runs of that time. If it happens under load only, look at GPUHot and the power supply before anything else; on a Spark a cap of the clock at 2200 MHz has helped.",
		},
	}
}

// hungCalls are driver calls that have not returned.
func hungCalls() expr.Expr {
	return expr.Select(metric.GPUCallHung).Max(expr.By(metric.LabelHost, metric.LabelUUID, metric.LabelCall)).Equals(expr.Number(1))
}

func nvmlCallHung() Alert {
	const wait = time.Minute
	return Alert{
		Name: "NVMLCallHung", About: AboutPart,
		Summary: "A call of the GPU driver does not return.",
		Rules: []Rule{{
			Severity: Critical, For: wait, KeepFiringFor: 5 * time.Minute,
			Expr:        hungCalls(),
			Description: "the call {{ $labels.call }} of GPU {{ $labels.uuid }} has not returned for " + duration(wait) + ".",
		}},
		Runbook: Runbook{
			Meaning: "Each call of the driver hangs. Inference on that GPU often hangs too, and what the dashboards show of it is absent. The exporter itself goes on: it asks the device again only when the call before has returned. A call that is slow, such as the one for PCIe traffic, returns within seconds and is not meant.",
			Check:   "`nvidia-smi & sleep 10; kill -0 $! && echo hangs` says whether the driver hangs for everybody (`timeout` would hang with it, because what waits in the driver cannot be ended). `journalctl -k -g 'NVRM|Xid|hung' --since -1h`: XID 119 and 120 are the usual cause. `ps -eo pid,stat,wchan:32,comm | awk '$2 ~ /D/'` shows who waits in the kernel.",
			Action:  "If `nvidia-smi` answers, restart the exporter (`sudo systemctl restart uma-exporter`). If it hangs too, stop what uses the GPU; a process in state D cannot be killed: reboot. Discard the run.",
		},
	}
}

// nvmlStuck uses the age of the last reading. Its timestamp must also be constant, since a difference between two
// clocks would give such an age too.
func nvmlStuck(t metric.Thresholds) Alert {
	ofGPUs, onHost := expr.Is(metric.LabelCollector, metric.CollectorGPU), expr.On(metric.LabelHost)
	one := expr.Number(1)
	age := expr.Select(metric.CollectorLastSuccessTimestampSeconds, ofGPUs).Max(byHost()).Age()
	still := expr.Changes(metric.CollectorLastSuccessTimestampSeconds, expr.Over(time.Minute), ofGPUs).Max(byHost()).Equals(expr.Number(0))
	failed := expr.Select(metric.CollectorState, ofGPUs, expr.Is(metric.LabelState, metric.CollectorFailed)).Max(byHost()).Equals(one)
	lost := expr.Select(metric.GPULost).Max(byHost()).Equals(one)
	return Alert{
		Name:    "NVMLStuck",
		Summary: "The GPU driver has ceased to give figures.",
		Rules: []Rule{{
			Severity: Critical, For: time.Minute, KeepFiringFor: 5 * time.Minute,
			Expr: age.Above(expr.Number(t.SampleAge.Seconds())).And(still, onHost).And(failed, onHost).
				Unless(lost, onHost).Unless(hungCalls().Max(byHost()), onHost),
			Description: "its GPUs were last read {{ $value | humanizeDuration }} ago, more than " + duration(t.SampleAge) + ".",
		}},
		Runbook: Runbook{
			Meaning: "Reading the GPUs worked before and has failed ever since; alerts about GPUs cannot fire meanwhile. It is not a GPU that is gone (GPULost), nor a call that is known to hang (NVMLCallHung), nor a driver that was unloaded, which the exporter takes for a machine without one. Clocks that differ do not bring it about.",
			Check:   "`uma-exporter doctor` says what the driver answers; `nvidia-smi` whether it answers others. `journalctl -u uma-exporter --since -1h` has when it began.",
			Action:  "After an update of the driver without a reboot, library and module do not match (NVML: Driver/library version mismatch): reboot. In a container that has lost its devices after `systemctl daemon-reload`: restart the container. Else as for NVMLCallHung.",
		},
	}
}
