package compare

import "github.com/umascope/umascope/loadgen/rundir"

// recorded reports whether the run identifies what ran: a plan without processes does not.
func (r observed) recorded() bool {
	p := r.Manifest.Provenance
	return p != nil && p.Key != "" && len(p.Processes) > 0
}

// hashKey returns the key of the run's hashes; empty if what ran is not recorded.
func (r observed) hashKey() string {
	if !r.recorded() {
		return ""
	}
	return r.Manifest.Provenance.Key
}

// provenanceFacts adds what ran, as hashes where a value is not kept. The flags of the run are other facts.
func (r observed) provenanceFacts(f *factList) {
	if !r.recorded() {
		return
	}
	f.ran(FactRan, "recorded")
	for _, one := range rundir.ProvenanceItems(*r.Manifest.Provenance) {
		if !one.Flag {
			f.all = append(f.all, Fact{Item: one.Name, Value: one.Value, Hash: one.Hash, Ran: true, Identified: true})
		}
	}
}

// softwareFacts adds the software that ran the containers.
func (r observed) softwareFacts(f *factList) {
	s := r.Manifest.Containers
	if s == nil {
		return
	}
	f.ran("Docker", s.Docker)
	f.ran("containerd", s.Containerd)
	f.ran("runc", s.Runc)
	f.ran("NVIDIA Container Toolkit", s.NVIDIAToolkit)
}
