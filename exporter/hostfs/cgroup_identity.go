package hostfs

import (
	"path"
	"strconv"
	"strings"
)

// A cgroup is identified by its path alone: the container of some runtime, a pod, a unit of systemd or something else,
// because runtimes write the id of a container into it. The name of a container is not in the path. It comes from a
// configured list: the answer of a Docker-compatible API, or a file.

// CgroupKind is the kind of a cgroup.
type CgroupKind string

// The kinds. A slice, service or scope is a unit of systemd that is no other kind.
const (
	KindContainer CgroupKind = "container"
	KindPod       CgroupKind = "pod"
	KindSlice     CgroupKind = "slice"
	KindService   CgroupKind = "service"
	KindScope     CgroupKind = "scope"
	KindOther     CgroupKind = "other"
)

// The runtimes, by their names in labels.
const (
	runtimeDocker     = "docker"
	runtimeContainerd = "containerd"
	runtimeCRIO       = "cri-o"
	runtimePodman     = "podman"
	runtimeLXC        = "lxc"
	runtimeNspawn     = "systemd-nspawn"
	// runtimeMachined is any program that registers a machine with systemd: nspawn or a virtual machine monitor.
	runtimeMachined = "systemd-machined"
)

// CgroupIdentity is what the path of a cgroup contains. A missing part is "".
type CgroupIdentity struct {
	Kind CgroupKind
	// Runtime made the container or pod. It is unknown where a path has only an id, as Kubernetes makes them with the
	// driver cgroupfs.
	Runtime string
	// ID of a container: 64 hexadecimal digits. LXC and systemd give names instead.
	ID, Name string
	// PodUID is the UID of the Kubernetes pod, in the notation of Kubernetes, or the id of the Podman
	// pod, that the cgroup is or is directly in.
	PodUID string
}

// IdentifyCgroup parses a cgroup path such as /system.slice/docker-<id>.scope. The last component decides the kind; a
// container in a container has the inner one's id. A cgroup that a container has made for itself below its own is no
// container.
func IdentifyCgroup(cgroup string) CgroupIdentity {
	above, name := splitCgroup(cgroup)
	_, parent := splitCgroup(above)
	identity := identifyLast(name, parent)
	if identity.Kind == KindContainer {
		identity.PodUID = podAround(above)
	}
	return identity
}

func identifyLast(name, parent string) CgroupIdentity {
	if found, ok := containerByID(name, parent); ok {
		return found
	}
	if uid, runtime := podOf(name); uid != "" {
		return CgroupIdentity{Kind: KindPod, Runtime: runtime, PodUID: uid}
	}
	if found, ok := containerByName(name, parent); ok {
		return found
	}
	switch path.Ext(name) {
	case ".slice":
		return CgroupIdentity{Kind: KindSlice}
	case ".service":
		return CgroupIdentity{Kind: KindService}
	case ".scope":
		return CgroupIdentity{Kind: KindScope}
	}
	return CgroupIdentity{Kind: KindOther}
}

// idPrefixes are the prefixes that runtimes add to the id of a container. With the driver systemd .scope follows. Their
// own helpers have other names, such as libpod-conmon-<id>.scope, and are no containers.
func idPrefixes() []struct{ prefix, runtime string } {
	return []struct{ prefix, runtime string }{
		{"docker-", runtimeDocker},
		{"cri-containerd-", runtimeContainerd}, // Kubernetes
		{"nerdctl-", runtimeContainerd},
		{"crio-", runtimeCRIO},
		{"libpod-payload-", runtimePodman}, // --cgroups=split, as quadlets are run
		{"libpod-", runtimePodman},
	}
}

// podmanParent is where Podman puts its cgroups with the driver cgroupfs.
const podmanParent = "libpod_parent"

// containerByID finds containers whose names contain an id, and Podman's pods, whose ids look alike.
func containerByID(name, parent string) (CgroupIdentity, bool) {
	unit := strings.TrimSuffix(name, ".scope")
	switch {
	case len(unit) < idDigits || !isID(unit[len(unit)-idDigits:]):
		return CgroupIdentity{}, false
	case unit != name && len(unit) == idDigits:
		return CgroupIdentity{}, false // no runtime makes a scope of a bare id
	}
	prefix, id := unit[:len(unit)-idDigits], unit[len(unit)-idDigits:]
	switch {
	case prefix != "":
		for _, known := range idPrefixes() {
			if prefix == known.prefix {
				return CgroupIdentity{Kind: KindContainer, Runtime: known.runtime, ID: id}, true
			}
		}
		return CgroupIdentity{}, false
	case parent == podmanParent:
		return CgroupIdentity{Kind: KindPod, Runtime: runtimePodman, PodUID: id}, true
	case parent == "docker":
		return CgroupIdentity{Kind: KindContainer, Runtime: runtimeDocker, ID: id}, true
	}
	return CgroupIdentity{Kind: KindContainer, ID: id}, true
}

