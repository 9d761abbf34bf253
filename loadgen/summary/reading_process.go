package summary

import (
	"fmt"
	"maps"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/format"
)

// held is the most that one process held of the GPUs.
type held struct {
	pid, comm, cgroup string
	bytes             float64
}

// processes separates the engine's processes on the GPU from others. The engine is the process that holds most over the
// measured phases, with all processes in its cgroup: it starts its workers there. A process without a cgroup of its
// own, as on a host without cgroups, is identified by its name.
func (r *reading) processes() {
	all := r.holders()
	if len(all) == 0 {
		return
	}
	r.foreignKnown = true
	groups := map[string]float64{}
	for _, p := range all {
		groups[p.group()] += p.bytes
	}
	engine := slices.MaxFunc(slices.Sorted(maps.Keys(groups)), func(a, b string) int {
		return int(max(-1, min(1, groups[a]-groups[b])))
	})
	for _, p := range all {
		if p.group() == engine {
			continue
		}
		r.foreign = append(r.foreign, p)
	}
}

func (p held) group() string {
	if p.cgroup == "" || p.cgroup == "/" {
		return "process " + p.comm
	}
	return p.cgroup
}

func (p held) String() string {
	return fmt.Sprintf("%s (%s) held %s", p.comm, p.pid, format.Bytes(p.bytes))
}

// holders lists the processes on the GPUs in the measured phases, with the most that each held.
func (r *reading) holders() []held {
	most := map[held]float64{}
	r.over(func(ns int64) {
		now := map[held]float64{}
		for _, series := range r.source.Find(metric.GPUProcessMemoryBytes) {
			if v, ok := series.At(ns); ok {
				l := series.Labels
				now[held{pid: l[string(metric.LabelPID)], comm: l[string(metric.LabelComm)], cgroup: l[string(metric.LabelCgroup)]}] += v
			}
		}
		for p, v := range now {
			most[p] = max(most[p], v)
		}
	})
	var all []held
	for p, v := range most {
		p.bytes = v
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b held) int { return int(max(-1, min(1, b.bytes-a.bytes))) })
	return all
}
