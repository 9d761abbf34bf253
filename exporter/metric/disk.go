package metric

// Whole drives that are not NVMe, which has series of its own, by device, in node_exporter's words.
var (
	DiskReadBytesTotal = counter(Def{Name: "uma_disk_read_bytes_total", Unit: Bytes, Telemetry: true,
		Help:   "Bytes read from a drive that is not NVMe: SATA, virtio, eMMC. Partitions and devices on top of a drive are not counted again.",
		Source: diskstats + " sectors x 512", Labels: []Label{LabelDevice}})
	DiskWrittenBytesTotal = counter(Def{Name: "uma_disk_written_bytes_total", Unit: Bytes, Telemetry: true,
		Help:   "Bytes written to a drive that is not NVMe.",
		Source: diskstats + " sectors x 512", Labels: []Label{LabelDevice}})
)

func diskDefs() []Definer { return []Definer{DiskReadBytesTotal, DiskWrittenBytesTotal} }
