package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// Tables of a machine with an engine on every IPv4 address, one on every address, one on loopback of both kinds, and a
// connection. Numbers are those of a little-endian machine.
const (
	tableHead = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     \n"

	sampleTCP = tableHead +
		"   0: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 26411 1 00000000b62b5fa2 100 0 0 10 0                      \n" +
		"   1: 0100007F:1AE0 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 26412 1 00000000b62b5fa3 100 0 0 10 0                      \n" +
		"   2: 0100007F:1F40 0100007F:A2C4 01 00000000:00000000 00:00000000 00000000  1000        0 26500 1 00000000b62b5fa4 20 4 30 10 -1                     \n" +
		"   3: 0100007F:0001 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0                                         \n"
	sampleTCP6 = tableHead +
		"   0: 00000000000000000000000000000000:1F41 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 26413 1 0000000000000000 100 0 0 10 0\n" +
		"   1: 0000000000000000FFFF00000100007F:1F42 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 26414 1 0000000000000000 100 0 0 10 0\n" +
		"   2: 00000000000000000000000001000000:1F43 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 26415 1 0000000000000000 100 0 0 10 0\n" +
		"   3: B80D0120000000000000000001000000:1F44 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 26416 1 0000000000000000 100 0 0 10 0\n"
)

func TestListenersOfANamespace(t *testing.T) {
	listening := func(address string, uid uint32, inode uint64) Listener {
		return Listener{netip.MustParseAddrPort(address), uid, inode}
	}
	ipv4 := []Listener{listening("0.0.0.0:8000", 1000, 26411), listening("127.0.0.1:6880", 0, 26412)} // what follows a connection is not read
	ipv6 := []Listener{
		listening("[::]:8001", 1000, 26413), listening("127.0.0.1:8002", 1000, 26414),
		listening("[::1]:8003", 1000, 26415), listening("[2001:db8::1]:8004", 1000, 26416),
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  []Listener
		fails string
	}{
		"both":                       {map[string]string{"7/net/tcp": sampleTCP, "7/net/tcp6": sampleTCP6}, slices.Concat(ipv4, ipv6), ""},
		"a kernel without IPv6":      {map[string]string{"7/net/tcp": sampleTCP}, ipv4, ""},
		"nothing listens":            {map[string]string{"7/net/tcp": tableHead, "7/net/tcp6": tableHead}, nil, ""},
		"a line that was cut":        {map[string]string{"7/net/tcp": sampleTCP[:len(tableHead)+40]}, nil, ""},
		"a process that has ended":   {map[string]string{}, nil, "7/net/tcp"},
		"too few columns":            {map[string]string{"7/net/tcp": tableHead + "0: 00000000:1F40\n"}, nil, "malformed"},
		"an address of three bytes":  {map[string]string{"7/net/tcp": strings.Replace(sampleTCP, "00000000:1F40", "000000:1F40", 1)}, nil, "malformed"},
		"a port beyond the last one": {map[string]string{"7/net/tcp": strings.Replace(sampleTCP, "00000000:1F40", "00000000:11F40", 1)}, nil, "malformed"},
		"a user that is no number":   {map[string]string{"7/net/tcp": strings.Replace(sampleTCP, " 1000 ", " root ", 1)}, nil, "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Listeners(files(t, c.files), 7)
			if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Fatalf("error %v, want %q", err, c.fails)
			}
			if err == nil && !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestAnEndlessTableOfListenersIsCut(t *testing.T) {
	var table strings.Builder
	table.WriteString(tableHead)
	for i := range 10_000 {
		fmt.Fprintf(&table, "%4d: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 %d 1 00000000b62b5fa2 100 0 0 10 0                      \n", i, i+1)
	}
	got, err := Listeners(files(t, map[string]string{"7/net/tcp": table.String()}), 7)
	if !errors.Is(err, ErrTooLong) || len(got) < 6000 || len(got) >= 10_000 {
		t.Errorf("%d listeners, %v", len(got), err)
	}
}

// TestListenersOfTheRunningKernel finds this process's own sockets, with address, user and number.
func TestListenersOfTheRunningKernel(t *testing.T) {
	var mine []string
	for _, at := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"} {
		listener, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err) // a machine without IPv6
			continue
		}
		defer listener.Close()
		mine = append(mine, listener.Addr().String())
	}
	proc, pid := Dir{Path: "/proc"}, uint32(os.Getpid())
	listeners, err := Listeners(proc, pid)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := OpenFiles(proc, pid)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, one := range listeners {
		if slices.ContainsFunc(opened, func(f OpenFile) bool { return f.Target == fmt.Sprintf("socket:[%d]", one.Inode) }) {
			found = append(found, one.Address.String())
			if one.UID != uint32(os.Geteuid()) {
				t.Errorf("%+v is of another user", one)
			}
		}
	}
	for _, at := range mine {
		if !slices.Contains(found, at) {
			t.Errorf("%s is not among %v", at, found)
		}
	}
}

