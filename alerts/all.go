package alerts

// Groups lists the groups: the table of contents.
func Groups() []Group {
	return []Group{exporterGroup(), memoryGroup(), containerGroup(), gpuGroup(), nvmeGroup(), nvmeBaselineGroup(), pcieGroup(), serviceBaselineGroup(), serviceGroup(), runGroup(), resultGroup(), comparisonGroup()}
}
