package nvml

import (
	"maps"
	"math"
	"slices"
)

// NVML writes a number of all ones, as wide as the type of the quantity, in place of a value that it does not have
// (NVML_VALUE_NOT_AVAILABLE of nvml.h). The table of calls has the type of each quantity. Quantities that can be
// negative have no such number: a temperature margin of -1 is one degree beyond the limit.
const (
	allOnes32 = math.MaxUint32 // of an unsigned int, also where it was widened with its sign
	allOnes64 = math.MaxUint64 // of an unsigned long long
)

// withoutAllOnes returns the answer of a call without the numbers that are none. False is an answer that is none as a
// whole. The value given may be shared and is not changed.
func (c deviceCall) withoutAllOnes(v Value) (Value, bool) {
	if c.none > 0 && v.Number >= c.none {
		return Value{}, false
	}
	isNone := func(_ string, n uint64) bool { return c.none > 0 && n >= c.none }
	for name, n := range v.Numbers {
		if isNone(name, n) {
			v.Numbers = maps.Clone(v.Numbers)
			maps.DeleteFunc(v.Numbers, isNone)
			break
		}
	}
	v.Processes = knownProcesses(v.Processes)
	v.Instances = slices.Clone(v.Instances)
	for i := range v.Instances {
		one := &v.Instances[i]
		for _, bytes := range []**uint64{&one.TotalBytes, &one.UsedBytes, &one.FreeBytes} {
			*bytes = known(*bytes, allOnes64)
		}
		one.Processes = knownProcesses(one.Processes)
	}
	v.Links = slices.Clone(v.Links)
	for i := range v.Links {
		v.Links[i].Errors = maps.Clone(v.Links[i].Errors)
		maps.DeleteFunc(v.Links[i].Errors, func(_ string, n uint64) bool { return n == allOnes64 })
	}
	return v, true
}

// knownProcesses is the list with nil for what the driver does not have: the memory of a process, or its instance on a
// GPU that is not partitioned.
func knownProcesses(list []Process) []Process {
	list = slices.Clone(list)
	for i := range list {
		p := &list[i]
		p.UsedBytes = known(p.UsedBytes, allOnes64)
		if p.GPUInstance, p.ComputeInstance = known(p.GPUInstance, allOnes32), known(p.ComputeInstance, allOnes32); p.GPUInstance == nil || p.ComputeInstance == nil {
			p.GPUInstance, p.ComputeInstance = nil, nil
		}
	}
	return list
}

// known is nil for a number that is none.
func known[N uint32 | uint64](n *N, none N) *N {
	if n == nil || *n == none {
		return nil
	}
	return n
}
