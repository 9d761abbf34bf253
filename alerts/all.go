package alerts

// Groups lists the groups: the table of contents.
func Groups() []Group {
	return []Group{memoryGroup(), containerGroup(), gpuGroup(), nvmeGroup(), nvmeBaselineGroup(), exporterGroup(), serviceGroup(), runGroup(), resultGroup(), comparisonGroup()}
}