// containerByName finds containers that people have named.
func containerByName(name, parent string) (CgroupIdentity, bool) {
	named := func(runtime, name string) (CgroupIdentity, bool) {
		return CgroupIdentity{Kind: KindContainer, Runtime: runtime, Name: unescape(name)}, name != ""
	}
	if rest, ok := strings.CutPrefix(name, "lxc.payload."); ok {
		return named(runtimeLXC, rest)
	}
	if (parent == "lxc" || parent == "lxc.payload") && name != "" { // LXC 3, and Proxmox
		return named(runtimeLXC, name)
	}
	if rest, ok := cutBoth(name, "systemd-nspawn@", ".service"); ok {
		return named(runtimeNspawn, rest)
	}
	// Scopes of libvirt, machine-qemu\x2d1\x2dname.scope, are virtual machines.
	if rest, ok := cutBoth(name, "machine-", ".scope"); ok && !strings.HasPrefix(unescape(rest), "qemu-") {
		return named(runtimeMachined, rest)
	}
	return CgroupIdentity{}, false
}

// podAround returns the UID of the pod that a path is in, up to the next container around it.
func podAround(cgroup string) string {
	for cgroup != "" {
		above, name := splitCgroup(cgroup)
		if uid, _ := podOf(name); uid != "" {
			return uid
		}
		_, parent := splitCgroup(above)
		switch found, isOne := containerByID(name, parent); {
		case isOne && found.Kind == KindPod:
			return found.PodUID
		case isOne:
			return ""
		}
		cgroup = above
	}
	return ""
}

// podOf returns the UID of a pod by the name of its cgroup, and the runtime if the name contains it:
//
//	kubepods-burstable-pod1f1b8e4c_7d3a_4b0e_9c55_0a6f2d9f8f11.slice  driver systemd; kind puts kubelet- before it
//	pod1f1b8e4c-7d3a-4b0e-9c55-0a6f2d9f8f11                           driver cgroupfs
//	machine-libpod_pod_<id>.slice                                     Podman
//
// The UID of a pod that a node runs from a file is a hash of 32 digits.
func podOf(name string) (uid, runtime string) {
	unit, isSlice := strings.CutSuffix(name, ".slice")
	if isSlice {
		unit = unit[strings.LastIndexByte(unit, '-')+1:]
	}
	if id, ok := strings.CutPrefix(unit, "libpod_pod_"); ok && isSlice && isID(id) {
		return id, runtimePodman
	}
	uid, ok := strings.CutPrefix(unit, "pod")
	if !ok {
		return "", ""
	}
	if isSlice { // in which - separates slices
		uid = strings.ReplaceAll(uid, "_", "-")
	}
	if !isUID(uid) {
		return "", ""
	}
	return uid, ""
}

const (
	idDigits   = 64
	hashDigits = 32
)

func isID(text string) bool { return len(text) == idDigits && isHex(text) }

// isUID reports whether a text is a UUID or the hash of a static pod.
func isUID(text string) bool {
	digits := strings.ReplaceAll(text, "-", "")
	return len(digits) == hashDigits && isHex(digits) && (len(text) == hashDigits || len(text) == hashDigits+4 &&
		text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-')
}

func isHex(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func splitCgroup(cgroup string) (above, name string) {
	at := strings.LastIndexByte(cgroup, '/')
	return cgroup[:max(at, 0)], cgroup[at+1:]
}

func cutBoth(text, prefix, suffix string) (string, bool) {
	rest, begins := strings.CutPrefix(text, prefix)
	rest, ends := strings.CutSuffix(rest, suffix)
	return rest, begins && ends
}

// unescape undoes the escapes that systemd puts into names of units (systemd.unit(5)): \x2d is a hyphen.
func unescape(name string) string {
	const escape = `\x`
	for from := 0; ; {
		at := strings.Index(name[from:], escape)
		if at < 0 {
			return name
		}
		at += from
		from = at + 1
		if len(name) < at+4 {
			continue
		}
		if code, err := strconv.ParseUint(name[at+2:at+4], 16, 8); err == nil {
			name = name[:at] + string([]byte{byte(code)}) + name[at+4:]
		}
	}
}
