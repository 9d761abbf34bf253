// Package roofline computes how fast a machine can decode: each step reads the weights once and the KV cache of every
// sequence, and no step is shorter than memory takes for that. It also judges, by a run's telemetry, what held a run
// below that limit.
package roofline

// Part is a GPU, or a chip with one, and the bandwidth of its memory by its maker.
type Part struct {
	Name           string // as NVML has it
	BytesPerSecond float64
	Source         string
}

// Parts are the known parts. A part that is not here has no limit: bandwidth is not guessed from a similar name, since
// an H100 has between 2.0 and 3.9 TB/s, by its form.
func Parts() []Part {
	const specification = "NVIDIA's data sheet of "
	return []Part{
		{"NVIDIA GB10", 273e9, specification + "DGX Spark"},
		{"NVIDIA Thor", 273e9, specification + "Jetson Thor"},
		{"NVIDIA H200", 4.8e12, specification + "H200"},
		{"NVIDIA H200 NVL", 4.8e12, specification + "H200"},
		{"NVIDIA H100 80GB HBM3", 3.35e12, specification + "H100 SXM"},
		{"NVIDIA H100 PCIe", 2.0e12, specification + "H100 PCIe"},
		{"NVIDIA H100 NVL", 3.9e12, specification + "H100 NVL"},
		{"NVIDIA GH200 480GB", 4.0e12, specification + "GH200 with HBM3"},
		{"NVIDIA GH200 144G HBM3e", 4.9e12, specification + "GH200 with HBM3e"},
		{"NVIDIA A100-SXM4-80GB", 2.039e12, specification + "A100 80GB SXM"},
		{"NVIDIA A100-SXM4-40GB", 1.555e12, specification + "A100 40GB"},
		{"NVIDIA A100 80GB PCIe", 1.935e12, specification + "A100 80GB PCIe"},
		{"NVIDIA L40S", 864e9, specification + "L40S"},
		{"NVIDIA GeForce RTX 5090", 1.792e12, specification + "RTX 5090"},
		{"NVIDIA GeForce RTX 4090", 1.008e12, specification + "RTX 4090"},
		{"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 1.792e12, specification + "RTX PRO 6000 Blackwell"},
	}
}

// FindPart finds a part by the name that its driver reports.
func FindPart(name string) (Part, bool) {
	for _, part := range Parts() {
		if part.Name == name {
			return part, true
		}
	}
	return Part{}, false
}
