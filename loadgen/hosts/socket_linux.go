package hosts

import "golang.org/x/sys/unix"

// ownGroupsOnly excludes packets of groups that other programs joined on other links, which would be taken for this
// link's.
func ownGroupsOnly(descriptor int, network string) error {
	if network == "udp6" {
		return unix.SetsockoptInt(descriptor, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_ALL, 0)
	}
	return unix.SetsockoptInt(descriptor, unix.IPPROTO_IP, unix.IP_MULTICAST_ALL, 0)
}
