package server

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/prometheus/procfs"
)

// tcpListen is the state LISTEN in /proc/net/tcp.
const tcpListen = 0x0A

// listeningProcess finds the process that listens on a port of loopback or of one of these addresses, by the inode of
// its socket. It fails if no process listens, or if only root may see the process.
func listeningProcess(proc procfs.FS, port uint64, addresses ...net.IP) (pid int, err error) {
	inodes := listening(proc, port, addresses)
	if len(inodes) == 0 {
		return 0, errors.New("no process is seen to listen on the server's port")
	}
	processes, err := proc.AllProcs()
	if err != nil {
		return 0, err
	}
	for _, process := range processes {
		targets, err := process.FileDescriptorTargets()
		if err != nil {
			continue // another user's process, or one that has ended
		}
		if slices.ContainsFunc(inodes, func(inode uint64) bool { return slices.Contains(targets, fmt.Sprintf("socket:[%d]", inode)) }) {
			return process.PID, nil
		}
	}
	return 0, errors.New("the process that listens on the server's port cannot be seen")
}

// listening returns the inodes of the sockets that listen on a port of loopback or of one of the addresses.
func listening(proc procfs.FS, port uint64, addresses []net.IP) []uint64 {
	var inodes []uint64
	//lint:ignore SA1019 netlink, which is recommended instead, is one more library for two files that are read twice a run
	for _, read := range []func() (procfs.NetTCP, error){proc.NetTCP, proc.NetTCP6} {
		sockets, err := read()
		if err != nil {
			continue // a kernel without IPv6 does not have the file
		}
		for _, s := range sockets {
			if s.St == tcpListen && s.LocalPort == port && (reachable(s.LocalAddr) || slices.ContainsFunc(addresses, s.LocalAddr.Equal)) {
				inodes = append(inodes, s.Inode)
			}
		}
	}
	return inodes
}

func reachable(ip net.IP) bool { return ip.IsLoopback() || ip.IsUnspecified() }
