package container

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
	of := func(runtime, id string) Identity { return Identity{Kind: Container, Runtime: runtime, ID: id} }
	inPod := func(runtime, id, pod string) Identity {
		return Identity{Kind: Container, Runtime: runtime, ID: id, PodUID: pod}
	}
	tests := []struct {
		what, path string
		want       Identity
	}{
		{"Docker, driver systemd", "/system.slice/docker-" + idA + ".scope", of("docker", idA)},
		{"Docker, driver cgroupfs", "/docker/" + idA, of("docker", idA)},
		{"Docker, in a slice of its own", "/inference.slice/docker-" + idA + ".scope", of("docker", idA)},
		{"Docker, driver cgroupfs, a parent of its own", "/inference/" + idA, of("", idA)},
		{"Docker without root", "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + idA + ".scope", of("docker", idA)},
		{"Docker in Docker", "/system.slice/docker-" + idA + ".scope/docker/" + idB, of("docker", idB)},
		{"what a container with systemd makes", "/system.slice/docker-" + idA + ".scope/system.slice/nginx.service", Identity{Kind: Service}},
		{"the first process of a container with Docker in it", "/system.slice/docker-" + idA + ".scope/init", Identity{Kind: Other}},
		{"Docker's builder", "/docker/buildkit/q2w3e4r5t6y7u8i9o0p1a2s3d", Identity{Kind: Other}},
		{"Docker's own service", "/system.slice/docker.service", Identity{Kind: Service}},
		{"containerd, Kubernetes, burstable", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + inUnit + ".slice/cri-containerd-" + idA + ".scope", inPod("containerd", idA, uid)},
		{"containerd, Kubernetes, guaranteed", "/kubepods.slice/kubepods-pod" + inUnit + ".slice/cri-containerd-" + idA + ".scope", inPod("containerd", idA, uid)},
		{"pod of a file", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + static + ".slice", Identity{Kind: Pod, PodUID: static}},
		{"pod", "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + inUnit + ".slice", Identity{Kind: Pod, PodUID: uid}},
		{"class of pods", "/kubepods.slice/kubepods-besteffort.slice", Identity{Kind: Slice}},
		{"Kubernetes, driver cgroupfs", "/kubepods/burstable/pod" + uid + "/" + idA, inPod("", idA, uid)},
		{"pod, driver cgroupfs", "/kubepods/besteffort/pod" + uid, Identity{Kind: Pod, PodUID: uid}},
		{"CRI-O", "/kubepods.slice/kubepods-pod" + inUnit + ".slice/crio-" + idA + ".scope", inPod("cri-o", idA, uid)},
		{"CRI-O, driver cgroupfs", "/kubepods/pod" + uid + "/crio-" + idA, inPod("cri-o", idA, uid)},
		{"CRI-O's monitor", "/kubepods.slice/kubepods-pod" + inUnit + ".slice/crio-conmon-" + idA + ".scope", Identity{Kind: Scope}},
		{"below a container of crun", "/machine.slice/libpod-" + idA + ".scope/container", Identity{Kind: Other}},
		{"kind: Kubernetes in Docker", "/system.slice/docker-" + idA + ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" + inUnit + ".slice/cri-containerd-" + idB + ".scope", inPod("containerd", idB, uid)},
		{"kind, driver cgroupfs", "/docker/" + idA + "/kubelet/kubepods/pod" + uid + "/" + idB, inPod("", idB, uid)},
		{"Docker in a pod", "/kubepods/pod" + uid + "/" + idA + "/docker/" + idB, of("docker", idB)},
		{"nerdctl", "/system.slice/nerdctl-" + idA + ".scope", of("containerd", idA)},
		{"Podman", "/machine.slice/libpod-" + idA + ".scope", of("podman", idA)},
		{"Podman without root", "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + idA + ".scope", of("podman", idA)},
		{"Podman, driver cgroupfs", "/libpod_parent/libpod-" + idA, of("podman", idA)},
		{"Podman's monitor", "/machine.slice/libpod-conmon-" + idA + ".scope", Identity{Kind: Scope}},
		{"Podman as a quadlet", "/system.slice/vllm.service/libpod-payload-" + idA, of("podman", idA)},
		{"the monitor of a quadlet", "/system.slice/vllm.service/runtime", Identity{Kind: Other}},
		{"in a pod of Podman", "/machine.slice/machine-libpod_pod_" + idB + ".slice/libpod-" + idA + ".scope", inPod("podman", idA, idB)},
		{"a pod of Podman", "/machine.slice/machine-libpod_pod_" + idB + ".slice", Identity{Kind: Pod, Runtime: "podman", PodUID: idB}},
		{"in a pod of Podman, driver cgroupfs", "/libpod_parent/" + idB + "/libpod-" + idA, inPod("podman", idA, idB)},
		{"a pod of Podman, driver cgroupfs", "/libpod_parent/" + idB, Identity{Kind: Pod, Runtime: "podman", PodUID: idB}},
		{"LXC 4", "/lxc.payload.bench", Identity{Kind: Container, Runtime: "lxc", Name: "bench"}},
		{"LXC's monitor", "/lxc.monitor.bench", Identity{Kind: Other}},
		{"Proxmox", "/lxc/101", Identity{Kind: Container, Runtime: "lxc", Name: "101"}},
		{"within a container of Proxmox", "/lxc/101/ns", Identity{Kind: Other}},
		{"nspawn", "/machine.slice/systemd-nspawn@dgx.service", Identity{Kind: Container, Runtime: "systemd-nspawn", Name: "dgx"}},
		{"nspawn from a shell", `/machine.slice/machine-dgx\x2dos.scope`, Identity{Kind: Container, Runtime: "systemd-machined", Name: "dgx-os"}},
		{"virtual machine", `/machine.slice/machine-qemu\x2d1\x2dwin.scope`, Identity{Kind: Scope}},
		{"systemd-run, such as of a chroot", "/system.slice/run-r0f1e2d3c4b5a69788796a5b4c3d2e1f0.scope", Identity{Kind: Scope}},
		{"a named scope", "/user.slice/user-1000.slice/user@1000.service/app.slice/chroot-trtllm.scope", Identity{Kind: Scope}},
		{"slice", "/system.slice", Identity{Kind: Slice}},
		{"init", "/init.scope", Identity{Kind: Scope}},
		{"somebody's own", "/inference", Identity{Kind: Other}},
		{"the root", "/", Identity{Kind: Other}},
		{"nothing", "", Identity{Kind: Other}},
		{"an id that is too short", "/docker/4f5b3a", Identity{Kind: Other}},
		{"no id", "/system.slice/docker-" + strings.Repeat("g", 64) + ".scope", Identity{Kind: Scope}},
		{"a scope of a bare id", "/system.slice/" + idA + ".scope", Identity{Kind: Scope}},
		{"some other program's scope", "/system.slice/backup-" + idA + ".scope", Identity{Kind: Scope}},
		{"no UID", "/kubepods/podcast", Identity{Kind: Other}},
		{"hyphens in the wrong places", "/kubepods/pod1f1b8e4c7-d3a-4b0e-9c55-0a6f2d9f8f11", Identity{Kind: Other}},
	}
	for _, test := range tests {
		if got := Identify(test.path); got != test.want {
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

func FuzzIdentify(f *testing.F) {
	for _, seed := range []string{
		"/system.slice/docker-" + idA + ".scope", "/kubepods/burstable/pod" + uid + "/" + idA, "/libpod_parent/" + idB + "/libpod-" + idA,
		`/machine.slice/machine-a\x2db.scope`, "/lxc/101", "//", "/..", `/lxc.payload.\x`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got := Identify(path)
		if got.ID != "" && (!isID(got.ID) || !strings.Contains(path, got.ID) || got.Kind != Container) {
			t.Errorf("%q: %+v", path, got)
		}
		if (got.ID != "" || got.Name != "") != (got.Kind == Container) || got.ID != "" && got.Name != "" {
			t.Errorf("%q is a container without id or name, or with both: %+v", path, got)
		}
		if got.PodUID != "" && (got.Kind != Container && got.Kind != Pod || !isUID(got.PodUID) && !isID(got.PodUID)) || got.Kind == Pod && got.PodUID == "" {
			t.Errorf("%q is in pod %q: %+v", path, got.PodUID, got)
		}
		if len(got.Name) > len(path) || utf8.ValidString(path) && !strings.Contains(path, `\x`) && !strings.Contains(path, got.Name) {
			t.Errorf("%q has the name %q", path, got.Name)
		}
		if below := Identify(path + "/init"); below.ID != "" {
			t.Errorf("what is in %q passes for %+v", path, below)
		}
	})
}
