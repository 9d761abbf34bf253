package collector

import (
	"cmp"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/hostfs"
)

// candidate is a cgroup that is shown if the limit permits.
type candidate struct {
	path     string
	identity hostfs.CgroupIdentity
	holdsGPU bool
}

// candidates are the cgroups that may be shown: containers, pods, cgroups directly below the root, holders of GPU
// memory, and cgroups that the options include.
func (c *cgroupCollector) candidates(paths []string, held gpuHeld) []candidate {
	var candidates []candidate
	for _, path := range paths {
		one := candidate{path: path, identity: hostfs.IdentifyCgroup(path), holdsGPU: held.direct[path]}
		if one.isContained() || isTop(path) || one.holdsGPU || c.wanted(path) {
			candidates = append(candidates, one)
		}
	}
	return candidates
}

func (c *cgroupCollector) wanted(path string) bool {
	return c.options.Include != nil && c.options.Include.MatchString(path)
}

// isPause reports whether a container only holds the namespaces of a pod. Pause containers are shown only on request.
func (c *cgroupCollector) isPause(one candidate) bool {
	return c.names.of(one.identity.ID).Sandbox && !one.holdsGPU && !c.wanted(one.path)
}

func isTop(path string) bool { return strings.LastIndexByte(path, '/') == 0 }

func (c candidate) isContained() bool {
	return c.identity.Kind == hostfs.KindContainer || c.identity.Kind == hostfs.KindPod
}

// rank orders cgroups by importance: first holders of GPU memory; then containers and the top-level cgroups, which
// contain all others; then the rest.
func (c candidate) rank() int {
	switch {
	case c.holdsGPU:
		return 0
	case c.identity.Kind == hostfs.KindContainer, isTop(c.path):
		return 1
	}
	return 2
}

// within keeps as many cgroups as the limit permits, of equal rank those with the largest charge. The order of the tree
// is kept.
func (c *cgroupCollector) within(candidates []candidate) []candidate {
	limit := cmp.Or(c.options.Limit, defaultCgroupLimit)
	if len(candidates) <= limit {
		return candidates
	}
	type ranked struct {
		at, rank int
		charged  uint64
	}
	order := make([]ranked, 0, len(candidates))
	inParallel(len(candidates), func(i int) ranked {
		// A cgroup without figures, because it is gone or has no memory controller, comes last.
		charged, _ := hostfs.ReadMemoryCurrent(c.host.Cgroup, candidates[i].path)
		return ranked{i, candidates[i].rank(), charged}
	}, func(one ranked) { order = append(order, one) })
	slices.SortFunc(order, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.charged, a.charged), cmp.Compare(a.at, b.at))
	})
	order = order[:limit]
	slices.SortFunc(order, func(a, b ranked) int { return cmp.Compare(a.at, b.at) })
	chosen := make([]candidate, limit)
	for i, one := range order {
		chosen[i] = candidates[one.at]
	}
	return chosen
}
