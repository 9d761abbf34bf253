package telemetry

import (
	"cmp"
	"slices"
)

// admit says, by key, which of the series that are new on a page find room: families of few series first, in the order
// of the vocabulary among equals. Of a machine with several containers the two dozen series of every cgroup would
// else take the room of what comes later there, among it what engine and drives tell.
func admit(fresh []observation, room int) map[string]bool {
	count := map[string]int{}
	for _, o := range fresh {
		count[o.name]++
	}
	ordered := slices.Clone(fresh)
	slices.SortStableFunc(ordered, func(a, b observation) int { return cmp.Compare(count[a.name], count[b.name]) })
	admitted := map[string]bool{}
	for _, o := range ordered {
		if len(admitted) >= room {
			break
		}
		admitted[o.key] = true
	}
	return admitted
}
