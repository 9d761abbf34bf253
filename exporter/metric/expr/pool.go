package expr

import "github.com/umascope/umascope/exporter/metric"

// AtFloor is a lower bound of memory in bytes, by host.
func AtFloor(floor metric.Floor, matchers ...Matcher) Expr {
	pool := Select(metric.MemoryPoolBytes, matchers...).Max(By(metric.LabelHost))
	return pool.Times(Number(floor.Share)).ClampMax(floor.Bytes)
}

// InPool keeps hosts whose GPU allocates from the pool. On other hosts little free memory means page cache at work, and
// free contiguous blocks matter to no driver.
func (e Expr) InPool(matchers ...Matcher) Expr {
	architecture := OneOf(metric.LabelArchitecture, metric.ArchitecturesInPool()...)
	hosts := Select(metric.HostInfo, append([]Matcher{architecture}, matchers...)...)
	return e.And(hosts, On(metric.LabelHost))
}
