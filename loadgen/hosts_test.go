package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/loadgen/hosts"
)

// announced is what is heard on the two links of a machine called spark-1.
type announced map[string][]hosts.Heard

// sparks are this machine and another, on the LAN and on the fabric, and a stranger.
func sparks() announced {
	at := func(name string, addrs ...string) hosts.Heard {
		h := hosts.Heard{Name: name}
		for _, a := range addrs {
			h.Addrs = append(h.Addrs, netip.MustParseAddr(a))
		}
		return h
	}
	return announced{
		"eth0":        {at("spark-1.local.", "192.168.1.1"), at("spark-2.local.", "192.168.1.2"), at("nas.local.", "192.168.1.9"), at("x\x1b[2J.local.", "192.168.1.8")},
		"enp1s0f0np0": {at("spark-2.local.", "192.168.100.2")},
	}
}

func (n announced) links() []hosts.Link {
	link := func(name, driver, prefix string, flags net.Flags) hosts.Link {
		return hosts.Link{Interface: hosts.Interface{Name: name, Flags: flags, Prefixes: []netip.Prefix{netip.MustParsePrefix(prefix)}}, Driver: driver}
	}
	up := net.FlagUp | net.FlagRunning | net.FlagMulticast
	dead := link("enp1s0f1np1", "mlx5_core", "169.254.1.1/16", net.FlagMulticast)
	dead.Idle = "down"
	return []hosts.Link{link("enp1s0f0np0", "mlx5_core", "192.168.100.1/24", up), dead, link("eth0", "r8127", "192.168.1.1/24", up)}
}

// look runs the verb on the network, without a probe: nobody is there to answer one.
func (n announced) look(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return n.lookAndProbe(t, t.Context(), func(context.Context, []hosts.Host, int) { t.Error("somebody is asked for an exporter") }, append(args, "--no-probe")...)
}

func (n announced) lookAndProbe(t *testing.T, ctx context.Context, probe func(context.Context, []hosts.Host, int), args ...string) (code int, stdout, stderr string) {
	t.Helper()
	app := kingpin.New("uma-load", "").Terminate(nil).UsageWriter(io.Discard).ErrorWriter(io.Discard)
	search := hostsFlags(app.Command("hosts", hostsHelp))
	if !strings.Contains(strings.Join(args, " "), "--user") {
		args = append(args, "--user=me")
	}
	if _, err := app.Parse(append([]string{"hosts", "--timeout=1ms"}, args...)); err != nil {
		return exitUsage, "", err.Error()
	}
	var out, reported bytes.Buffer
	browse := func(_ context.Context, l hosts.Link) ([]hosts.Heard, error) {
		heard, is := n[l.Name]
		if !is {
			return nil, errors.New(l.Name + ": no such device\x1b[2J")
		}
		for i := range heard {
			heard[i].Link = l
		}
		return heard, nil
	}
	err := findHosts(ctx, search, hosts.Network{Links: n.links(), Browse: browse, Probe: probe}, &out, &reported)
	code = Program{Stderr: &reported}.report(err)
	return code, out.String(), reported.String()
}

// contains checks that a text says all of what is wanted, and nothing that a terminal obeys.
func contains(t *testing.T, what, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say %q:\n%s", what, want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("%s has an escape:\n%q", what, text)
	}
}

