package hostfs

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	idA    = "4f5b3a0c9d1e2f3a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f901234"
	idB    = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	uid    = "1f1b8e4c-7d3a-4b0e-9c55-0a6f2d9f8f11"
	inUnit = "1f1b8e4c_7d3a_4b0e_9c55_0a6f2d9f8f11"
	static = "a3c1f0d2e4b5968778695a4b3c2d1e0f"
)

func TestCgroupsAreWhatTheirPathsSay(t *testing.T) {
	of := func(runtime, id string) CgroupIdentity {
		return CgroupIdentity{Kind: KindContainer, Runtime: runtime, ID: id}
	}
	inPod := func(runtime, id, pod string) CgroupIdentity {
		return CgroupIdentity{Kind: KindContainer, Runtime: runtime, ID: id, PodUID: pod}
	}
	tests := []struct {
		what, path string
		want       CgroupIdentity
	}{
		{"Docker, driver systemd", "/system.slice/docker-" + idA + ".scope", of("docker", idA)},
		{"Docker, driver cgroupfs", "/docker/" + idA, of("docker", idA)},
		{"Docker, in a slice of its own", "/inference.slice/docker-" + idA + ".scope", of("docker", idA)},
		{"Docker, driver cgroupfs, a parent of its own", "/inference/" + idA, of("", idA)},
		{"Docker without root", "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + idA + ".scope", of("docker", idA)},
		{"Docker in Docker", "/system.slice/docker-" + idA + ".scope/docker/" + idB, of("docker", idB)},
		{"what a container with systemd makes", "/system.slice/docker-" + idA + ".scope/system.slice/nginx.service", CgroupIdentity{Kind: KindService}},
		{"the first process of a container with Docker in it", "/system.slice/docker-" + idA + ".scope/init", CgroupIdentity{Kind: KindOther}},
		{"Docker's builder", "/docker/buildkit/q2w3e4r5t6y7u8i9o0p1a2s3d", CgroupIdentity{Kind: KindOther}},
		{"Docker's own service", "/system.slice/docker.service", CgroupIdentity{Kind: KindService}},
		{"containerd, Kubernetes, burstable", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + inUnit + ".slice/cri-containerd-" + idA + ".scope", inPod("containerd", idA, uid)},
		{"containerd, Kubernetes, guaranteed", "/kubepods.slice/kubepods-pod" + inUnit + ".slice/cri-containerd-" + idA + ".scope", inPod("containerd", idA, uid)},
		{"pod of a file", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + static + ".slice", CgroupIdentity{Kind: KindPod, PodUID: static}},
		{"pod", "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + inUnit + ".slice", CgroupIdentity{Kind: KindPod, PodUID: uid}},
		{"class of pods", "/kubepods.slice/kubepods-besteffort.slice", CgroupIdentity{Kind: KindSlice}},
		{"Kubernetes, driver cgroupfs", "/kubepods/burstable/pod" + uid + "/" + idA, inPod("", idA, uid)},
		{"pod, driver cgroupfs", "/kubepods/besteffort/pod" + uid, CgroupIdentity{Kind: KindPod, PodUID: uid}},
		{"CRI-O", "/kubepods.slice/kubepods-pod" + inUnit + ".slice/crio-" + idA + ".scope", inPod("cri-o", idA, uid)},
		{"CRI-O, driver cgroupfs", "/kubepods/pod" + uid + "/crio-" + idA, inPod("cri-o", idA, uid)},
		{"CRI-O's monitor", "/kubepods.slice/kubepods-pod" + inUnit + ".slice/crio-conmon-" + idA + ".scope", CgroupIdentity{Kind: KindScope}},
		{"below a container of crun", "/machine.slice/libpod-" + idA + ".scope/container", CgroupIdentity{Kind: KindOther}},
		{"kind: Kubernetes in Docker", "/system.slice/docker-" + idA + ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" + inUnit + ".slice/cri-containerd-" + idB + ".scope", inPod("containerd", idB, uid)},
		{"kind, driver cgroupfs", "/docker/" + idA + "/kubelet/kubepods/pod" + uid + "/" + idB, inPod("", idB, uid)},
		{"Docker in a pod", "/kubepods/pod" + uid + "/" + idA + "/docker/" + idB, of("docker", idB)},
		{"nerdctl", "/system.slice/nerdctl-" + idA + ".scope", of("containerd", idA)},
		{"Podman", "/machine.slice/libpod-" + idA + ".scope", of("podman", idA)},
		{"Podman without root", "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + idA + ".scope", of("podman", idA)},
		{"Podman, driver cgroupfs", "/libpod_parent/libpod-" + idA, of("podman", idA)},
		{"Podman's monitor", "/machine.slice/libpod-conmon-" + idA + ".scope", CgroupIdentity{Kind: KindScope}},
		{"Podman as a quadlet", "/system.slice/vllm.service/libpod-payload-" + idA, of("podman", idA)},
		{"the monitor of a quadlet", "/system.slice/vllm.service/runtime", CgroupIdentity{Kind: KindOther}},
		{"in a pod of Podman", "/machine.slice/machine-libpod_pod_" + idB + ".slice/libpod-" + idA + ".scope", inPod("podman", idA, idB)},
		{"a pod of Podman", "/machine.slice/machine-libpod_pod_" + idB + ".slice", CgroupIdentity{Kind: KindPod, Runtime: "podman", PodUID: idB}},
		{"in a pod of Podman, driver cgroupfs", "/libpod_parent/" + idB + "/libpod-" + idA, inPod("podman", idA, idB)},
		{"a pod of Podman, driver cgroupfs", "/libpod_parent/" + idB, CgroupIdentity{Kind: KindPod, Runtime: "podman", PodUID: idB}},
		{"LXC 4", "/lxc.payload.bench", CgroupIdentity{Kind: KindContainer, Runtime: "lxc", Name: "bench"}},
		{"LXC's monitor", "/lxc.monitor.bench", CgroupIdentity{Kind: KindOther}},
		{"Proxmox", "/lxc/101", CgroupIdentity{Kind: KindContainer, Runtime: "lxc", Name: "101"}},
		{"within a container of Proxmox", "/lxc/101/ns", CgroupIdentity{Kind: KindOther}},
		{"nspawn", "/machine.slice/systemd-nspawn@dgx.service", CgroupIdentity{Kind: KindContainer, Runtime: "systemd-nspawn", Name: "dgx"}},
		{"nspawn from a shell", `/machine.slice/machine-dgx\x2dos.scope`, CgroupIdentity{Kind: KindContainer, Runtime: "systemd-machined", Name: "dgx-os"}},
		{"virtual machine", `/machine.slice/machine-qemu\x2d1\x2dwin.scope`, CgroupIdentity{Kind: KindScope}},
		{"systemd-run, such as of a chroot", "/system.slice/run-r0f1e2d3c4b5a69788796a5b4c3d2e1f0.scope", CgroupIdentity{Kind: KindScope}},
		{"a named scope", "/user.slice/user-1000.slice/user@1000.service/app.slice/chroot-trtllm.scope", CgroupIdentity{Kind: KindScope}},
		{"slice", "/system.slice", CgroupIdentity{Kind: KindSlice}},
		{"init", "/init.scope", CgroupIdentity{Kind: KindScope}},
		{"somebody's own", "/inference", CgroupIdentity{Kind: KindOther}},
		{"the root", "/", CgroupIdentity{Kind: KindOther}},
		{"nothing", "", CgroupIdentity{Kind: KindOther}},
		{"an id that is too short", "/docker/4f5b3a", CgroupIdentity{Kind: KindOther}},
		{"no id", "/system.slice/docker-" + strings.Repeat("g", 64) + ".scope", CgroupIdentity{Kind: KindScope}},
		{"a scope of a bare id", "/system.slice/" + idA + ".scope", CgroupIdentity{Kind: KindScope}},
		{"some other program's scope", "/system.slice/backup-" + idA + ".scope", CgroupIdentity{Kind: KindScope}},
		{"no UID", "/kubepods/podcast", CgroupIdentity{Kind: KindOther}},
		{"hyphens in the wrong places", "/kubepods/pod1f1b8e4c7-d3a-4b0e-9c55-0a6f2d9f8f11", CgroupIdentity{Kind: KindOther}},
	}
	for _, test := range tests {
		if got := IdentifyCgroup(test.path); got != test.want {
			t.Errorf("%s: %s\ngot  %+v\nwant %+v", test.what, test.path, got, test.want)
		}
	}
}

func TestEscapesOfSystemdAreUndone(t *testing.T) {
	for escaped, want := range map[string]string{
		`a\x2db`: "a-b", `\x2d`: "-", `a\x2`: `a\x2`, `a\xzz`: `a\xzz`, `\x5cx2d`: `\x2d`, "plain": "plain", `\x\x2d`: `\x-`,
	} {
		if got := unescape(escaped); got != want {
			t.Errorf("%s: %q, want %q", escaped, got, want)
		}
	}
}

func FuzzIdentifyCgroup(f *testing.F) {
	for _, seed := range []string{
		"/system.slice/docker-" + idA + ".scope", "/kubepods/burstable/pod" + uid + "/" + idA, "/libpod_parent/" + idB + "/libpod-" + idA,
		`/machine.slice/machine-a\x2db.scope`, "/lxc/101", "//", "/..", `/lxc.payload.\x`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got := IdentifyCgroup(path)
		if got.ID != "" && (!isID(got.ID) || !strings.Contains(path, got.ID) || got.Kind != KindContainer) {
			t.Errorf("%q: %+v", path, got)
		}
		if (got.ID != "" || got.Name != "") != (got.Kind == KindContainer) || got.ID != "" && got.Name != "" {
			t.Errorf("%q is a container without id or name, or with both: %+v", path, got)
		}
		if got.PodUID != "" && (got.Kind != KindContainer && got.Kind != KindPod || !isUID(got.PodUID) && !isID(got.PodUID)) || got.Kind == KindPod && got.PodUID == "" {
			t.Errorf("%q is in pod %q: %+v", path, got.PodUID, got)
		}
		if len(got.Name) > len(path) || utf8.ValidString(path) && !strings.Contains(path, `\x`) && !strings.Contains(path, got.Name) {
			t.Errorf("%q has the name %q", path, got.Name)
		}
		if below := IdentifyCgroup(path + "/init"); below.ID != "" {
			t.Errorf("what is in %q passes for %+v", path, below)
		}
	})
}
