package alerts

import (
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// containerGroup is about limits of containers, and the memory that they do not count.
func containerGroup() Group {
	t := metric.AlertThresholds()
	return Group{Name: "container", Alerts: []Alert{containerLimitUncovered(t), containerOOMKill()}}
}

// byCgroup reduces to one series per cgroup of a host.
func byCgroup() expr.Grouping { return expr.By(metric.LabelHost, metric.LabelCgroup) }

func containerLimitUncovered(t metric.Thresholds) Alert {
	// The family is absent where the GPU does not allocate from the pool, and of cgroups without a limit.
	share := expr.Select(metric.CgroupLimitUncoveredRatio).Max(byCgroup())
	return Alert{
		Name:    "ContainerLimitUncovered",
		Summary: "A container has a memory limit that does not count the GPU memory it holds.",
		About:   AboutPart,
		Rules: []Rule{{
			Severity: Info, KeepFiringFor: 5 * time.Minute,
			Expr:        share.Above(expr.Number(t.Container.UncoveredRatio)),
			Description: "{{ $value | humanizePercentage }} of the memory of {{ $labels.cgroup }} is held by the GPU and counted by no limit of it.",
		}},
		Runbook: Runbook{
			Meaning: "On a machine whose GPU allocates from the pool, what the driver allocates is charged to no cgroup. The limit of the container (`--memory`) stops its ordinary memory only: `docker stats` shows a small container, and the host can still run out of memory. Nothing is wrong with the container; its limit does not protect the host.",
			Check:   "`uma-exporter explain` lists what each container is charged and what GPU memory it holds. `docker inspect -f '{{.HostConfig.Memory}}' NAME` prints the limit in bytes.",
			Action:  "Bound the GPU memory in the engine instead: a fixed size of the KV cache, or a lower memory fraction. Keep the limit for the rest, and leave room for it beside the GPU memory when you plan what runs together.",
		},
	}
}

func containerOOMKill() Alert {
	kills := expr.Increase(metric.CgroupMemoryEventsTotal, expr.Over(10*time.Minute), expr.Is(metric.LabelEvent, metric.EventOOMKill))
	killed := kills.Max(byCgroup()).Above(expr.Number(0))
	on := expr.On(metric.LabelHost, metric.LabelCgroup)
	// The counter of a cgroup includes the kills in the cgroups below it: of a chain only the lowest is named.
	parents := expr.Select(metric.CgroupInfo).And(killed, on).Max(expr.By(metric.LabelHost, metric.LabelParent))
	above := parents.Copied(metric.LabelParent, "(.+)", metric.LabelCgroup, "$1")
	return Alert{
		Name:    "ContainerOOMKill",
		Summary: "The kernel has killed a process of a container because memory ran out.",
		About:   AboutPart,
		Rules: []Rule{{
			Severity: Critical, KeepFiringFor: 15 * time.Minute,
			Expr:        killed.Unless(above, on),
			Description: "a process of {{ $labels.cgroup }}, or of a cgroup below it that is gone, was killed within the last 10 minutes because memory ran out.",
		}},
		Runbook: Runbook{
			Meaning: "Either the limit of this cgroup or of one around it was reached, or the whole host ran out of memory and the victim was in here; then OOMKill fires too. GPU memory counts towards no limit, so it is the ordinary memory of the container (weights read into anonymous memory, a host KV tier, page cache in use, `/dev/shm`) that was too much for a limit.",
			Check:   "`journalctl -k -g 'oom-kill|Killed process' --since -1h`: `constraint=CONSTRAINT_MEMCG` means a limit, and `oom_memcg=` names whose; `CONSTRAINT_NONE` means the host. `docker inspect -f '{{.State.OOMKilled}}' NAME` shows it for a container that has ended.",
			Action:  "After a limit: raise it, or shrink the host KV tier or the shared memory of the engine. After the host: see OOMKill. A run of that time has failed; a container that restarts by itself comes back with another KV cache than before.",
		},
	}
}
