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

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/engine/spec"
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
	known     spec.Engines
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
	// sockets are the descriptors of its sockets by inode number, nil if they may not be read.
	sockets map[uint64]int
	uid     *uint32
	// served are the ports at which it serves HTTP, if it is a known server program.
	served []uint16
}

// serves reports whether a listener is one of HTTP, if the process has it open.
func (m *member) serves(listener hostfs.Listener) bool {
	return slices.Contains(m.served, listener.Address.Port())
}

// scanSockets finds the sockets of the processes that hold GPU memory, of the others in all, which are in their cgroups,
// and of those that started them: a server of an API can be a process of its own without GPU memory. The exporter's own
// are left out.
func scanSockets(known spec.Engines, proc hostfs.Dir, holders []GPUProcess, all []uint32) socketScan {
	if len(all) == 0 {
		return socketScan{}
	}
	s := &socketScanner{known: known, proc: proc, processes: map[uint32]hostfs.ProcessStat{}}
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

// inspect reads which sockets a process has open, at which of them it serves HTTP, and its user.
func (s *socketScanner) inspect(one *member) {
	arguments, _ := hostfs.ReadArguments(s.proc, one.id.pid) // hidden or gone: not a known program
	environ, _ := hostfs.ReadEnviron(s.proc, one.id.pid)     // hidden: the defaults
	one.served = engine.ServedPorts(s.known, arguments, environ)
	files, err := hostfs.OpenFiles(s.proc, one.id.pid)
	if errors.Is(err, fs.ErrPermission) {
		s.scan.hidden = true
		if status, err := hostfs.ReadProcessStatus(s.proc, one.id.pid); err == nil {
			one.uid = status.UID
		}
		return
	}
	one.sockets = map[uint64]int{}
	for _, file := range files {
		number, is := strings.CutPrefix(file.Target, "socket:[")
		if inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); is && err == nil {
			one.sockets[inode] = file.FD
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
	served := map[uint64]bool{} // by inode number
	for _, listener := range listeners {
		_, served[listener.Inode] = ownerOf(listener, members)
	}
	for _, listener := range listeners {
		owner, known := ownerOf(listener, members)
		if owner == nil {
			continue
		}
		var reach []netip.AddrPort
		var unreachable string
		if namespace == s.own {
			reach, unreachable = loopbacks(listener.Address, listeners)
			if known && len(reach) > 0 {
				reach = slices.DeleteFunc(reach, func(address netip.AddrPort) bool { return othersAccept(address, listeners, served) })
				unreachable = "a process that is no known server program accepts connections at its port too"
			}
		} else {
			reach, unreachable = s.throughDocker(listener.Address, owner.id.pid)
		}
		socket := &engineSocket{process: owner.id, holder: owner.holder, known: known, reach: reach, EngineSocket: EngineSocket{
			Address: listener.Address, PID: owner.id.pid, Comm: owner.comm, Result: metric.DiscoveryUnreachable, Reason: unreachable,
		}}
		switch descriptor, open := owner.sockets[listener.Inode]; {
		case !open:
			socket.forget(metric.DiscoveryNotAsked, hiddenOwner+nameIt(socket))
		case !known:
			socket.forget(metric.DiscoveryNotAsked, noKnownServer+nameIt(socket))
		case len(reach) > 0:
			socket.forget(metric.DiscoveryUnknown, notAskedYet)
			socket.held = heldSocket{descriptor, listener.Inode}
		}
		s.add(socket)
	}
}

// othersAccept reports whether a connection to a loopback address can lead to a listener that is none of those served: the
// kernel prefers the listener of that very address to one of all addresses, and shares connections among several of the
// same (SO_REUSEPORT).
func othersAccept(address netip.AddrPort, listeners []hostfs.Listener, served map[uint64]bool) bool {
	everywhere := netip.IPv6Unspecified()
	if address.Addr().Is4() {
		everywhere = netip.IPv4Unspecified()
	}
	for _, at := range []netip.Addr{address.Addr(), everywhere, netip.IPv6Unspecified()} {
		accepts, others := false, false
		for _, one := range listeners {
			if one.Address == netip.AddrPortFrom(at, address.Port()) {
				accepts, others = true, others || !served[one.Inode]
			}
		}
		if accepts {
			return others
		}
	}
	return false
}

// Reasons why a socket is not asked.
const (
	noKnownServer = "not a port of a known server program"
	hiddenOwner   = "the exporter may not see which process has it open (CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH)"
)

// nameIt is the flag that has a socket asked all the same.
func nameIt(socket *engineSocket) string {
	if len(socket.reach) == 0 {
		return ""
	}
	return fmt.Sprintf("; if it is an engine: --engine.url http://%s", socket.reach[0])
}

// add adds a socket. One process that listens on several addresses of a port has one server there.
func (s *socketScanner) add(socket *engineSocket) {
	at := slices.IndexFunc(s.scan.sockets, func(other *engineSocket) bool {
		return other.process == socket.process && other.Address.Port() == socket.Address.Port() && other.known == socket.known
	})
	if at < 0 {
		s.scan.sockets = append(s.scan.sockets, socket)
		return
	}
	first := s.scan.sockets[at]
	if len(first.reach) == 0 && len(socket.reach) > 0 {
		first.Result, first.Reason, first.held = socket.Result, socket.Reason, socket.held
	}
	for _, one := range socket.reach {
		if !slices.Contains(first.reach, one) {
			first.reach = append(first.reach, one)
		}
	}
}

// ownerOf returns the process that has a socket open: the one that serves HTTP there, known, else the oldest. If it is
// hidden who has the socket open, it returns a process of the user who made it, which serves HTTP at such a port, but
// may not be the owner; nil if there is none.
func ownerOf(listener hostfs.Listener, members []*member) (owner *member, known bool) {
	var claims *member
	for _, one := range members {
		_, has := one.sockets[listener.Inode]
		switch {
		case has && one.serves(listener):
			return one, true
		case has && owner == nil:
			owner = one
		case claims == nil && one.serves(listener) && one.uid != nil && *one.uid == listener.UID:
			claims = one
		}
	}
	if owner == nil {
		return claims, false
	}
	return owner, false
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

// sort puts the sockets in order of ports.
func (s *socketScanner) sort() {
	slices.SortFunc(s.scan.sockets, func(a, b *engineSocket) int {
		return cmp.Or(cmp.Compare(a.Address.Port(), b.Address.Port()), a.Address.Compare(b.Address), cmp.Compare(a.PID, b.PID))
	})
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
