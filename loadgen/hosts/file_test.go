package hosts

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func target(name, at string) Target { return Target{name, netip.MustParseAddrPort(at)} }

func TestOnlyFilesOfTheFormatAreOurs(t *testing.T) {
	found := discovery([]Target{target("spark-1", "10.0.0.1:10420")})
	for name, test := range map[string]struct {
		text   string
		format Format
		want   bool
	}{
		"ours":                 {string(found), Prometheus, true},
		"with other line ends": {strings.ReplaceAll(string(found), "\n", "\r\n"), Prometheus, true},
		"of the other format":  {string(found), MPI, false},
		"none yet":             {"", MPI, true},
		"somebody else's":      {"- targets: [a:1]\n", Prometheus, false},
		"marked further down":  {"# mine\n" + Mark(Prometheus) + "\n", Prometheus, false},
		"marked and then more": {Mark(Prometheus) + " but not this one\n", Prometheus, false},
		"of an empty line":     {"\n", Prometheus, false},
	} {
		if got := isOurs([]byte(test.text), test.format); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestHostsAreWrittenAsTheirReadersHaveThem(t *testing.T) {
	hosts := []Host{
		{Name: "spark-1", Addresses: []Address{{netip.MustParseAddr("192.168.100.1"), "enp1s0f0np0", true}, {netip.MustParseAddr("10.0.0.1"), "eth0", false}}, Self: true},
		{Name: "true", Port: 2222, Addresses: []Address{{netip.MustParseAddr("fd00::2"), "eth0", false}}},
		{Name: "linklocal", Addresses: []Address{{netip.MustParseAddr("fe80::2%eth0"), "eth0", false}}},
	}
	if got, want := string(hostfile(hosts, 2)), Mark(MPI)+"\n# spark-1\n192.168.100.1 slots=2\n# true\nfd00::2 slots=2\n"; got != want {
		t.Errorf("hostfile is\n%s\nwant\n%s", got, want)
	}
	want := Mark(Prometheus) + `
- targets: ["10.0.0.1:10420"]
  labels: {host: "spark-1"}
- targets: ["[fd00::2]:10420"]
  labels: {host: "true"}
`
	if got := string(discovery(targetsOf(hosts, 10420))); got != want {
		t.Errorf("targets are\n%s\nwant\n%s", got, want)
	}
	if got := loginLines(hosts, "me"); !slices.Equal(got, []string{"ssh-copy-id -p 2222 me@fd00::2   # true"}) {
		t.Errorf("keys are spread by %q", got)
	}
	if got, err := parseDiscovery(discovery(nil)); err != nil || len(got) != 0 {
		t.Errorf("no targets are read as %v, %v", got, err)
	}
}

func TestFilesThatPeopleBrokeAreNotRead(t *testing.T) {
	for name, text := range map[string]string{
		"not YAML":        "- targets: [",
		"a map":           "targets: []",
		"two targets":     "- targets: [\"10.0.0.1:1\", \"10.0.0.2:1\"]\n  labels: {host: a}",
		"another label":   "- targets: [\"10.0.0.1:1\"]\n  labels: {host: a, job: b}",
		"no host":         "- targets: [\"10.0.0.1:1\"]",
		"a name":          "- targets: [\"spark:1\"]\n  labels: {host: a}",
		"a public target": "- targets: [\"8.8.8.8:1\"]\n  labels: {host: a}",
		"port 0":          "- targets: [\"10.0.0.1:0\"]\n  labels: {host: a}",
		"an odd host":     "- targets: [\"10.0.0.1:1\"]\n  labels: {host: \"a b\"}",
	} {
		if got, err := parseDiscovery([]byte(text)); err == nil {
			t.Errorf("%s: read as %v", name, got)
		}
	}
}

func TestTargetsThatAreOffStayAndReplacedOnesGo(t *testing.T) {
	found := []Target{target("spark-1", "10.0.0.1:10420"), target("spark-3", "10.0.0.3:10420")}
	written := []Target{
		target("Spark-1", "10.0.0.9:10420"), // moved
		target("spark-2", "10.0.0.2:10420"), // off
		target("old", "10.0.0.3:10420"),     // renamed
	}
	all, kept := keepWritten(found, written)
	if got, want := fmt.Sprint(all), "[{spark-1 10.0.0.1:10420} {spark-2 10.0.0.2:10420} {spark-3 10.0.0.3:10420}]"; got != want {
		t.Errorf("targets are %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(kept), "[{spark-2 10.0.0.2:10420}]"; got != want {
		t.Errorf("kept are %s, want %s", got, want)
	}
}

// FuzzFilesAreReadAsTheyAreWritten: what can be read is written so that it reads the same.
func FuzzFilesAreReadAsTheyAreWritten(f *testing.F) {
	f.Add(discovery([]Target{target("spark-1", "10.0.0.1:10420"), target("7", "[fd00::1]:1")}))
	f.Add([]byte("- targets: [\"10.0.0.1:1\"]\n  labels: {host: on}\n"))
	f.Add([]byte("&a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := parseDiscovery(text)
		if err != nil {
			return
		}
		again, err := parseDiscovery(discovery(read))
		if err != nil || !slices.Equal(read, again) {
			t.Errorf("%v is read back as %v, %v", read, again, err)
		}
	})
}
