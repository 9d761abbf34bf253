package collector

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// socketScan is the result of one look at the sockets of a machine.
type socketScan struct {
	sockets []*engineSocket
	hidden  bool  // descriptors of a process could not be read
	err     error // why sockets may be missing
}

// socketScanner looks for the listening sockets of an engine's processes.
type socketScanner struct {
	proc      hostfs.Dir
	own       uint64 // network namespace of the exporter, 0 if unknown
	processes map[uint32]hostfs.ProcessStat
	published []hostfs.PublishedPort // whose docker-proxy is in the own namespace
	scan      socketScan
}

// member is a process that may belong to an engine.
type member struct {
	id     processID
	comm   string
	holder bool
	// sockets are the inode numbers of its sockets, nil if they may not be read.
	sockets map[uint64]bool
	uid     *uint32
}

// scanSockets finds the sockets of the processes that hold GPU memory, of the others in all, which are in their cgroups,
// and of those that started them: a server of an API can be a process of its own without GPU memory. The exporter's own
// are left out.
func scanSockets(proc hostfs.Dir, holders []GPUProcess, all []uint32) socketScan {
	if len(all) == 0 {
		return socketScan{}
	}
	s := &socketScanner{proc: proc, processes: map[uint32]hostfs.ProcessStat{}}
	s.own, _ = hostfs.OwnNetworkNamespace(proc) // without it no socket is reachable
	pids, err := hostfs.ListProcesses(proc)
	s.scan.err = err
	for _, pid := range pids {
		if stat, err := hostfs.ReadProcessStat(proc, pid); err == nil {
			s.processes[pid] = stat
		}
	}
	byNamespace := map[uint64][]*member{}
	for _, one := range s.members(holders, all) {
		namespace, err := hostfs.NetworkNamespace(proc, one.id.pid)
		if err == nil { // otherwise it has ended, or is hidden
			byNamespace[namespace] = append(byNamespace[namespace], one)
		}
	}
	s.readPublishedPorts(pids)
	for namespace, members := range byNamespace {
		s.scanNamespace(namespace, members)
	}
	s.sort()
	return s.scan
}

// members lists the processes of which sockets are looked for, the oldest first, each once.
func (s *socketScanner) members(holders []GPUProcess, all []uint32) []*member {
	listed := map[uint32]*member{}
	list := func(pid uint32) *member {
		stat, known := s.processes[pid]
		if !known || pid <= 1 {
			return &member{}
		}
		if listed[pid] == nil {
			listed[pid] = &member{id: processID{pid, stat.StartTicks}, comm: stat.Comm}
		}
		return listed[pid]
	}
	for _, pid := range all {
		list(pid)
	}
	groups := map[uint32]bool{}
	for _, holder := range holders {
		stat := s.processes[holder.PID]
		list(holder.PID).holder = true
		list(stat.Parent)
		groups[stat.Group] = stat.Group > 1
	}
	for pid, stat := range s.processes {
		if groups[stat.Group] {
			list(pid)
		}
	}
	if self, err := s.proc.ReadLink("self"); err == nil {
		if pid, err := strconv.ParseUint(self, 10, 32); err == nil {
			delete(listed, uint32(pid))
		}
	}
	members := make([]*member, 0, len(listed))
	for _, one := range listed {
		s.inspect(one)
		members = append(members, one)
	}
	slices.SortFunc(members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.id.start, b.id.start), cmp.Compare(a.id.pid, b.id.pid))
	})
	return members
}

// inspect reads which sockets a process has open, and its user.
func (s *socketScanner) inspect(one *member) {
	files, err := hostfs.OpenFiles(s.proc, one.id.pid)
	if errors.Is(err, fs.ErrPermission) {
		s.scan.hidden = true
		if status, err := hostfs.ReadProcessStatus(s.proc, one.id.pid); err == nil {
			one.uid = status.UID
		}
		return
	}
	one.sockets = map[uint64]bool{}
	for _, file := range files {
		number, is := strings.CutPrefix(file.Target, "socket:[")
		if inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); is && err == nil {
			one.sockets[inode] = true
		}
	}
}

// readPublishedPorts reads the ports that Docker publishes in the exporter's network namespace. A process of another kind
// under the name of a proxy publishes none.
func (s *socketScanner) readPublishedPorts(pids []uint32) {
	for _, pid := range pids {
		if s.processes[pid].Comm != hostfs.DockerProxyName {
			continue
		}
		namespace, err := hostfs.NetworkNamespace(s.proc, pid)
		if err != nil || namespace != s.own {
			continue
		}
		if port, err := hostfs.ReadPublishedPort(s.proc, pid); err == nil {
			s.published = append(s.published, port)
		}
	}
}

// scanNamespace finds the sockets of processes that share a network namespace.
func (s *socketScanner) scanNamespace(namespace uint64, members []*member) {
	listeners, err := hostfs.Listeners(s.proc, members[0].id.pid)
	if err != nil && !hostfs.IsGone(err) {
		s.scan.err = errors.Join(s.scan.err, err)
	}
	for _, listener := range listeners {
		owner := s.ownerOf(listener, namespace, members)
		if owner == nil {
			continue
		}
		var reach []netip.AddrPort
		var unreachable string
		if namespace == s.own {
			reach, unreachable = loopbacks(listener.Address, listeners)
		} else {
			reach, unreachable = s.throughDocker(listener.Address, owner.id.pid)
		}
		s.add(owner, listener.Address, reach, unreachable)
	}
}