func TestHostsTellsWhatIsThereAndWhatIsNot(t *testing.T) {
	code, stdout, stderr := sparks().look(t)
	if code != exitDone {
		t.Errorf("exit code %d", code)
	}
	contains(t, "the table", stdout, "spark-1 (this machine)", "192.168.100.2", "enp1s0f0np0 (fabric)", "ssh-copy-id me@192.168.100.2   # spark-2")
	contains(t, "the rest", stderr, "enp1s0f1np1 (mlx5_core) was not asked: down", "left out, as no --match means it: nas", `left out "x\x1b[2J.local."`)
	if strings.Contains(stdout, "nas") || strings.Contains(stdout, "me@192.168.1.1 ") {
		t.Errorf("a stranger, or a key for this machine itself:\n%s", stdout)
	}

	code, stdout, _ = sparks().look(t, "--format=mpi", "--slots=4")
	if want := hosts.Mark(hosts.MPI) + "\n# spark-1\n192.168.1.1 slots=4\n# spark-2\n192.168.100.2 slots=4\n"; code != exitDone || stdout != want {
		t.Errorf("exit code %d, hostfile\n%s\nwant\n%s", code, stdout, want)
	}

	code, stdout, stderr = sparks().look(t, "--format=prometheus")
	if want := hosts.Mark(hosts.Prometheus) + "\n- targets: [\"192.168.1.2:10420\"]\n  labels: {host: \"spark-2\"}\n"; code != exitDone || stdout != want {
		t.Errorf("exit code %d, targets\n%s\nwant\n%s", code, stdout, want)
	}
	contains(t, "the rest", stderr, "this machine is left out")

	code, stdout, _ = sparks().look(t, "--format=json")
	var reported struct {
		Schema     string
		Hosts      []hosts.Host
		Interfaces []struct{ Why string }
	}
	if err := json.Unmarshal([]byte(stdout), &reported); err != nil || code != exitDone || reported.Schema != hosts.Schema || len(reported.Hosts) != 2 || len(reported.Interfaces) != 3 || reported.Interfaces[1].Why != "down" {
		t.Errorf("exit code %d, %v:\n%s", code, err, stdout)
	}
}

func TestWhereNobodyIsFoundHostsSaysWhy(t *testing.T) {
	for name, test := range map[string]struct {
		network announced
		args    []string
		code    int
		says    []string
	}{
		"nobody answers":         {announced{"eth0": nil, "enp1s0f0np0": nil}, nil, exitFailed, []string{"eth0: nobody answered", "no host found in 1ms on enp1s0f0np0 (mlx5_core), eth0: no machine announces ssh there"}},
		"nobody of the name":     {sparks(), []string{"--match=jetson-*"}, exitFailed, []string{"nas, spark-1", "--match says which are meant"}},
		"one link cannot be":     {announced{"eth0": nil}, nil, exitFailed, []string{"enp1s0f0np0 (mlx5_core) could not be asked", "no host found"}},
		"no link can be":         {announced{}, nil, exitUsage, []string{"no interface could be asked"}},
		"this machine alone":     {announced{"eth0": sparks()["eth0"][:1], "enp1s0f0np0": nil}, []string{"--format=prometheus"}, exitFailed, []string{"only this machine was found", "--self puts it in"}},
		"that interface is down": {sparks(), []string{"--interface=enp1s0f1np1"}, exitUsage, []string{"enp1s0f1np1 (mlx5_core) cannot be asked: down"}},
		"no such interface":      {sparks(), []string{"--interface=eth7"}, exitUsage, []string{`"eth7": this machine has no such interface`}},
		"a broken pattern":       {sparks(), []string{"--match=["}, exitUsage, []string{`--match: "[" is neither`}},
		"a user for the shell":   {sparks(), []string{"--user=me;reboot"}, exitUsage, []string{"is not the name of a user"}},
		"a user for ssh":         {sparks(), []string{"--user=-oProxyCommand=x"}, exitUsage, []string{"is not the name of a user"}},
		"a file of no format":    {sparks(), []string{"--write=x"}, exitUsage, []string{"--format mpi or --format prometheus"}},
	} {
		code, _, stderr := test.network.look(t, test.args...)
		if code != test.code {
			t.Errorf("%s: exit code %d, want %d", name, code, test.code)
		}
		contains(t, name, stderr, test.says...)
	}
}

