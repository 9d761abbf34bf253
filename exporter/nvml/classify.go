package nvml

import (
	"slices"
	"strings"
)

// AddressingMode is how a GPU reaches the memory of processes (nvmlDeviceAddressingModeType_t).
type AddressingMode uint64

// The addressing modes.
const (
	AddressingNone AddressingMode = 0
	AddressingHMM  AddressingMode = 1 // the kernel mirrors page tables in software
	AddressingATS  AddressingMode = 2 // the GPU walks the CPU's page tables
)

// Evidence is the driver's answers about the place of the GPU's memory. Nil is not answered.
type Evidence struct {
	Name string
	// Memory is the return code of the memory call, MemoryTotalBytes its total on Success.
	Memory           Return
	MemoryTotalBytes uint64
	// PoolBytes is MemTotal of the host, 0 if unknown.
	PoolBytes  uint64
	Addressing *AddressingMode
	NUMANode   *uint64 // the node that the GPU's memory is onlined as
	C2C        bool    // the chip-to-chip link to the CPU is enabled
	MIG        bool    // the GPU is partitioned
}

// Classify returns where the memory of a GPU is.
//
//	integrated           the memory call answers NOT_SUPPORTED exactly, the GPU is not partitioned, and it is
//	                     integrated by its name or walks the CPU's page tables (ATS)
//	integrated_carveout  integrated by its name, yet the call answers with clearly less than the host's memory
//	shimmed              integrated by its name, yet the call answers with the host's memory, within 10 %: a
//	                     replacement library is at work
//	coherent_numa        the call answers, the memory has a NUMA node, and the link is coherent (ATS or C2C)
//	coherent_driver      the call answers, there is no node, and the link is coherent
//	discrete             the call answers, without evidence of the above
//	unknown              everything else
//
// A memory call that fails in any other way is no evidence: a GPU that is lost (15), blocked (4, 17) or whose library
// does not match the driver (18) must not pass for integrated. Nor does a total near the host's memory suffice for
// shimmed: an H200 (141 GB) in a host of 128 GiB is discrete.
func Classify(e Evidence) Architecture {
	ats := e.Addressing != nil && *e.Addressing == AddressingATS
	known := knownIntegrated(e.Name)
	switch {
	case e.Memory == NotSupported && !e.MIG && (known || ats):
		return Integrated
	case e.Memory != Success:
		return ArchitectureUnset
	case known:
		return classifyAnswering(e.MemoryTotalBytes, e.PoolBytes)
	case e.NUMANode != nil && (ats || e.C2C):
		return CoherentNUMA
	case e.NUMANode != nil:
		return ArchitectureUnset
	case ats || e.C2C:
		return CoherentDriver
	}
	return Discrete
}

// classifyAnswering classifies an integrated GPU whose memory call answers although it has no memory of its own. It
// compares the total with the host's memory, and returns ArchitectureUnset while either is unknown.
func classifyAnswering(total, pool uint64) Architecture {
	ratio := float64(total) / float64(pool)
	switch {
	case pool == 0 || total == 0 || ratio > 1.1:
		return ArchitectureUnset
	case ratio >= 0.9:
		return Shimmed
	}
	return IntegratedCarved
}

// knownIntegrated matches the product word exactly: GB10 is DGX Spark, GB10B another chip.
func knownIntegrated(name string) bool {
	words := strings.Fields(strings.TrimPrefix(name, "NVIDIA "))
	return len(words) > 0 && slices.Contains([]string{"GB10", "N1X", "Thor", "Orin"}, words[0])
}