// add adds a socket. One process that listens on several addresses of a port has one server there.
func (s *socketScanner) add(owner *member, address netip.AddrPort, reach []netip.AddrPort, unreachable string) {
	at := slices.IndexFunc(s.scan.sockets, func(known *engineSocket) bool {
		return known.process == owner.id && known.Address.Port() == address.Port()
	})
	if at < 0 {
		s.scan.sockets = append(s.scan.sockets, &engineSocket{process: owner.id, holder: owner.holder, EngineSocket: EngineSocket{
			Address: address, PID: owner.id.pid, Comm: owner.comm, Result: metric.DiscoveryUnreachable, Reason: unreachable,
		}})
		at = len(s.scan.sockets) - 1
	}
	socket := s.scan.sockets[at]
	for _, one := range reach {
		if !slices.Contains(socket.reach, one) {
			socket.reach = append(socket.reach, one)
		}
	}
	if len(socket.reach) > 0 {
		socket.Result, socket.Reason = metric.DiscoveryUnknown, notAskedYet
	}
}

// firstUserPort is the lowest port that needs no privilege. Of a process whose descriptors are hidden, the sockets of
// its user are taken; a root that runs an engine also runs services of the system, which listen below.
const firstUserPort = 1024

// ownerOf returns the process that has a socket open, the oldest if several share it, else one whose descriptors are
// hidden and whose user made the socket, nil if there is none. Ports that Docker publishes are its proxies' own.
func (s *socketScanner) ownerOf(listener hostfs.Listener, namespace uint64, members []*member) *member {
	for _, one := range members {
		if one.sockets[listener.Inode] {
			return one
		}
	}
	if namespace == s.own && slices.ContainsFunc(s.published, func(p hostfs.PublishedPort) bool { return p.Machine == listener.Address }) {
		return nil
	}
	for _, one := range members {
		if one.holder && one.uid != nil && *one.uid == listener.UID && listener.Address.Port() >= firstUserPort {
			return one
		}
	}
	return nil
}

// loopbacks returns the loopback addresses that lead to a listener of the own network namespace, or why there are none.
// Among these listeners one of IPv4 takes the connections of its port.
func loopbacks(address netip.AddrPort, listeners []hostfs.Listener) (reach []netip.AddrPort, unreachable string) {
	port := address.Port()
	switch at := address.Addr(); {
	case at.IsLoopback():
		return []netip.AddrPort{address}, ""
	case at == netip.IPv4Unspecified():
		return []netip.AddrPort{netip.AddrPortFrom(loopbackIPv4(), port)}, ""
	case at == netip.IPv6Unspecified():
		reach = []netip.AddrPort{netip.AddrPortFrom(netip.IPv6Loopback(), port)}
		if !slices.ContainsFunc(listeners, func(other hostfs.Listener) bool {
			return other.Address.Port() == port && other.Address.Addr().Is4() && (other.Address.Addr().IsLoopback() || other.Address.Addr().IsUnspecified())
		}) {
			reach = append([]netip.AddrPort{netip.AddrPortFrom(loopbackIPv4(), port)}, reach...)
		}
		return reach, ""
	}
	return nil, fmt.Sprintf("it listens on %s only, and discovery asks loopback addresses only", address.Addr())
}

func loopbackIPv4() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }

// throughDocker returns the loopback addresses that lead to a listener of a container, by a port that Docker publishes.
func (s *socketScanner) throughDocker(address netip.AddrPort, pid uint32) (reach []netip.AddrPort, unreachable string) {
	if address.Addr().IsLoopback() {
		return nil, "it listens on loopback inside its container only"
	}
	local, err := hostfs.LocalAddresses(s.proc, pid)
	if err != nil {
		return nil, fmt.Sprintf("it is in another network namespace, of unknown addresses: %v", err)
	}
	unreachable = "it is in another network namespace, such as a container's, and Docker publishes no port of it here"
	for _, port := range s.published {
		inside := port.Container.Addr()
		if port.Container.Port() != address.Port() || !slices.Contains(local, inside) || !address.Addr().IsUnspecified() && address.Addr() != inside {
			continue
		}
		more, why := loopbacks(port.Machine, nil)
		reach = append(reach, more...)
		unreachable = cmp.Or(why, unreachable)
	}
	slices.SortFunc(reach, netip.AddrPort.Compare)
	return slices.Compact(reach), unreachable
}

// sort puts the sockets in order of ports. Those beyond the limit are not asked.
func (s *socketScanner) sort() {
	slices.SortFunc(s.scan.sockets, func(a, b *engineSocket) int {
		return cmp.Or(cmp.Compare(a.Address.Port(), b.Address.Port()), a.Address.Compare(b.Address), cmp.Compare(a.PID, b.PID))
	})
	asked := 0
	for _, socket := range s.scan.sockets {
		if len(socket.reach) == 0 {
			continue
		}
		if asked++; asked > maxDiscovered {
			socket.reach, socket.Reason = nil, fmt.Sprintf("not asked: the %d sockets at lower ports are", maxDiscovered)
		}
	}
}

// isThisMachine reports whether a host of a URL is this machine, by a loopback or local address or by its name.
func isThisMachine(proc hostfs.Dir, host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		if address.IsLoopback() || address.IsUnspecified() {
			return true
		}
		local, _ := hostfs.OwnAddresses(proc)
		return slices.Contains(local, address.Unmap())
	}
	name, _ := proc.ReadFile("sys/kernel/hostname")
	own := strings.ToLower(strings.TrimSpace(string(name)))
	return host == "localhost" || own != "" && (host == own || strings.TrimSuffix(host, ".local") == own)
}
