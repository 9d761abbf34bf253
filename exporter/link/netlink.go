package link

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// route asks the kernel on which interface packets to an address leave, by its index.
func route(to netip.Addr) (int, error) {
	family, bytes := byte(unix.AF_INET6), to.AsSlice()
	if to.Is4() {
		family = unix.AF_INET
	}
	const lengthOfAttribute = unix.SizeofRtAttr
	body := make([]byte, unix.SizeofRtMsg, unix.SizeofRtMsg+lengthOfAttribute+len(bytes))
	message := (*unix.RtMsg)(unsafe.Pointer(&body[0]))
	message.Family, message.Dst_len = family, uint8(len(bytes)*8)
	body = binary.NativeEndian.AppendUint16(body, uint16(lengthOfAttribute+len(bytes)))
	body = binary.NativeEndian.AppendUint16(body, unix.RTA_DST)
	body = append(body, bytes...)
	answers, err := request(unix.RTM_GETROUTE, 0, body)
	if err != nil {
		return 0, err
	}
	for _, answer := range answers {
		if answer.Header.Type != unix.RTM_NEWROUTE {
			continue
		}
		attributes, err := syscall.ParseNetlinkRouteAttr(&answer)
		if err != nil {
			return 0, fmt.Errorf("netlink: route: %w", err)
		}
		for _, a := range attributes {
			if a.Attr.Type == unix.RTA_OIF && len(a.Value) == 4 {
				return int(binary.NativeEndian.Uint32(a.Value)), nil
			}
		}
	}
	return 0, fmt.Errorf("netlink: the route to %s has no interface", to)
}

// queueing lists the kinds of queueing disciplines of an interface, such as fq_codel or tbf.
func queueing(index int) ([]string, error) {
	const sizeofTcMsg = 20 // struct tcmsg of linux/rtnetlink.h: family, padding, interface at 4, handle, parent, info
	body := make([]byte, sizeofTcMsg)
	binary.NativeEndian.PutUint32(body[4:], uint32(index))
	answers, err := request(unix.RTM_GETQDISC, unix.NLM_F_DUMP, body)
	if err != nil {
		return nil, err
	}
	var kinds []string
	for _, answer := range answers {
		if answer.Header.Type != unix.RTM_NEWQDISC || len(answer.Data) < sizeofTcMsg || int(binary.NativeEndian.Uint32(answer.Data[4:])) != index {
			continue
		}
		if kind := stringAttribute(answer.Data[sizeofTcMsg:], unix.TCA_KIND); kind != "" {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// stringAttribute finds an attribute of text, which ends with a zero byte; "" if it is missing.
func stringAttribute(attributes []byte, kind uint16) string {
	const header = unix.SizeofRtAttr
	for len(attributes) >= header {
		length := int(binary.NativeEndian.Uint16(attributes))
		if length < header || length > len(attributes) {
			return ""
		}
		value := attributes[header:length]
		if binary.NativeEndian.Uint16(attributes[2:]) == kind && len(value) > 0 && value[len(value)-1] == 0 {
			return string(value[:len(value)-1])
		}
		attributes = attributes[min(len(attributes), (length+unix.RTA_ALIGNTO-1)&^(unix.RTA_ALIGNTO-1)):]
	}
	return ""
}

// request sends one request to the kernel's routing socket and returns its answers. The library's NetlinkRIB has no room
// for the body that these requests need.
func request(kind uint16, flags uint16, body []byte) ([]syscall.NetlinkMessage, error) {
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, os.NewSyscallError("netlink: socket", err)
	}
	defer func() { _ = unix.Close(socket) }()
	// The kernel answers at once; a limit keeps a lost answer from being waited for.
	if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		return nil, os.NewSyscallError("netlink: timeout", err)
	}
	message := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+len(body))
	header := (*unix.NlMsghdr)(unsafe.Pointer(&message[0]))
	header.Len, header.Type, header.Flags, header.Seq = uint32(unix.SizeofNlMsghdr+len(body)), kind, unix.NLM_F_REQUEST|flags, 1
	if err := unix.Sendto(socket, append(message, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, os.NewSyscallError("netlink: send", err)
	}
	var all []syscall.NetlinkMessage
	buffer := make([]byte, 1<<16)
	for {
		n, _, err := unix.Recvfrom(socket, buffer, 0)
		if err != nil {
			return nil, os.NewSyscallError("netlink: receive", err)
		}
		messages, err := syscall.ParseNetlinkMessage(append([]byte(nil), buffer[:n]...))
		if err != nil {
			return nil, fmt.Errorf("netlink: %w", err)
		}
		for _, m := range messages {
			switch m.Header.Type {
			case unix.NLMSG_DONE:
				return all, nil
			case unix.NLMSG_ERROR:
				if len(m.Data) >= 4 {
					if code := int32(binary.NativeEndian.Uint32(m.Data)); code != 0 {
						return nil, os.NewSyscallError("netlink", unix.Errno(-code))
					}
				}
				return all, nil
			}
			all = append(all, m)
		}
		if flags&unix.NLM_F_DUMP == 0 && len(all) > 0 {
			return all, nil
		}
	}
}
