package hostfs

import "golang.org/x/sys/unix"

// HasCapability reports whether this process has a capability of its user namespace now, such as unix.CAP_SYS_ADMIN. It
// asks the kernel directly and does not read /proc, which may be another machine's.
func HasCapability(capability int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3} // of two times 32 bits
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return false
	}
	return sets[capability/32].Effective>>(capability%32)&1 != 0
}
