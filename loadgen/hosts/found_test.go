package hosts

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

func patterns(t testing.TB, texts ...string) []Pattern {
	t.Helper()
	var all []Pattern
	for _, text := range texts {
		p, err := ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func addrs(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

// a LAN and the cable to the next Spark, as a Spark has them.
var (
	lan    = Link{Interface: up("eth0", 2, "192.168.1.5/24", "fe80::5/64"), Driver: "r8127"}
	fabric = Link{Interface: up("enp1s0f0np0", 3, "192.168.100.5/24", "fe80::55/64"), Driver: "mlx5_core"}
	both   = []Link{fabric, lan}
)

func TestAnswersBecomeHostsOrAreRefusedWithAReason(t *testing.T) {
	for name, test := range map[string]struct {
		heard         []Heard
		match         []string
		hosts, others string
	}{
		"on two links, fabric first": {
			[]Heard{{lan, "spark-2.local.", addrs("fe80::2", "192.168.1.6"), 22}, {fabric, "Spark-2.local.", addrs("192.168.100.6"), 22}}, nil,
			"spark-2 192.168.100.6 192.168.1.6 fe80::2%eth0", "",
		},
		"this machine":                            {[]Heard{{lan, "spark-1.local.", addrs("192.168.1.5"), 22}}, nil, "spark-1* 192.168.1.5", ""},
		"of no pattern":                           {[]Heard{{lan, "nas.local.", addrs("192.168.1.9"), 22}}, nil, "", "nas: no --match means it"},
		"a public address":                        {[]Heard{{lan, "spark-2.local.", addrs("203.0.113.9", "192.168.1.6"), 22}}, nil, "spark-2 192.168.1.6", `"spark-2.local.": 203.0.113.9: not a private address`},
		"an address of another net":               {[]Heard{{lan, "spark-2.local.", addrs("10.1.1.1"), 22}}, nil, "", `"spark-2.local.": 10.1.1.1: not of a network of eth0, where it was heard`},
		"the bridge of its containers":            {[]Heard{{lan, "spark-2.local.", addrs("172.17.0.1", "192.168.1.6"), 22}}, nil, "spark-2 192.168.1.6", `"spark-2.local.": 172.17.0.1: not of a network of eth0, where it was heard`},
		"loopback, which would be this machine":   {[]Heard{{lan, "spark-2.local.", addrs("127.0.0.1", "::1"), 22}}, nil, "", `"spark-2.local.": 127.0.0.1: not a private address; "spark-2.local.": ::1: not a private address`},
		"no address":                              {[]Heard{{lan, "spark-2.local.", nil, 22}}, nil, "", `"spark-2.local.": it gave no address on eth0`},
		"a name of another tree":                  {[]Heard{{lan, "spark-2.example.com.", addrs("192.168.1.6"), 22}}, nil, "", `"spark-2.example.com.": it does not end in .local (on eth0)`},
		"a name with a command":                   {[]Heard{{lan, "spark-$(reboot).local.", addrs("192.168.1.6"), 22}}, nil, "", `"spark-$(reboot).local.": no host can be called so (on eth0)`},
		"a name with a line of a hostfile":        {[]Heard{{lan, "spark-2 slots=9\nevil.local.", addrs("192.168.1.6"), 22}}, nil, "", `"spark-2 slots=9\nevil.local.": no host can be called so (on eth0)`},
		"a name that writes on the terminal":      {[]Heard{{lan, "spark\x1b]0;x\x07.local.", addrs("192.168.1.6"), 22}}, nil, "", `"spark\x1b]0;x\a.local.": no host can be called so (on eth0)`},
		"a name that runs the other way":          {[]Heard{{lan, "spark\u202e.local.", addrs("192.168.1.6"), 22}}, nil, "", `"spark\u202e.local.": no host can be called so (on eth0)`},
		"an option of ssh":                        {[]Heard{{lan, "-oProxyCommand=x.local.", addrs("192.168.1.6"), 22}}, []string{"*"}, "", `"-oProxyCommand=x.local.": no host can be called so (on eth0)`},
		"two labels, which would be two machines": {[]Heard{{lan, "spark.2.local.", addrs("192.168.1.6"), 22}}, nil, "", `"spark.2.local.": no host can be called so (on eth0)`},
		"nothing before .local":                   {[]Heard{{lan, ".local.", addrs("192.168.1.6"), 22}}, []string{"*"}, "", `".local.": no host can be called so (on eth0)`},
	} {
		match := test.match
		if match == nil {
			match = []string{"spark*"}
		}
		found, refused := gather(test.heard, both, patterns(t, match...))
		var hosts, others []string
		for _, h := range found {
			line := h.Name
			if h.Self {
				line += "*"
			}
			for _, a := range h.Addresses {
				line += " " + a.Addr.String()
			}
			hosts = append(hosts, line)
		}
		for _, r := range refused {
			others = append(others, r.Name+": "+r.Why)
		}
		if got := strings.Join(hosts, "; "); got != test.hosts {
			t.Errorf("%s: hosts %q, want %q", name, got, test.hosts)
		}
		if got := strings.Join(others, "; "); got != test.others {
			t.Errorf("%s: refused %s, want %s", name, got, test.others)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"spark-*", "spark-1", true}, {"SPARK-*", "spark-1", true}, {"spark-*", "Spark-1", true}, {"spark-?", "spark-12", false},
		{"spark-[0-9]", "spark-7", true}, {"*", "nas", true}, {"/spark-[0-9]+/", "Spark-12", true}, {"/spark/", "spark-1", false}, {"/a|b/", "b", true}, {"/a|b/", "ab", false},
	} {
		if got := patterns(t, test.pattern)[0].match(test.name); got != test.want {
			t.Errorf("%q means %q: %v", test.pattern, test.name, got)
		}
	}
	for _, bad := range []string{"", "[", "/(/", "spark-[0-"} {
		if _, err := ParsePattern(bad); err == nil {
			t.Errorf("%q is a pattern", bad)
		}
	}
}

// TestRanksUseTheFabricAndPrometheusDoesNot: what is scraped must not be part of what is measured.
func TestRanksUseTheFabricAndPrometheusDoesNot(t *testing.T) {
	found, _ := gather([]Heard{{lan, "spark-2.local.", addrs("192.168.1.6"), 22}, {fabric, "spark-2.local.", addrs("192.168.100.6", "fe80::66"), 22}}, both, patterns(t, "*"))
	h := found[0]
	mpi, _ := h.MPI()
	target, _ := h.Target()
	if mpi.String() != "192.168.100.6" || target.String() != "192.168.1.6" {
		t.Errorf("ranks use %s, Prometheus %s", mpi, target)
	}
	h.Exporter = &Exporter{Found: true, Addr: netip.MustParseAddr("192.168.100.6")}
	if target, _ := h.Target(); target.String() != "192.168.100.6" {
		t.Errorf("an exporter answered on the fabric alone, and Prometheus is sent to %s", target)
	}
	only, _ := gather([]Heard{{lan, "spark-3.local.", addrs("fe80::3"), 22}}, both, patterns(t, "*"))
	if addr, is := only[0].MPI(); is {
		t.Errorf("a hostfile is given %s", addr)
	}
	if addr, is := only[0].Target(); is {
		t.Errorf("Prometheus is given %s", addr)
	}
}

// FuzzNamesAreSafeWhereverTheyAreWritten: a name either is refused or means itself in YAML, in a hostfile
// and in a shell.
func FuzzNamesAreSafeWhereverTheyAreWritten(f *testing.F) {
	for _, seed := range []string{"spark-1.local.", "true.local", "7.local.", "a\nb.local.", "$(x).local.", "spark-1", "-x.local.", "ö.local."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, received string) {
		name, err := nameOf(received)
		if err != nil {
			return
		}
		if len(name) > 63 || strings.ContainsFunc(name, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-')
		}) || strings.HasPrefix(name, "-") {
			t.Fatalf("%+q passes as %q", received, name)
		}
		at := netip.MustParseAddrPort("10.0.0.1:10420")
		read, err := parseDiscovery(discovery([]Target{{name, at}}))
		if err != nil || len(read) != 1 || read[0] != (Target{name, at}) {
			t.Errorf("%q is read back as %v, %v", name, read, err)
		}
		if lines := strings.Count(string(hostfile([]Host{{Name: name, Addresses: []Address{{Addr: at.Addr()}}}}, 1)), "\n"); lines != 3 {
			t.Errorf("%q makes a hostfile of %d lines", name, lines)
		}
		if line := loginLines([]Host{{Name: name, Addresses: []Address{{Addr: at.Addr()}}}}, "me")[0]; line != fmt.Sprintf("ssh-copy-id me@10.0.0.1   # %s", name) {
			t.Errorf("%q", line)
		}
	})
}
