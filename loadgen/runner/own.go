package runner

import (
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/loadgen/rundir"
)

// ownProcess identifies a process of umascope, also after its PID is reused.
type ownProcess struct {
	program string
	pid     int
	start   uint64 // in ticks since boot
}

// ownUse is what processes of umascope on this machine had used at a moment.
type ownUse struct {
	at       time.Time
	seconds  map[ownProcess]float64 // CPU time
	resident map[ownProcess]uint64  // bytes
}

// readOwn reads what the processes of umascope have used. It returns nil if /proc cannot be read. A process that ends
// meanwhile is left out.
func readOwn(proc string, now time.Time) *ownUse {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return nil
	}
	processes, err := fs.AllProcs()
	if err != nil {
		return nil
	}
	use := &ownUse{now, map[ownProcess]float64{}, map[ownProcess]uint64{}}
	for _, p := range processes {
		comm, err := p.Comm()
		if err != nil || !slices.Contains(rundir.OwnPrograms(), comm) {
			continue
		}
		if stat, err := p.Stat(); err == nil {
			one := ownProcess{comm, p.PID, stat.Starttime}
			use.seconds[one], use.resident[one] = stat.CPUTime(), uint64(stat.ResidentMemory())
		}
	}
	return use
}

// since returns what each program used since an earlier moment, those without a process too; nil if one of the moments
// is unknown. What a process used that ended in between is not known.
func (u *ownUse) since(earlier *ownUse) []rundir.OwnProgram {
	if u == nil || earlier == nil {
		return nil
	}
	var all []rundir.OwnProgram
	for _, name := range rundir.OwnPrograms() {
		program := rundir.OwnProgram{Program: name}
		for p, seconds := range u.seconds {
			if p.program == name {
				program.Processes++
				program.ResidentBytes += u.resident[p]
				program.CPURatio += (seconds - earlier.seconds[p]) / u.at.Sub(earlier.at).Seconds()
			}
		}
		all = append(all, program)
	}
	return all
}
