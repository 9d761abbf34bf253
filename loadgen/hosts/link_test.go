package hosts

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"
)

const working = net.FlagUp | net.FlagRunning | net.FlagMulticast | net.FlagBroadcast

func up(name string, index int, prefixes ...string) Interface {
	i := Interface{Name: name, Index: index, Flags: working}
	for _, p := range prefixes {
		i.Prefixes = append(i.Prefixes, netip.MustParsePrefix(p))
	}
	return i
}

// sparkSys is what a Spark's sysfs has of its interfaces: two ports of the ConnectX, Ethernet, and Docker's bridge.
var sparkSys = fstest.MapFS{
	"class/net/enp1s0f0np0/device/uevent":                          {Data: []byte("DRIVER=mlx5_core\nPCI_CLASS=20000\n")},
	"class/net/enp1s0f0np0/device/infiniband/rocep1s0f0/node_type": {Data: []byte("1: CA\n")},
	"class/net/enp1s0f1np1/device/uevent":                          {Data: []byte("PCI_CLASS=20000\nDRIVER=mlx5_core\n")},
	"class/net/enP7s7/device/uevent":                               {Data: []byte("DRIVER=r8127\n")},
	"class/net/docker0/bridge/bridge_id":                           {Data: []byte("8000\n")},
	"class/net/docker0/brif/veth12ab/state":                        {Data: []byte("3\n")},
	"class/net/veth12ab/master/ifindex":                            {Data: []byte("5\n")},
	"class/net/br0/bridge/bridge_id":                               {Data: []byte("8000\n")},
	"class/net/br0/brif/enP7s7/state":                              {Data: []byte("3\n")},
}

func TestLinksAreAskedFabricFirstAndIdleOnesHaveAReason(t *testing.T) {
	down := up("enp1s0f1np1", 3, "169.254.7.7/16")
	down.Flags = net.FlagMulticast
	unplugged := up("enP7s7", 4, "192.168.1.5/24")
	unplugged.Flags &^= net.FlagRunning
	bare := up("wlan0", 8)
	lo := Interface{Name: "lo", Index: 1, Flags: net.FlagUp | net.FlagLoopback | net.FlagRunning, Prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}}
	tunnel := up("tun0", 9, "10.8.0.2/24")
	tunnel.Flags |= net.FlagPointToPoint
	links := Links(sparkSys, []Interface{lo, unplugged, up("docker0", 5, "172.17.0.1/16"), up("veth12ab", 6), bare, up("br0", 7, "10.0.0.2/24"), tunnel, down, up("enp1s0f0np0", 2, "192.168.100.1/24")})

	var got []string
	for _, l := range links {
		line := l.String() + ": " + l.Idle
		if l.Minor {
			line += " (minor)"
		}
		got = append(got, line)
	}
	want := []string{
		"enp1s0f0np0 (mlx5_core, rocep1s0f0): ",
		"enp1s0f1np1 (mlx5_core): down",
		"enP7s7: up but without a link: no cable, or nothing awake at the other end",
		"br0: ",
		"docker0: a bridge of containers or guests (minor)",
		"lo: loopback (minor)",
		"tun0: cannot multicast (minor)",
		"veth12ab: part of a bridge or a bond, which is asked itself (minor)",
		"wlan0: up but without an address (minor)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("links are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestChosenInterfacesMustBeThereAndBeAbleToAnswer(t *testing.T) {
	down := up("eth1", 3)
	down.Flags = 0
	links := Links(fstest.MapFS{}, []Interface{up("eth0", 2, "10.0.0.1/24"), down})
	for _, test := range []struct {
		links []Link
		names []string
		want  string // part of the error; empty if there is none
	}{
		{links, nil, ""},
		{links, []string{"eth0"}, ""},
		{links, []string{"eth1"}, "eth1 cannot be asked: down"},
		{links, []string{"eth0", "eth7"}, `"eth7": this machine has no such interface, only eth0, eth1`},
		{links, []string{"\x1b[2J"}, `"\x1b[2J": this machine has no such interface`},
		{links[1:], nil, "no interface can be asked: eth1 is down"},
	} {
		chosen, err := choose(test.links, test.names)
		switch {
		case test.want == "" && (err != nil || len(chosen) != 1 || chosen[0].Name != "eth0"):
			t.Errorf("Choose(%q) = %v, %v, want eth0", test.names, chosen, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("Choose(%q): %v, want %q", test.names, err, test.want)
		}
	}
}

func TestALinkHoldsAddressesOfItsNetworks(t *testing.T) {
	link := Link{Interface: up("eth0", 2, "10.0.0.1/24", "fd00:1::1/64")}
	for text, want := range map[string]bool{
		"10.0.0.77": true, "10.0.1.77": false, "172.17.0.1": false, "fd00:1::9": true, "fd00:2::9": false,
		"fe80::1": true, "fe80::1%eth0": true, "169.254.3.4": false, "127.0.0.1": false,
	} {
		if got := link.Holds(netip.MustParseAddr(text)); got != want {
			t.Errorf("Holds(%s) = %v", text, got)
		}
	}
}

// TestTheInterfacesOfThisMachineAreRead needs no network but loopback, which every machine has.
func TestTheInterfacesOfThisMachineAreRead(t *testing.T) {
	all, err := System()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 && i.Index > 0 {
			return
		}
	}
	t.Errorf("no loopback in %v", all)
}

func FuzzDriversAreOneWord(f *testing.F) {
	f.Add([]byte("DRIVER=mlx5_core\nPCI_ID=15B3:1021\n"))
	f.Add([]byte("OF_NAME=ethernet"))
	f.Add([]byte("DRIVER=\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		name := driver(fstest.MapFS{"uevent": {Data: text}}, "uevent")
		if name != strings.TrimSpace(name) || strings.Contains(name, "\n") {
			t.Errorf("%q", name)
		}
	})
}
