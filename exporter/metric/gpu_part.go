package metric

// GPUPart is a GPU, or a chip with one, and the bandwidth of its memory by its maker.
type GPUPart struct {
	Name           string // as the driver reports it, the label name of GPUInfo
	BytesPerSecond float64
}

// GPUParts are the known parts, each with the figure that NVIDIA gives in its specification. A part that is not here has no
// limit: bandwidth is not guessed from a similar name, since an H100 has between 2.0 and 3.9 TB/s, by its form.
func GPUParts() []GPUPart {
	return []GPUPart{
		{"NVIDIA GB10", 273e9},
		{"NVIDIA H200", 4.8e12},
		{"NVIDIA H200 NVL", 4.8e12},
		{"NVIDIA H100 80GB HBM3", 3.35e12},
		{"NVIDIA H100 PCIe", 2.0e12},
		{"NVIDIA H100 NVL", 3.9e12},
		{"NVIDIA A100-SXM4-80GB", 2.039e12},
		{"NVIDIA A100-SXM4-40GB", 1.555e12},
		{"NVIDIA A100 80GB PCIe", 1.935e12},
	}
}

// FindGPUPart finds a part by the name that its driver reports.
func FindGPUPart(name string) (GPUPart, bool) {
	for _, part := range GPUParts() {
		if part.Name == name {
			return part, true
		}
	}
	return GPUPart{}, false
}
