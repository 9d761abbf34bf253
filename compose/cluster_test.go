package compose

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheMPIScriptNamesWhatIsMissing, in a line and before anything is started. That it works is proven by .ci/proofs/cluster.
func TestTheMPIScriptNamesWhatIsMissing(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "hosts")
	must(t, os.WriteFile(empty, []byte("# nobody\n\n"), 0o644))
	for says, args := range map[string][]string{
		"usage: load HOSTFILE RUN": {},
		"the hostfile has to be":   {"no-such-file", "run1", "--url=http://127.0.0.1:1"},
		"a run is letters":         {empty, "../run1", "--url=http://127.0.0.1:1"},
		"names no host":            {empty, "run1", "--url=http://127.0.0.1:1"},
	} {
		output, err := exec.CommandContext(t.Context(), "mpi/load", args...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(output), says) || strings.Count(string(output), "\n") != 1 {
			t.Errorf("%q: %v, %s", args, err, output)
		}
	}
}

// TestScriptsOfLaunchersAreScripts: nobody runs them here, but they can be read.
func TestScriptsOfLaunchersAreScripts(t *testing.T) {
	for _, script := range []string{"slurm/load.sbatch", "slurm/engine.sbatch", "mpi/load", "kubernetes/rules", "kubernetes/load/start"} {
		if output, err := exec.CommandContext(t.Context(), "bash", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v, %s", script, err, output)
		}
	}
}
