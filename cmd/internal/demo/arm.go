package demo

import (
	"github.com/umascope/umascope/exporter/metric"
	hostsim "github.com/umascope/umascope/exporter/sim"
)

// arm is one way to run the engine on the machine. Arms differ in what differs on a real machine: the cgroup and its
// limits, the files that are read before the engine starts, shared memory. It has no figure of a run.
type arm struct {
	name   string
	cgroup string
	limits hostsim.Limits
	// layers and weights are trees of files that are read through the page cache while the arm starts, in this order.
	// An arm without layers has "".
	layers, weights string
	shmemBytes      int64
	// dropsCaches empties the page cache before the arm starts, so that arms begin alike. Without it an arm finds the
	// files that the arm before it has read.
	dropsCaches bool
}

// Files of the machine, each a tree that is read as one file. A container has its weights in a volume of its own, a
// copy, as a mounted model cache is: the kernel cannot see that they equal those of the native arm.
const (
	weightsFile          = "/models/" + modelName
	containerWeightsFile = "/var/lib/docker/volumes/model-cache/_data/" + modelName
	imageFile            = "/var/lib/docker/overlay2/simulated-engine"
	homeFile             = "/home/spark"

	// imageBytes is the part that a start reads of the layers of an image with CUDA, PyTorch and an engine. The layers
	// are larger.
	imageBytes = 8 * gib
	// homeBytes is what the desktop reads and writes.
	homeBytes = 2 * gib
)

// userScope is the cgroup of a program that a user has started from a shell.
const userScope = "/user.slice/user-1000.slice/session-3.scope"

// dockerScope is a cgroup as Docker with systemd names it; digits make containers differ.
func dockerScope(digits string) string {
	const zeros = "0000000000000000000000000000000000000000000000000000000000000000"
	return "/system.slice/docker-" + zeros[len(digits):] + digits + ".scope"
}

// nativeArm runs the engine as a process of a user.
func nativeArm() arm {
	return arm{name: metric.ArmNative, cgroup: userScope, weights: weightsFile}
}

// containerArm runs it with Docker and a memory limit. The limit does not count GPU memory.
func containerArm() arm {
	return arm{
		name: metric.ArmContainer, cgroup: dockerScope("51300001"),
		limits: hostsim.Limits{MaxBytes: 64 * gib, HighBytes: 60 * gib},
		layers: imageFile, weights: containerWeightsFile, shmemBytes: 2 * gib,
	}
}