func TestProcessesShareANetworkNamespace(t *testing.T) {
	proc := onDisk(t, fstest.MapFS{
		"10/net/tcp": &fstest.MapFile{}, "11/net": link("../10/net"), "12/net/tcp": &fstest.MapFile{}, "self": link("11"),
	})
	number := func(pid uint32) uint64 {
		t.Helper()
		found, err := NetworkNamespace(proc, pid)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	own, err := OwnNetworkNamespace(proc)
	if err != nil || own != number(10) || number(10) != number(11) || number(10) == number(12) {
		t.Errorf("own %d, %v; %d, %d, %d", own, err, number(10), number(11), number(12))
	}
	if _, err := NetworkNamespace(proc, 13); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that has ended: %v", err)
	}
	live := Dir{Path: "/proc"}
	own, err = OwnNetworkNamespace(live)
	again, againErr := NetworkNamespace(live, uint32(os.Getpid()))
	if err != nil || againErr != nil || own != again {
		t.Errorf("of this process: %d, %v; %d, %v", own, err, again, againErr)
	}
}

// A container of Docker, from Linux 6.18.
const sampleFIBTrie = `Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 172.17.0.0/16 2 0 2
        +-- 172.17.0.0/30 2 0 2
           |-- 172.17.0.0
              /16 link UNICAST
           |-- 172.17.0.2
              /32 host LOCAL
        |-- 172.17.255.255
           /32 link BROADCAST
Local:
  +-- 0.0.0.0/0 3 0 5
     |-- 127.0.0.1
        /32 host LOCAL
     |-- 172.17.0.2
        /32 host LOCAL
`

func TestAddressesOfANamespace(t *testing.T) {
	proc := onDisk(t, fstest.MapFS{"7/net/fib_trie": {Data: []byte(sampleFIBTrie)}, "self": link("7")})
	want := []netip.Addr{netip.MustParseAddr("172.17.0.2"), netip.MustParseAddr("127.0.0.1")}
	for _, read := range []func() ([]netip.Addr, error){
		func() ([]netip.Addr, error) { return LocalAddresses(proc, 7) },
		func() ([]netip.Addr, error) { return OwnAddresses(proc) },
	} {
		if got, err := read(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v", got, err)
		}
	}
	if got, err := OwnAddresses(Dir{Path: "/proc"}); err != nil || !slices.Contains(got, netip.MustParseAddr("127.0.0.1")) {
		t.Errorf("of this machine: %v, %v", got, err)
	}
}

// proxyArguments are those of Docker 20 to 29; -use-listen-fd is newer.
const proxyArguments = "/usr/bin/docker-proxy\x00-proto\x00tcp\x00-host-ip\x000.0.0.0\x00-host-port\x008000\x00-container-ip\x00172.17.0.2\x00-container-port\x0080\x00-use-listen-fd\x00"

