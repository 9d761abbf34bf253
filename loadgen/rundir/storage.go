package rundir

// Storage is what a folder of the measured machine lies on. What could not be found out is absent.
type Storage struct {
	// Of says whose folder it is: one of the constants below.
	Of   string `json:"of"`
	Path string `json:"path"`
	// Source is what is mounted, FileSystem how, Options with which of mount(8).
	Source     string   `json:"source,omitempty"`
	FileSystem string   `json:"file_system,omitempty"`
	Options    []string `json:"options,omitempty"`
	TotalBytes uint64   `json:"total_bytes,omitempty"`
	// FreeBytes are those that an unprivileged process may use.
	FreeBytes uint64 `json:"free_bytes,omitempty"`
	// Drives are what it lies on in the end: several of one that is spread, none of one in memory.
	Drives []Drive `json:"drives,omitempty"`
	// Missing is why nothing could be found out.
	Missing string `json:"missing,omitempty"`
}

// Whose folders are looked at.
const (
	StorageOfRun = "run"      // the run folder
	StorageOfKV  = "kv_cache" // the disk tier of the KV cache
)

// Drive is a block device of its own, such as nvme0n1.
type Drive struct {
	Device   string `json:"device"`
	Model    string `json:"model,omitempty"`
	Firmware string `json:"firmware,omitempty"`
	// LinkSpeed and LinkWidth are of its PCIe link now, in the kernel's words: "16.0 GT/s PCIe", "4".
	LinkSpeed string `json:"link_speed,omitempty"`
	LinkWidth string `json:"link_width,omitempty"`
}
