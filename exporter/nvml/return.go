package nvml

import "fmt"

// Return is a return code of the library (nvmlReturn_t, nvml.h). Negative codes are ours.
type Return int32

// The return codes that this package handles separately.
const (
	NotRecorded             Return = -2 // the recording does not contain the call
	NotBuilt                Return = -1 // this program has no way to call the library
	Success                 Return = 0
	Uninitialized           Return = 1
	InvalidArgument         Return = 2
	NotSupported            Return = 3
	NoPermission            Return = 4
	NotFound                Return = 6
	InsufficientSize        Return = 7
	DriverNotLoaded         Return = 9
	Timeout                 Return = 10
	LibraryNotFound         Return = 12
	FunctionNotFound        Return = 13
	GPUIsLost               Return = 15
	ResetRequired           Return = 16
	OperatingSystem         Return = 17
	LibRMVersionMismatch    Return = 18
	InUse                   Return = 19
	ArgumentVersionMismatch Return = 25
	Deprecated              Return = 26
	Unknown                 Return = 999
)

// String returns the meaning of the code and, where there is one, the remedy.
func (r Return) String() string {
	if text, ok := returnTexts()[r]; ok {
		return text
	}
	return fmt.Sprintf("NVML error %d", int32(r))
}

func returnTexts() map[Return]string {
	return map[Return]string{
		NotRecorded:             "the recording does not have this call",
		NotBuilt:                "this program was built without cgo and cannot call the driver: build it where there is a C compiler (apt install gcc, then CGO_ENABLED=1 go build ./cmd/uma-exporter), or take the package",
		Success:                 "success",
		Uninitialized:           "the library is not initialised",
		InvalidArgument:         "the driver does not support the argument",
		NotSupported:            "not supported by the device",
		NoPermission:            "no permission: run as root, or give the container the device",
		NotFound:                "not found",
		InsufficientSize:        "the list has grown while it was read",
		Timeout:                 "no answer in time",
		DriverNotLoaded:         "the NVIDIA kernel module is not loaded: install or load the driver (modprobe nvidia)",
		LibraryNotFound:         "libnvidia-ml.so.1 was not found: install the NVIDIA driver, or start the container with the NVIDIA runtime (--gpus all)",
		FunctionNotFound:        "the installed driver has no such function",
		GPUIsLost:               "the GPU has fallen off the bus: see the kernel log",
		ResetRequired:           "the GPU must be reset (nvidia-smi --gpu-reset)",
		OperatingSystem:         "the operating system blocked the call: the container may have lost its device nodes, restart it",
		LibRMVersionMismatch:    "library and kernel module are of different driver versions: reboot or reload the module, then restart the container or this program, which keeps the library it has loaded",
		InUse:                   "the driver is in use by a call that has not returned",
		ArgumentVersionMismatch: "the installed driver does not support this version of the call",
		Deprecated:              "the installed driver has withdrawn the call",
		Unknown:                 "unknown driver error (999)",
	}
}

// unsupported reports whether the code means that the call cannot work here, as opposed to having failed.
func (r Return) unsupported() bool {
	switch r {
	case NotSupported, FunctionNotFound, InvalidArgument, ArgumentVersionMismatch, Deprecated, NotRecorded:
		return true
	}
	return false
}

// lost reports whether the code invalidates the handles of this library life, so that the library must be shut down and
// initialised again.
func (r Return) lost() bool {
	switch r {
	case GPUIsLost, Uninitialized, DriverNotLoaded:
		return true
	}
	return false
}
