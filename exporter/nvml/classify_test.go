package nvml

import "testing"

func TestArchitectureFollowsTheEvidence(t *testing.T) {
	const gib = 1 << 30
	none, hmm, ats := new(AddressingNone), new(AddressingHMM), new(AddressingATS)
	node := new(uint64(1))
	cases := map[string]struct {
		evidence Evidence
		want     Architecture
	}{
		"DGX Spark": {Evidence{Name: "NVIDIA GB10", Memory: NotSupported, Addressing: ats}, Integrated},
		"DGX Spark whose driver has no addressing": {Evidence{Name: "NVIDIA GB10", Memory: NotSupported}, Integrated},
		"Jetson Thor": {Evidence{Name: "NVIDIA Thor", Memory: NotSupported}, Integrated},
		"unknown part that walks the CPU's tables":     {Evidence{Name: "NVIDIA GB99", Memory: NotSupported, Addressing: ats}, Integrated},
		"another chip of similar name":                 {Evidence{Name: "NVIDIA GB10B", Memory: NotSupported}, ArchitectureUnset},
		"discrete part without memory call":            {Evidence{Name: "NVIDIA H100", Memory: NotSupported, Addressing: none}, ArchitectureUnset},
		"partitioned GH200":                            {Evidence{Name: "NVIDIA GH200 480GB", Memory: NotSupported, Addressing: ats, MIG: true}, ArchitectureUnset},
		"Spark without permission":                     {Evidence{Name: "NVIDIA GB10", Memory: NoPermission, Addressing: ats}, ArchitectureUnset},
		"Spark that is lost":                           {Evidence{Name: "NVIDIA GB10", Memory: GPUIsLost, Addressing: ats}, ArchitectureUnset},
		"Spark blocked by the system":                  {Evidence{Name: "NVIDIA GB10", Memory: OperatingSystem, Addressing: ats}, ArchitectureUnset},
		"Spark with the wrong library":                 {Evidence{Name: "NVIDIA GB10", Memory: LibRMVersionMismatch, Addressing: ats}, ArchitectureUnset},
		"Spark with an unknown error":                  {Evidence{Name: "NVIDIA GB10", Memory: Unknown, Addressing: ats}, ArchitectureUnset},
		"Spark with a library too old":                 {Evidence{Name: "NVIDIA GB10", Memory: FunctionNotFound}, ArchitectureUnset},
		"Spark behind a replacement library":           {Evidence{Name: "NVIDIA GB10", MemoryTotalBytes: 119 * gib, PoolBytes: 121 * gib, Addressing: ats}, Shimmed},
		"Spark behind one, host unknown":               {Evidence{Name: "NVIDIA GB10", MemoryTotalBytes: 119 * gib, Addressing: ats}, ArchitectureUnset},
		"N1X with a carve-out":                         {Evidence{Name: "NVIDIA N1X", MemoryTotalBytes: 8128 << 20, PoolBytes: 121 * gib}, IntegratedCarved},
		"integrated part larger than its host":         {Evidence{Name: "NVIDIA GB10", MemoryTotalBytes: 200 * gib, PoolBytes: 121 * gib}, ArchitectureUnset},
		"GH200, memory onlined":                        {Evidence{Name: "NVIDIA GH200 480GB", MemoryTotalBytes: 96 * gib, Addressing: ats, NUMANode: node}, CoherentNUMA},
		"GH200, memory kept by the driver":             {Evidence{Name: "NVIDIA GH200 480GB", MemoryTotalBytes: 96 * gib, Addressing: ats}, CoherentDriver},
		"coherent by its link":                         {Evidence{Name: "NVIDIA GB200", MemoryTotalBytes: 186 * gib, C2C: true}, CoherentDriver},
		"node without a coherent link":                 {Evidence{Name: "NVIDIA X", MemoryTotalBytes: 96 * gib, NUMANode: node}, ArchitectureUnset},
		"H200":                                         {Evidence{Name: "NVIDIA H200", MemoryTotalBytes: 141 * gib, Addressing: hmm}, Discrete},
		"H200 in a host with as much memory":           {Evidence{Name: "NVIDIA H200", MemoryTotalBytes: 139 * gib, PoolBytes: 138 * gib, Addressing: none}, Discrete},
		"old card whose driver answers nothing but it": {Evidence{Name: "Tesla T4", MemoryTotalBytes: 15 * gib}, Discrete},
		"no name at all":                               {Evidence{Memory: NotSupported}, ArchitectureUnset},
	}
	for name, c := range cases {
		if got := Classify(c.evidence); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestOnlyPoolArchitecturesPutGPUMemoryIntoThePool(t *testing.T) {
	for architecture, want := range map[Architecture]bool{
		Integrated: true, IntegratedCarved: true, Shimmed: true,
		Discrete: false, CoherentNUMA: false, CoherentDriver: false, ArchitectureUnset: false,
	} {
		if got := architecture.InPool(); got != want {
			t.Errorf("%s: %v", architecture, got)
		}
	}
}