func TestHostsWritesOnlyItsOwnFilesAndOnlyWhatIsNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "exporter-found.yml")
	write := func(n announced, args ...string) (int, string, string) {
		return n.look(t, append([]string{"--format=prometheus", "--write=" + path}, args...)...)
	}
	if code, stdout, _ := write(sparks()); code != exitDone || !strings.Contains(stdout, "wrote "+path) {
		t.Fatalf("exit code %d: %s", code, stdout)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, _ := write(sparks())
	after, err := os.Stat(path)
	if err != nil || code != exitDone || !strings.Contains(stdout, "says so already") || !os.SameFile(before, after) {
		t.Errorf("the same again: exit code %d, %s, %v", code, stdout, err)
	}

	// The other Spark is off; a third is new.
	moved := announced{"eth0": {{Name: "spark-3.local.", Addrs: []netip.Addr{netip.MustParseAddr("192.168.1.3")}}}, "enp1s0f0np0": nil}
	code, _, stderr := write(moved)
	contains(t, "the rest", stderr, "spark-2 at 192.168.1.2:10420 was not found now and stays in the file")
	if got := text(t, path); code != exitDone || !strings.Contains(got, "spark-2") || !strings.Contains(got, "spark-3") {
		t.Errorf("exit code %d, the file says\n%s", code, got)
	}
	write(moved, "--forget")
	if got := text(t, path); strings.Contains(got, "spark-2") || !strings.Contains(got, "spark-3") {
		t.Errorf("with --forget the file says\n%s", got)
	}
	was := text(t, path)
	if code, _, _ := write(announced{"eth0": nil, "enp1s0f0np0": nil}, "--forget"); code != exitFailed || text(t, path) != was {
		t.Errorf("nobody was found: exit code %d, the file says\n%s", code, text(t, path))
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestHostsLeavesFilesThatAreNotItsOwn(t *testing.T) {
	mine := "- targets: [\"10.0.0.1:10420\"]\n"
	for name, lay := range map[string]func(path string) error{
		"of a person":         func(path string) error { return os.WriteFile(path, []byte(mine), 0o600) },
		"of the other format": func(path string) error { return os.WriteFile(path, []byte(hosts.Mark(hosts.MPI)+"\n"), 0o600) },
		"a link to one of ours": func(path string) error {
			return errors.Join(os.WriteFile(path+".ours", []byte(hosts.Mark(hosts.Prometheus)+"\n[]\n"), 0o600), os.Symlink(path+".ours", path))
		},
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"ours, broken by hand": func(path string) error {
			return os.WriteFile(path, []byte(hosts.Mark(hosts.Prometheus)+"\n- targets: ["), 0o600)
		},
		"ours, of a size that none has": func(path string) error {
			return os.WriteFile(path, []byte(hosts.Mark(hosts.Prometheus)+strings.Repeat("\n", 1<<20)), 0o600)
		},
		"in no folder": func(string) error { return nil },
	} {
		path := filepath.Join(t.TempDir(), "found.yml")
		if name == "in no folder" {
			path = filepath.Join(filepath.Dir(path), "nowhere", "found.yml")
		}
		if err := lay(path); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(path)
		code, _, stderr := sparks().look(t, "--format=prometheus", "--write="+path)
		after, _ := os.Lstat(path)
		if code == exitDone || before != nil && (!os.SameFile(before, after) || before.ModTime() != after.ModTime()) {
			t.Errorf("%s: exit code %d", name, code)
		}
		contains(t, name, stderr, "--write: ", "found.yml")
	}
}

// Whoever gives up while exporters are looked for must not find addresses in the file that nobody has answered at.
func TestHostsThatIsInterruptedWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "found.yml")
	ctx, interrupt := context.WithCancel(t.Context())
	code, stdout, stderr := sparks().lookAndProbe(t, ctx, func(context.Context, []hosts.Host, int) { interrupt() }, "--format=prometheus", "--write="+path)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) || code != exitFailed || stdout != "" {
		t.Errorf("exit code %d, %q, the file: %v", code, stdout, err)
	}
	contains(t, "the rest", stderr, "interrupted: nothing was written")
}
