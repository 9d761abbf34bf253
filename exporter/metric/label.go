package metric

// Label is the name of a label.
type Label string

// The label names. A name means the same thing in every family.
const (
	LabelAgent        Label = "agent" // agent of a transfer library
	LabelArch         Label = "arch"  // machine architecture, such as aarch64
	LabelArchitecture Label = "memory_architecture"
	LabelArm          Label = "arm" // arm of an experiment, such as native or container
	LabelCPU          Label = "cpu"
	LabelCUDAVersion  Label = "cuda_version"
	LabelCall         Label = "call" // driver call
	LabelCgroup       Label = "cgroup"
	LabelChip         Label = "chip" // hwmon chip
	LabelCollector    Label = "collector"
	LabelComm         Label = "comm" // kernel's short process name, at most 15 bytes
	LabelComputeInst  Label = "compute_instance"
	LabelContainer    Label = "container" // name of a container
	LabelContainerID  Label = "container_id"
	LabelController   Label = "controller"
	LabelDevice       Label = "device"
	LabelDirection    Label = "direction"
	LabelDriver       Label = "driver_version"
	LabelEngine       Label = "engine" // inference engine, such as vllm
	LabelEvent        Label = "event"
	LabelEvidence     Label = "evidence" // what a verdict is judged from, in a word
	LabelFirmware     Label = "firmware"
	LabelFrom         Label = "from"        // tier that blocks leave
	LabelGDSVersion   Label = "gds_version" // of GPUDirect Storage
	LabelGPU          Label = "gpu"         // index of the device as the driver counts
	LabelGPUInst      Label = "gpu_instance"
	LabelGoVersion    Label = "goversion"
	LabelHost         Label = "host" // measured machine; on host series set by the scrape job
	LabelImage        Label = "image"
	LabelInterface    Label = "interface" // network interface that belongs to an RDMA port
	LabelJob          Label = "job"
	LabelKernel       Label = "kernel"
	LabelKind         Label = "kind"
	LabelLE           Label = "le"
	LabelLevel        Label = "level"
	LabelLimit        Label = "limit"
	LabelLine         Label = "line" // line of the memory ledger
	LabelLink         Label = "link"
	LabelMIGUUID      Label = "mig_uuid" // part of a partitioned GPU
	LabelMinBlock     Label = "min_block_bytes"
	LabelMode         Label = "mode"
	LabelModel        Label = "model"
	LabelName         Label = "name"
	LabelNamespace    Label = "namespace"
	LabelNeeds        Label = "needs" // privilege or access
	LabelOp           Label = "op"    // operation, such as read
	LabelPCIBusID     Label = "pci_bus_id"
	LabelPID          Label = "pid"    // process id in the exporter's PID namespace
	LabelParent       Label = "parent" // path of the cgroup above
	LabelPath         Label = "path"
	LabelPhase        Label = "phase"
	LabelPod          Label = "pod"
	LabelPodUID       Label = "pod_uid"
	LabelPort         Label = "port"
	LabelProduct      Label = "product"
	LabelProfile      Label = "profile" // size of a part of a GPU, such as 3g.40gb
	LabelReason       Label = "reason"
	LabelResource     Label = "resource"
	LabelResult       Label = "result"
	LabelRevision     Label = "revision"
	LabelRun          Label = "run"
	LabelRuntime      Label = "runtime" // container runtime
	LabelScenario     Label = "scenario"
	LabelSensor       Label = "sensor"
	LabelSetting      Label = "setting" // path of a setting in a configuration file
	LabelSource       Label = "source"  // endpoint that a value was read from: host:port/path; or path of a log
	LabelState        Label = "state"
	LabelStatus       Label = "status"
	LabelTier         Label = "tier" // of a KV cache: device, host, disk, object
	LabelTo           Label = "to"   // tier that blocks reach
	LabelTrip         Label = "trip" // number of a trip point
	LabelType         Label = "type"
	LabelUUID         Label = "uuid"
	LabelVBIOS        Label = "vbios"
	LabelVendor       Label = "vendor"
	LabelVersion      Label = "version"
	LabelXID          Label = "xid"  // number of a driver error
	LabelZone         Label = "zone" // number of a thermal zone
)
