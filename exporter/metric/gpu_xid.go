package metric

import "slices"

// Errors that the driver reports of a GPU, by uuid.
var (
	GPUXIDErrorsTotal = counter(Def{Name: "uma_gpu_xid_errors_total", Unit: Count, Telemetry: true,
		Help:   "Errors that the driver has reported of the GPU since the exporter started, by XID code; codes that need no action are in other. Absent where the driver does not deliver them (whether it does on GB10 is not known). Of a lost GPU too. Not counted: what happens while the library is opened anew after that, which takes a moment.",
		Source: "nvmlDeviceRegisterEvents, nvmlEventSetWait", Labels: []Label{LabelUUID, LabelXID}})
	GPULost = gauge(Def{Name: "uma_gpu_lost", Unit: State, Sum: SumNever(),
		Help:   "Whether the GPU has fallen off the bus or its driver has gone. All but the errors reported are absent then, until the library is opened anew and finds it.",
		Source: "NVML return codes", Labels: []Label{LabelUUID}})
)

func gpuXIDDefs() []Definer { return []Definer{GPUXIDErrorsTotal, GPULost} }

// XIDOther is the value of LabelXID for all codes outside KnownXIDs.
const XIDOther = "other"

// XID is a code of the driver's error reports.
type XID struct {
	Code    uint64
	Meaning string
}

// KnownXIDs lists the codes that need action, by code: those of NVIDIA's XID catalogue for data centre GPUs since
// Ampere (docs.nvidia.com/deploy/xid-errors) that have a remedy. Names are those of nverror.h in the open kernel
// modules, where it has them.
func KnownXIDs() []XID {
	return []XID{
		{13, "graphics engine exception: mostly a fault of the program"},
		{31, "memory page fault of the GPU: mostly a fault of the program"},
		{43, "channel reset after an error of the program"},
		{45, "channel torn down, as when a program is killed or after another error"},
		{48, "double-bit ECC error"},
		{61, "breakpoint of the power management unit"},
		{62, "halt of the power management unit"},
		{63, "memory row remapped or page retired"},
		{64, "remapping or retirement failed"},
		{68, "video decoder exception"},
		{69, "graphics engine class error"},
		{74, "NVLink error"},
		{79, "the GPU has fallen off the bus"},
		{92, "many corrected ECC errors"},
		{94, "uncorrectable memory error, contained in one program"},
		{95, "uncorrectable memory error, not contained"},
		{109, "context switch timed out"},
		{119, "the GPU's system processor does not answer the driver: calls hang"},
		{120, "error in the GPU's system processor"},
		{121, "error of the link between chips"},
		{137, "NVLink access error"},
		{140, "unrecoverable ECC error"},
		{143, "the GPU could not be initialised"},
		{149, "NVLink fatal error"},
		{154, "the recovery that the driver recommends has changed"},
		{158, "fatal timeout"},
		{171, "uncorrectable error in device memory"},
		{172, "uncorrectable error in on-chip memory"},
		{173, "the link between chips has failed"},
	}
}

// IsKnownXID reports whether KnownXIDs has a code.
func IsKnownXID(code uint64) bool {
	return slices.ContainsFunc(KnownXIDs(), func(x XID) bool { return x.Code == code })
}
