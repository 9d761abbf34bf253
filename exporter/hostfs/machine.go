package hostfs

import (
	"fmt"
	"strings"
)

// Machine identifies a machine; a missing field is "".
type Machine struct {
	Product, Vendor string // as the maker wrote them into the firmware
	Kernel          string // release, such as 6.17.0-1014-nvidia
	Arch            string // as uname -m gives it, such as aarch64
}

// ReadMachine reads only what many units share: no serial number, no UUID, which procfs reads too. Firmware without DMI, as on Jetson,
// describes itself in a device tree, whose texts end with a zero byte. The architecture is available since kernel 6.1.
//
//	/sys/class/dmi/id/product_name  NVIDIA_DGX_Spark
//	/proc/sys/kernel/osrelease      6.17.0-1014-nvidia
//	/proc/sys/kernel/arch           aarch64
func ReadMachine(proc, sys Dir) Machine {
	machine := Machine{
		Product: attribute(sys, "class/dmi/id/product_name"),
		Vendor:  attribute(sys, "class/dmi/id/sys_vendor"),
		Kernel:  attribute(proc, "sys/kernel/osrelease"),
		Arch:    attribute(proc, "sys/kernel/arch"),
	}
	if machine.Product == "" {
		machine.Product = attribute(sys, "firmware/devicetree/base/model")
	}
	return machine
}

// attribute is the text of an attribute, "" if it is missing or the reader may not read it.
func attribute(dir Dir, name string) string {
	text, err := readText(dir, name)
	if err != nil {
		return ""
	}
	return strings.TrimRight(text, "\x00")
}

// HasNVIDIAModule reports whether NVIDIA's driver is in the kernel. The kernel shows it to containers without the
// driver's library too.
//
//	/sys/module/nvidia/version  580.142
func HasNVIDIAModule(sys Dir) bool {
	_, err := sys.Stat("module/nvidia")
	return err == nil
}

// ReadBootID is a random text that the kernel makes at each boot.
//
//	/proc/sys/kernel/random/boot_id  3b2a4a4e-7a5e-4d6f-9d7e-6d1f0d3c7a11
func ReadBootID(proc Dir) (string, error) {
	text, err := readText(proc, "sys/kernel/random/boot_id")
	if err == nil && text == "" {
		err = fmt.Errorf("boot_id: %w", errMalformed)
	}
	return text, err
}
