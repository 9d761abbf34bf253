package rundir

// Storage is the storage below a folder of the measured machine. Facts that could not be read are absent.
type Storage struct {
	// Of is which folder it is: one of the constants below.
	Of   string `json:"of" pack:"word"`
	Path string `json:"path" pack:"path"`
	// Source is the mounted device, FileSystem its type, Options its mount options (mount(8)).
	Source     string   `json:"source,omitempty" pack:"word"`
	FileSystem string   `json:"file_system,omitempty" pack:"word"`
	Options    []string `json:"options,omitempty" pack:"word"`
	TotalBytes uint64   `json:"total_bytes,omitempty"`
	// FreeBytes is the space that an unprivileged process may use.
	FreeBytes uint64 `json:"free_bytes,omitempty"`
	// Drives are the drives below it: several if it is spread over them, none if it is in memory.
	Drives []Drive `json:"drives,omitempty"`
	// Missing is why no fact could be read.
	Missing string `json:"missing,omitempty" pack:"text"`
}

// Folders that are examined.
const (
	StorageOfRun = "run"      // the run folder
	StorageOfKV  = "kv_cache" // the disk tier of the KV cache
)

// Drive is a block device of its own, such as nvme0n1.
type Drive struct {
	Device   string `json:"device" pack:"word"`
	Model    string `json:"model,omitempty" pack:"word"`
	Firmware string `json:"firmware,omitempty" pack:"word"`
	// LinkSpeed and LinkWidth are those of its PCIe link now, as the kernel writes them: "16.0 GT/s PCIe", "4".
	LinkSpeed string `json:"link_speed,omitempty" pack:"word"`
	LinkWidth string `json:"link_width,omitempty" pack:"word"`
}
