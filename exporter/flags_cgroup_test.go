package exporter_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFlagsOfCgroupsThatCannotBeUsedAreBadInput(t *testing.T) {
	for name, c := range map[string]struct{ flag, says string }{
		"no expression":  {"--cgroup.include=[", "--cgroup.include: error parsing regexp"},
		"none at all":    {"--cgroup.limit=0", `--cgroup.limit: "0" is not`},
		"no number":      {"--cgroup.limit=many", `--cgroup.limit: "many" is not`},
		"relative path":  {"--cgroup.runtime-socket=docker.sock", `--cgroup.runtime-socket: "docker.sock" is not`},
		"another scheme": {"--cgroup.runtime-socket=tcp://127.0.0.1:2375", `--cgroup.runtime-socket: "tcp://127.0.0.1:2375" is not`},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := run(t, "--once", c.flag)
			if code != 2 || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, %q", code, stderr)
			}
		})
	}
}

// TestCgroupsAreNamedAndChosenByFlags runs the program on a tree of files.
func TestCgroupsAreNamedAndChosenByFlags(t *testing.T) {
	root := t.TempDir()
	id := strings.Repeat("4f", 32)
	for name, text := range map[string]string{
		"proc/meminfo":              "MemTotal:  1024 kB\nMemFree:  512 kB\n",
		"cgroup/cgroup.controllers": "memory\n",
		"cgroup/system.slice/docker-" + id + ".scope/memory.current": "4096\n",
		"cgroup/system.slice/docker-" + id + ".scope/memory.stat":    "anon 4096\nsock 77\n",
		"cgroup/system.slice/chroot-bench.scope/memory.current":      "8192\n",
		"cgroup/system.slice/memory.stat":                            "anon 12288\n",
		"cgroup/user.slice/user-1000.slice/run-u1.scope/memory.stat": "anon 1\n",
		"names": id[:12] + " vllm vllm/vllm-openai:v0.11.0\n",
	} {
		path := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	code, page, stderr := run(t, "--once", "--web.disable-exporter-metrics", "--collector.disable-defaults", "--collector.cgroup",
		"--path.procfs="+root+"/proc", "--path.sysfs="+root+"/sys", "--path.cgroupfs="+root+"/cgroup",
		"--cgroup.names-file="+root+"/names", "--cgroup.runtime-socket=unix://"+root+"/none.sock", "--cgroup.include=chroot", "--cgroup.detail", "--cgroup.limit=2")
	if code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	wantIn(t, page,
		`container="vllm",container_id="`+id+`",image="vllm/vllm-openai:v0.11.0"`, "uma_cgroup_excluded 2\n",
		`kind="sock"} 77`, `uma_collector_state{collector="cgroup",state="ok"} 1`,
	)
}
