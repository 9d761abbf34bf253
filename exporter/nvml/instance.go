package nvml

import "slices"

// maxInstances is the maximum number of instances that are read and replayed; the largest GPUs have seven.
const maxInstances = 64

// applyMIGMode applies whether the GPU is partitioned (Multi-Instance GPU). It can change while the library is open:
// since Hopper that takes no reset.
func applyMIGMode(d *reading, v Value) {
	d.evidence.MIG = v.Number != 0
	d.MIGEnabled = new(v.Number != 0)
}

func applyInstances(d *reading, v Value) {
	d.Instances, d.InstancesRead = v.Instances, true
}

// applyInstanceProcesses adds the lists of the instances to their instances.
func applyInstanceProcesses(d *reading, v Value) {
	instances := slices.Clone(d.Instances)
	for i := range instances {
		at := slices.IndexFunc(v.Instances, func(o Instance) bool { return o.UUID == instances[i].UUID })
		if at >= 0 {
			instances[i].Processes, instances[i].ProcessesRead = v.Instances[at].Processes, v.Instances[at].ProcessesRead
		}
	}
	d.Instances = instances
}

// attributed returns the instances with their processes, from the list of the whole GPU if that has the instance of
// each process.
func (d *reading) attributed() []Instance {
	if len(d.Instances) == 0 || !d.saysInstances() {
		return d.Instances
	}
	instances := slices.Clone(d.Instances)
	for i := range instances {
		instances[i].Processes, instances[i].ProcessesRead = instances[i].runs(d.Processes), true
	}
	return instances
}

// saysInstances reports whether the list of the whole GPU is complete and has the instance of each process.
func (d *reading) saysInstances() bool {
	return d.listed() && !slices.ContainsFunc(d.Processes, func(p Process) bool {
		return p.GPUInstance == nil || p.ComputeInstance == nil
	})
}

// runs returns the processes that run on the instance.
func (i Instance) runs(processes []Process) []Process {
	var mine []Process
	for _, p := range processes {
		if *p.GPUInstance == i.GPUInstance && *p.ComputeInstance == i.ComputeInstance {
			mine = append(mine, p)
		}
	}
	return mine
}

func notPartitioned(d *reading) bool { return d.MIGEnabled == nil || !*d.MIGEnabled }

// knowsInstanceProcesses reports whether the list of the whole GPU makes the lists of single instances unnecessary.
func knowsInstanceProcesses(d *reading) bool {
	return notPartitioned(d) || len(d.Instances) == 0 || d.saysInstances()
}
