package metric

import "slices"

// Subject is a part of the vocabulary with a heading of its own in the metric reference.
type Subject struct {
	Title string
	Defs  []Definer
}

// Subjects lists the subjects of umascope's own series.
func Subjects() []Subject {
	return []Subject{
		{"Exporter and host", exporterDefs()},
		{"Flight recorder", recorderDefs()},
		{"Memory", memoryDefs()},
		{"GPU", gpuDefs()},
		{"Log of the GPU driver", driverLogDefs()},
		{"Cgroups", cgroupDefs()},
		{"Processes", processDefs()},
		{"KVBM", kvbmDefs()},
		{"Engines", engineDefs()},
		{"cuFile", cufileDefs()},
		{"NVMe", nvmeDefs()},
		{"Other drives", diskDefs()},
		{"Thermal", thermalDefs()},
		{"Network", networkDefs()},
		{"PCI Express", pcieDefs()},
		{"Load", loadDefs()},
		{"Results", resultsDefs()},
		{"Comparisons", comparisonDefs()},
		{"uma-view", viewDefs()},
	}
}

// All lists every series of umascope's own, in the order of Subjects.
func All() []Definer {
	var all [][]Definer
	for _, subject := range Subjects() {
		all = append(all, subject.Defs)
	}
	return slices.Concat(all...)
}

// Everything lists every series: umascope's own, those that rules record, and those of other programs.
func Everything() []Definer { return slices.Concat(All(), Recorded(), Foreign()) }
