package server

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// proc writes a /proc with a socket that listens on 8000 of loopback and one on 9000 of 198.51.100.7, and the process that has both.
// Of a process that only root may look into there are no descriptors.
func proc(t *testing.T, comm string, seen bool) string {
	t.Helper()
	root := t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const line = "%4d: %s:%04X 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 %d 1 0000000000000000 100 0 0 10 0\n"
	put("net/tcp", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"+
		fmt.Sprintf(line, 0, "0100007F", 8000, 4711)+fmt.Sprintf(line, 1, "076433C6", 9000, 4712))
	put("77/comm", comm+"\n")
	if seen {
		if err := os.MkdirAll(filepath.Join(root, "77/fd"), 0o755); err != nil {
			t.Fatal(err)
		}
		for fd, inode := range map[string]string{"3": "socket:[4711]", "4": "socket:[4712]"} {
			if err := os.Symlink(inode, filepath.Join(root, "77/fd", fd)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func TestAServerIsHereOnlyIfItsSocketIs(t *testing.T) {
	own := []net.Addr{&net.IPNet{IP: net.IPv4(198, 51, 100, 7), Mask: net.CIDRMask(24, 32)}, &net.IPNet{IP: net.ParseIP("2001:db8::7"), Mask: net.CIDRMask(64, 128)}}
	engine, tunnel, published := proc(t, "vllm", true), proc(t, "ssh", true), proc(t, "docker-proxy", true)
	foreign := proc(t, "ssh", false)
	for _, c := range []struct {
		name, proc, address string
		want                Location
	}{
		{"loopback", engine, "http://127.0.0.1:8000", Location{Here: true, Host: "127.0.0.1"}},
		{"its name", engine, "http://localhost:8000/v1", Location{Here: true, Host: "localhost"}},
		{"without a scheme", engine, "127.0.0.1:8000", Location{Here: true, Host: "127.0.0.1"}},
		{"an interface of this machine", engine, "http://198.51.100.7:9000", Location{Here: true, Host: "198.51.100.7"}},
		{"IPv6", engine, "http://[2001:db8::7]:9000", Location{Here: true, Host: "2001:db8::7"}},
		{"nothing listens yet", engine, "http://127.0.0.1:8001", Location{Here: true, Host: "127.0.0.1"}},
		{"a container's published port", published, "http://127.0.0.1:8000", Location{Here: true, Host: "127.0.0.1"}},
		{"a tunnel", tunnel, "http://127.0.0.1:8000", Location{Host: "127.0.0.1", Forwarder: "ssh"}},
		{"a tunnel on an interface", tunnel, "http://198.51.100.7:9000", Location{Host: "198.51.100.7", Forwarder: "ssh"}},
		{"another port than the tunnel's", tunnel, "http://127.0.0.1:8001", Location{Here: true, Host: "127.0.0.1"}},
		{"a tunnel of another user cannot be seen", foreign, "http://127.0.0.1:8000", Location{Here: true, Host: "127.0.0.1"}},
		{"another machine of the network", engine, "http://198.51.100.8:8000", Location{Host: "198.51.100.8"}},
		{"a name that nobody knows", engine, "http://spark-9.invalid:8000", Location{Host: "spark-9.invalid"}},
		{"no address", engine, "http://%zz", Location{}},
	} {
		if got := locate(t.Context(), c.proc, c.address, own); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// The server of this test listens in this process, which the kernel's own files show.
func TestAServerOfThisProcessIsHere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if got := Locate(t.Context(), "http://"+listener.Addr().String()); !got.Here || got.Forwarder != "" {
		t.Errorf("%+v", got)
	}
}

func TestLoopbackReachesWhatListensThereOrEverywhere(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1": true, "::1": true, "0.0.0.0": true, "::": true, "192.0.2.1": false, "2001:db8::1": false} {
		if got := reachable(net.ParseIP(address)); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

// FuzzLocate: whatever the address, a server that is forwarded or has no host is not here.
func FuzzLocate(f *testing.F) {
	for _, address := range []string{"http://127.0.0.1:8000", "localhost", "https://[::1]", "http://", "%", "http://127.0.0.1:99999999", "http://0.0.0.0:8000"} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if u, err := parseAddress(address); err == nil && strings.Trim(u.Hostname(), "0123456789.:abcdef") != "" && u.Hostname() != "localhost" {
			return // no names are looked up
		}
		if at := locate(t.Context(), t.TempDir(), address, nil); at.Here && (at.Host == "" || at.Forwarder != "") {
			t.Errorf("%q: %+v", address, at)
		}
	})
}
