package plan

import "slices"

// root returns the keys of everything in these slots that needs root.
func (p *Plan) root(slots []Slot, cells map[[2]string]*Cell) []string {
	var needs []string
	need := func(what string) {
		if !slices.Contains(needs, what) {
			needs = append(needs, what)
		}
	}
	if p.PageCache.Policy == "drop" {
		need("page_cache.policy: drop")
	}
	if p.Clocks != nil {
		need("clocks.lock: nvidia-smi, to set and reset the clocks of GPUs")
	}
	for i, a := range p.Arms {
		for _, s := range slots {
			if s.Arm != a.Name {
				continue
			}
			for _, key := range cells[[2]string{s.Model, s.Arm}].asRoot(item("arms", i)) {
				need(key + ", of " + a.Name)
			}
		}
	}
	return needs
}

// asRoot returns the keys of everything that a cell starts as root. arm is the path of its arm.
func (c *Cell) asRoot(arm string) []string {
	var keys []string
	note := func(key string, argv []string) {
		if len(argv) > 0 && argv[0] == "sudo" {
			keys = append(keys, key)
		}
	}
	for i, one := range c.Arm.Processes {
		if one.Root {
			keys = append(keys, item(arm+".processes", i)+": "+one.Name)
		} else {
			note(item(arm+".processes", i)+": "+one.Name, one.Argv)
		}
	}
	for _, command := range c.Commands() {
		note(command.Key+": "+command.Name, command.Argv)
	}
	return keys
}
