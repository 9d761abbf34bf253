package arm

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/openai"
)

// hideSecrets removes the secrets of the plan from the logs in the folder of the arm, once their processes have ended:
// engines print their arguments and their environment when they start.
func (k *keeper) hideSecrets(specs map[string]plan.Process) error {
	secrets := openai.NewRedactor(plan.Arm{Processes: slices.Collect(maps.Values(specs))}.Secrets())
	var errs []error
	for _, one := range k.seen().Processes {
		if inside, err := filepath.Rel(k.dir, one.Log); err == nil && filepath.IsLocal(inside) {
			errs = append(errs, hideIn(one.Log, one.LogFrom, secrets))
		}
	}
	return errors.Join(errs...)
}

// hideIn removes secrets from a log, from an offset in bytes on.
func hideIn(path string, from int64, secrets *openai.Redactor) error {
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("log: secrets of the plan may be in it: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return secrets.Overwrite(file, from)
}
