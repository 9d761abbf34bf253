package server

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
)

func TestTheProcessBehindAnAddressIsTheOneThatListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p, err := ProcessBehind("http://" + listener.Addr().String())
	if err != nil || !slices.Equal(p.Argv, os.Args) || !slices.ContainsFunc(p.Environ, func(one string) bool { return strings.HasPrefix(one, "PATH=") }) {
		t.Errorf("%+v (%v)", p, err)
	}
	for address, want := range map[string]string{"http://203.0.113.7:8000": "not on this machine", "http://127.0.0.1:1": "no process is seen"} {
		if _, err := ProcessBehind(address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestACommandLineThatSaysNothingIsNotKnown(t *testing.T) {
	root := t.TempDir()
	for pid, of := range map[int]struct{ comm, cmdline, want string }{
		7: {"VLLM::APIServer", "VLLM::APIServer\x00", "title"},
		8: {"docker-proxy", "/usr/bin/docker-proxy\x00-proto\x00tcp\x00", "--container"},
		9: {"vllm", "vllm\x00serve\x00", ""},
	} {
		dir := filepath.Join(root, strconv.Itoa(pid))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"comm": of.comm + "\n", "cmdline": of.cmdline} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		proc, err := procfs.NewFS(root)
		if err != nil {
			t.Fatal(err)
		}
		p, err := readProcess(proc, pid)
		switch {
		case of.want == "" && (err != nil || !slices.Equal(p.Argv, []string{"vllm", "serve"}) || p.Environ != nil):
			t.Errorf("%s: %+v (%v)", of.comm, p, err)
		case of.want != "" && (err == nil || !strings.Contains(err.Error(), of.want)):
			t.Errorf("%s: %+v (%v)", of.comm, p, err)
		}
	}
}
