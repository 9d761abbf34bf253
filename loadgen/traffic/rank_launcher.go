package traffic

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/procfs"
)

// LaunchLead is the time from the start of mpirun to the default start of the measured load: the ranks identify the
// server and send their warm-up in it.
const LaunchLead = 30 * time.Second

// mpiLaunchers returns the names of the processes that start ranks on their machine, as in /proc/PID/stat: of Open MPI
// (orterun, orted), of its PRRTE (prterun, prted), and of MPICH's Hydra, whose proxy runs on every machine.
func mpiLaunchers() []string {
	return []string{"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", "mpirun.openmpi", "mpiexec.openmpi", "mpiexec.hydra", "hydra_pmi_proxy"}
}

// LauncherStart returns the default start of a load whose ranks mpirun started on this machine: LaunchLead after the
// start of the launcher, in whole seconds, which is the same moment for all of them. It fails if the ranks are on
// several machines, or if the launcher is not among the ancestors of the process pid, as in a container. The number of
// ranks of this machine comes from OMPI_COMM_WORLD_LOCAL_SIZE (Open MPI) or MPI_LOCALNRANKS (MPICH).
func LauncherStart(place Place, lookup func(string) (string, bool), proc procfs.FS, pid int) (time.Time, error) {
	local, ok := lookup("OMPI_COMM_WORLD_LOCAL_SIZE")
	if !ok {
		local, ok = lookup("MPI_LOCALNRANKS")
	}
	switch {
	case !ok:
		return time.Time{}, errors.New("the launcher does not set how many ranks are on this machine")
	case local != fmt.Sprint(place.World):
		return time.Time{}, fmt.Errorf("%s of the %d ranks are on this machine", shortenedVariable(local), place.World)
	}
	for pid > 1 {
		process, err := proc.Proc(pid)
		if err != nil {
			return time.Time{}, err
		}
		stat, err := process.Stat()
		if err != nil {
			return time.Time{}, err
		}
		if slices.Contains(mpiLaunchers(), stat.Comm) {
			began, err := stat.StartTime()
			if err != nil {
				return time.Time{}, err
			}
			return time.Unix(int64(began), 0).UTC().Add(LaunchLead), nil
		}
		pid = stat.PPID
	}
	return time.Time{}, errors.New("mpirun is not among the parents of this process")
}
