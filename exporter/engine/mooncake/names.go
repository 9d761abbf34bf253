package mooncake

// Names on the page of the master, recorded from 0.3.13.post1. It has no labels for what is read here.
const (
	Prefix             = "master_"
	MemoryBytes        = "master_allocated_bytes"
	MemoryCapacity     = "master_total_capacity_bytes"
	FileBytes          = "master_allocated_file_size_bytes"
	FileCapacity       = "master_total_file_capacity_bytes"
	RemoteDiskBytes    = "master_nof_allocated_bytes" // NVMe over fabrics
	RemoteDiskCapacity = "master_total_nof_capacity_bytes"
)
