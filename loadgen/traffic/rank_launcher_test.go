package traffic

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// processes writes a proc folder of processes, each with its parent, its name and its start in ticks of 10 ms since
// boot, which was at 1795273000.
func processes(t *testing.T, all ...[4]any) procfs.FS {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("stat", "cpu  0 0 0 0 0 0 0 0 0 0\nbtime 1795273000\n")
	for _, p := range all {
		// The fields of proc_pid_stat(5): pid, comm, state, ppid, 17 more, starttime, and the rest.
		write(fmt.Sprintf("%d/stat", p[0]), fmt.Sprintf("%d (%s) S %d%s %d%s\n", p[0], p[2], p[1], strings.Repeat(" 0", 17), p[3], strings.Repeat(" 0", 30)))
	}
	proc, err := procfs.NewFS(dir)
	if err != nil {
		t.Fatal(err)
	}
	return proc
}

func TestRanksOfOneMachineStartTogetherByTheirLauncher(t *testing.T) {
	openMPI := map[string]string{"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}
	tree := [][4]any{{1, 0, "systemd", 10}, {90, 1, "bash", 900}, {100, 90, "mpirun", 44599}, {101, 100, "sh", 44601}, {102, 101, "uma-load", 44702}, {103, 100, "uma-load", 44650}}
	want := time.Unix(1795273445, 0).UTC().Add(LaunchLead)
	for _, pid := range []int{102, 103} { // one below a shell, one below the launcher, both later than it
		start, err := LauncherStart(Place{Rank: 1, World: 4}, environment(openMPI), processes(t, tree...), pid)
		if err != nil || !start.Equal(want) {
			t.Errorf("process %d: %v, %v, want %v", pid, start, err, want)
		}
	}
	hydra := [][4]any{{100, 1, "hydra_pmi_proxy", 44500}, {103, 100, "uma-load", 44650}}
	start, err := LauncherStart(Place{World: 2}, environment(map[string]string{"MPI_LOCALNRANKS": "2"}), processes(t, hydra...), 103)
	if err != nil || !start.Equal(want) {
		t.Errorf("MPICH: %v, %v, want %v", start, err, want)
	}
}

func TestRanksThatHaveNoCommonLauncherHaveNoDefaultStart(t *testing.T) {
	tree := processes(t, [4]any{1, 0, "systemd", 10}, [4]any{90, 1, "bash", 900}, [4]any{103, 90, "uma-load", 44650})
	for name, c := range map[string]struct {
		env  map[string]string
		pid  int
		want string
	}{
		"several machines":       {map[string]string{"OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, 103, "2 of the 4 ranks are on this machine"},
		"Slurm":                  {map[string]string{"SLURM_NTASKS": "4"}, 103, "how many ranks are on this machine"},
		"a container":            {map[string]string{"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, 103, "mpirun is not among the parents"},
		"a process that is gone": {map[string]string{"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, 7, "7"},
	} {
		if start, err := LauncherStart(Place{World: 4}, environment(c.env), tree, c.pid); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, start, err)
		}
	}
}
