package runner

import (
	"context"
	"slices"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
)

// serverProcess is the name of the process that serves the engine, if the plan gives it none.
const serverProcess = "server"

// describeEngine adds to the manifest what a campaign has recorded of the run so far. Facts that were observed of the
// engine stay.
func (r *run) describeEngine() {
	e, m := r.env.Engine, r.manifest
	m.Campaign = e.Facts()
	if e.Ran == nil {
		return
	}
	ran := e.Ran()
	if before := m.Provenance; before != nil {
		ran.Missing = before.Missing
		for _, process := range before.Processes {
			if process.ReadFrom != rundir.ReadFromPlan {
				ran.Processes = append(ran.Processes, process)
			}
		}
	}
	m.Provenance = ran
}

// identify adds to the manifest what runs: the command of a recorded run, and the engine as far as this machine shows
// it. The addresses are those of the servers; a recorded run has none.
func (r *run) identify(ctx context.Context, around *Capture, addresses, command []string) {
	m := r.manifest
	if m.Labels["host"] == m.Client.Hostname {
		m.Containers = containerSoftware(ctx)
	}
	key, err := r.key()
	if err != nil {
		m.Provenance = &rundir.Provenance{Missing: []string{"the key of the hashes: " + printable(err.Error())}}
		return
	}
	if m.Provenance == nil {
		m.Provenance = &rundir.Provenance{Key: key.ID()}
	}
	planned := len(m.Provenance.Processes) > 0
	if len(command) > 0 && !planned {
		m.Provenance.Processes = append(m.Provenance.Processes, key.Process(supported.Engines(), "command", rundir.ReadFromCommand, command, nil))
	}
	if process, is := around.containerProcess(); is {
		m.Provenance.Processes = append(m.Provenance.Processes, ofContainer(key, process, planned, m.Provenance))
	} else if !planned {
		for i, address := range addresses {
			ofServer(key, serverName(i), address, m.Provenance)
		}
	}
}

// key returns the key of the hashes: of the campaign, or else of the folder of runs.
func (r *run) key() (server.ProvenanceKey, error) {
	if r.env.Engine != nil {
		return r.env.Engine.Key, nil
	}
	return server.OpenProvenanceKey(r.keep.Out)
}

// ofContainer identifies a container. If the plan has the command lines, only its image and its files are added.
func ofContainer(key server.ProvenanceKey, p containerStart, planned bool, into *rundir.Provenance) rundir.RanProcess {
	ran := rundir.RanProcess{Name: serverProcess, ReadFrom: rundir.ReadFromContainer}
	if !planned {
		ran = key.Process(supported.Engines(), serverProcess, rundir.ReadFromContainer, p.Argv, server.ParseEnvironment(p.Env))
	}
	ran.Image = key.Image(p.ImageID)
	if p.ChangedErr != nil {
		into.Missing = append(into.Missing, "changed files of the container: "+printable(p.ChangedErr.Error()))
	} else {
		ran.Changed = key.ChangedFiles(p.Changed)
	}
	return ran
}

// ofServer identifies the process that listens at an address.
func ofServer(key server.ProvenanceKey, name, address string, into *rundir.Provenance) {
	p, err := server.ProcessBehind(address)
	if err != nil {
		into.Missing = append(into.Missing, "process of the "+name+": "+printable(err.Error()))
		return
	}
	ran := key.Process(supported.Engines(), name, rundir.ReadFromProc, p.Argv, nil)
	ran.Inherited = key.Inherited(supported.Engines(), p.Argv, p.Environ)
	into.Processes = slices.Concat(into.Processes, []rundir.RanProcess{ran})
}