func TestAPublishedPortIsReadFromTheArgumentsOfItsProxy(t *testing.T) {
	for name, c := range map[string]struct {
		arguments, machine, container string
		fails                         error
	}{
		"every address":   {proxyArguments, "0.0.0.0:8000", "172.17.0.2:80", nil},
		"two dashes":      {strings.ReplaceAll(proxyArguments, "\x00-", "\x00--"), "0.0.0.0:8000", "172.17.0.2:80", nil},
		"IPv6":            {strings.Replace(proxyArguments, "0.0.0.0", "::", 1), "[::]:8000", "172.17.0.2:80", nil},
		"UDP":             {strings.Replace(proxyArguments, "tcp", "udp", 1), "", "", errMalformed},
		"another program": {"docker-proxy\x00", "", "", errMalformed},
		"no port":         {strings.Replace(proxyArguments, "-host-port", "-port", 1), "", "", errMalformed},
		"a name":          {strings.Replace(proxyArguments, "172.17.0.2", "engine", 1), "", "", errMalformed},
		"a port too high": {strings.Replace(proxyArguments, "8000", "80000", 1), "", "", errMalformed},
		"cut":             {proxyArguments[:len(proxyArguments)-30], "", "", errMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadPublishedPort(files(t, map[string]string{"7/cmdline": c.arguments}), 7)
			if !errors.Is(err, c.fails) || (err == nil) != (c.fails == nil) {
				t.Fatalf("%+v, %v", got, err)
			}
			if err == nil && (got.Machine != netip.MustParseAddrPort(c.machine) || got.Container != netip.MustParseAddrPort(c.container)) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func FuzzListeners(f *testing.F) {
	addSeeds(f, sampleTCP, sampleTCP6, tableHead)
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		read := func(text string) ([]Listener, error) {
			return Listeners(files(t, map[string]string{"7/net/tcp": text}), 7)
		}
		all, err := read(text)
		if err != nil {
			return
		}
		if len(all) > strings.Count(text, tcpListen) {
			t.Errorf("%d listeners of %q", len(all), text)
		}
		for _, one := range all {
			if !one.Address.IsValid() || one.Address.Addr().Is4In6() || !strings.Contains(text, strconv.FormatUint(one.Inode, 10)) {
				t.Errorf("%+v", one)
			}
		}
		part, err := read(text[:min(int(cut), len(text))])
		if err == nil && !slices.Equal(part, all[:min(len(part), len(all))]) {
			t.Errorf("a part gives %v, the whole %v", part, all)
		}
	})
}

func FuzzLocalAddresses(f *testing.F) {
	addSeeds(f, sampleFIBTrie, "|-- 10.0.0.1\n/32 host LOCAL\n/32 host LOCAL\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		read := func(text string) []netip.Addr {
			all, err := LocalAddresses(files(t, map[string]string{"7/net/fib_trie": text}), 7)
			if err != nil {
				t.Error(err)
			}
			return all
		}
		all := read(text)
		for i, address := range all {
			if !strings.Contains(text, "|-- ") || slices.Contains(all[:i], address) {
				t.Errorf("%v of %q", all, text)
			}
		}
		if part := read(text[:min(int(cut), len(text))]); !slices.Equal(part, all[:min(len(part), len(all))]) {
			t.Errorf("a part gives %v, the whole %v", part, all)
		}
	})
}

func FuzzPublishedPort(f *testing.F) {
	addSeeds(f, proxyArguments, strings.Replace(proxyArguments, "0.0.0.0", "::ffff:127.0.0.1", 1), "-proto\x00tcp\x00")
	f.Fuzz(func(t *testing.T, text string, _ uint16) {
		port, err := parsePublishedPort(text)
		if err != nil {
			return
		}
		for _, end := range []netip.AddrPort{port.Machine, port.Container} {
			if !end.IsValid() || end.Addr().Is4In6() || !strings.Contains(text, strconv.Itoa(int(end.Port()))) {
				t.Errorf("%q gives %v", text, port)
			}
		}
	})
}
