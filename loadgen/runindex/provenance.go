package runindex

import (
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/provenance"
)

// recorded says whether the run identifies what ran: a plan without processes does not.
func (r Run) recorded() bool {
	p := r.Manifest.Provenance
	return p != nil && p.Key != "" && len(p.Processes) > 0
}

// hashKey names the key of the run's hashes; empty if what ran is not recorded.
func (r Run) hashKey() string {
	if !r.recorded() {
		return ""
	}
	return r.Manifest.Provenance.Key
}

// provenanceFacts say what ran, by hashes where a value is not kept. Flags of the run are facts already.
func (r Run) provenanceFacts(f *facts) {
	if !r.recorded() {
		return
	}
	f.ran(compare.FactRan, "recorded")
	for _, one := range provenance.Items(*r.Manifest.Provenance) {
		if !one.Flag {
			f.all = append(f.all, compare.Fact{Item: one.Name, Value: one.Value, Hash: one.Hash, Ran: true, Identified: true})
		}
	}
}

// softwareFacts say by what containers were run.
func (r Run) softwareFacts(f *facts) {
	s := r.Manifest.Containers
	if s == nil {
		return
	}
	f.ran("Docker", s.Docker)
	f.ran("containerd", s.Containerd)
	f.ran("runc", s.Runc)
	f.ran("NVIDIA Container Toolkit", s.NVIDIAToolkit)
}
