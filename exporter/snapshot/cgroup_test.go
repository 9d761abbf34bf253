package snapshot

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/umascope/umascope/exporter/hostfs"
)

const otherID = "af884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d9"

func TestContainersAreRecordedWhereverTheirRuntimePutsThem(t *testing.T) {
	host := secretHost()
	for _, cgroup := range []string{
		"docker/" + otherID,
		"kubepods/burstable/pod" + bootID + "/" + containerID,
		"system.slice/docker-" + containerID + ".scope/docker/" + otherID,
		"user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + otherID + ".scope",
		"system.slice/vllm.service/libpod-payload-" + otherID,
	} {
		host["sys/fs/cgroup/"+cgroup+"/memory.peak"] = &fstest.MapFile{Data: []byte("7\n")}
	}
	host["sys/fs/cgroup/system.slice/ssh.service/memory.peak"] = &fstest.MapFile{Data: []byte("8\n")}
	text := writeHost(t, sourceOf(t, host))
	a := mustRead(t, text)
	paths, err := hostfs.WalkCgroups(a.Cgroup)
	if err != nil {
		t.Fatal(err)
	}
	runtimes := map[string]int{}
	for _, path := range paths {
		identity := hostfs.IdentifyCgroup(path)
		peak, err := a.Cgroup.ReadFile(path[1:] + "/memory.peak")
		if identity.Kind == hostfs.KindContainer && err == nil && string(peak) == "7\n" {
			runtimes[identity.Runtime]++
		}
	}
	if runtimes["docker"] != 2 || runtimes["podman"] != 2 || runtimes[""] != 1 {
		t.Errorf("%v of %v", runtimes, paths)
	}
	if strings.Contains(text, "ssh.service") || strings.Contains(text, otherID[:12]) {
		t.Error("more is recorded than containers, or their ids are")
	}
}

func TestNamesThatPeopleGaveToMachinesAreMasked(t *testing.T) {
	m := newMasker("")
	for path, want := range map[string]string{
		"/machine.slice/systemd-nspawn@alices.service":          "/machine.slice/systemd-nspawn@machine1.service",
		`/machine.slice/machine-qemu\x2d1\x2dalices.scope`:      `/machine.slice/machine-qemu\x2dmachine1.scope`,
		"/machine.slice/machine-alices.scope":                   "/machine.slice/machine-machine1.scope",
		"/lxc/alices/ns":                                        "/lxc/group1/group2",
		"/lxc.payload.alices":                                   "/group1",
		"/machine.slice/libpod-" + otherID + ".scope/container": "/machine.slice/libpod-000000000001" + strings.Repeat("0", 52) + ".scope/container",
	} {
		fresh := *m
		fresh.numbers, fresh.counts = map[string]int{}, map[string]int{}
		if got := fresh.maskCgroup(path); got != want {
			t.Errorf("%s became %s, want %s", path, got, want)
		}
	}
}
