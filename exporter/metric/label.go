package metric

// Label is the name of a label.
type Label string

// The label names. A name means the same thing in every family.
const (
	LabelArm          Label = "arm"  // arm of an experiment, such as native or container
	LabelArch         Label = "arch" // machine architecture, such as aarch64
	LabelArchitecture Label = "memory_architecture"
	LabelCall         Label = "call" // driver call
	LabelCgroup       Label = "cgroup"
	LabelCollector    Label = "collector"
	LabelComm         Label = "comm" // kernel's short process name, at most 15 bytes
	LabelController   Label = "controller"
	LabelCUDAVersion  Label = "cuda_version"
	LabelDevice       Label = "device"
	LabelDirection    Label = "direction"
	LabelDriver       Label = "driver_version"
	LabelFirmware     Label = "firmware"
	LabelGoVersion    Label = "goversion"
	LabelGPU          Label = "gpu"  // index of the device as the driver counts
	LabelHost         Label = "host" // measured machine; on host series set by the scrape job
	LabelJob          Label = "job"
	LabelKernel       Label = "kernel"
	LabelKind         Label = "kind"
	LabelLE           Label = "le"
	LabelLimit        Label = "limit"
	LabelLine         Label = "line" // line of the memory ledger
	LabelMinBlock     Label = "min_block_bytes"
	LabelMode         Label = "mode"
	LabelModel        Label = "model"
	LabelName         Label = "name"
	LabelNeeds        Label = "needs" // privilege or access
	LabelPCIBusID     Label = "pci_bus_id"
	LabelPhase        Label = "phase"
	LabelPID          Label = "pid" // process id in the exporter's PID namespace
	LabelProduct      Label = "product"
	LabelReason       Label = "reason"
	LabelResource     Label = "resource"
	LabelRevision     Label = "revision"
	LabelRun          Label = "run"
	LabelScenario     Label = "scenario"
	LabelSensor       Label = "sensor"
	LabelState        Label = "state"
	LabelStatus       Label = "status"
	LabelUUID         Label = "uuid"
	LabelVBIOS        Label = "vbios"
	LabelVendor       Label = "vendor"
	LabelVersion      Label = "version"
)
