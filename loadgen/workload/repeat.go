package workload

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

// KeyPrompts makes the prompts new for this run, unless they repeat another run's: their first words then depend on the
// run's name and time too. The name alone is not enough, since campaigns and scripts reuse a name in another folder.
// Ranks that share a load have the same name and time.
func (s *Settings) KeyPrompts(run string, at time.Time) {
	if s.PromptKey == "" && s.repeat == nil {
		s.PromptKey = hexSHA256(fmt.Appendf(nil, "%q %s", run, at.UTC().Format(time.RFC3339Nano)))
	}
}

// WhyRepeated returns why a server may have seen the prompts before the run; empty if they are new.
func (s *Settings) WhyRepeated() string {
	switch {
	case s.repeat != nil:
		return "--repeat-of"
	case s.SamePrompts:
		return "--same-prompts"
	case s.file != nil:
		return "the prompts of a file"
	}
	return ""
}

// Repeating is true where --repeat-of was given.
func (s *Settings) Repeating() bool { return s.repeatOf != "" }

// RepeatOf returns the run whose prompts are sent again; empty if the prompts are the run's own.
func (s *Settings) RepeatOf() string {
	if s.repeat == nil {
		return ""
	}
	return s.repeat.run
}

// FindRepeated takes the seed and the prompt key from the run of --repeat-of: a run folder, or the name of one in the
// folder of runs. The error names the flag.
func (s *Settings) FindRepeated(runs string) error {
	if s.repeatOf == "" {
		return nil
	}
	r, err := openRepeated(s.repeatOf, runs)
	if err != nil {
		return fmt.Errorf("--repeat-of: %w", err)
	}
	if s.seedGiven && s.Seed != r.seed {
		return fmt.Errorf("--seed: --repeat-of takes that of the run, %d", r.seed)
	}
	s.repeat, s.Seed, s.PromptKey = r, r.seed, r.key
	return nil
}

// repeated is a run whose prompts are sent again.
type repeated struct {
	run, path string
	seed      uint64
	key       string
	// prompts are the prompt hashes of its schedule, by phase and number.
	prompts map[string]map[int][32]byte
}

// openRepeated reads the run of the given folder or name.
func openRepeated(name, runs string) (*repeated, error) {
	path, err := findRun(name, runs)
	if err != nil {
		return nil, err
	}
	m, err := rundir.Folder(path).ReadManifest()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := &repeated{run: m.Run, path: path, seed: m.Seed, key: m.Workload.PromptKey, prompts: map[string]map[int][32]byte{}}
	if err := r.read(rundir.Folder(path).Path(rundir.ScheduleFile)); err != nil {
		return nil, fmt.Errorf("%s: which prompts it sent is not known: %w", path, err)
	}
	return r, nil
}

// findRun returns the folder of a run, from its path or from its name in a folder of runs.
func findRun(name, runs string) (string, error) {
	candidates := []string{name}
	if !filepath.IsAbs(name) {
		candidates = append(candidates, filepath.Join(runs, name))
	}
	for _, path := range candidates {
		if _, err := os.Stat(rundir.Folder(path).Path(rundir.ManifestFile)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no run folder: %s", strings.Join(candidates, ", "))
}

// read reads the schedule. A torn last line comes from a run that was killed.
func (r *repeated) read(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var line rundir.ScheduleLine
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			break
		}
		var sum [32]byte
		if n, err := hex.Decode(sum[:], []byte(line.PromptSHA256)); err != nil || n != len(sum) {
			return fmt.Errorf("request %d of %s has no hash of its prompt", line.Index, line.Phase)
		}
		if r.prompts[line.Phase] == nil {
			r.prompts[line.Phase] = map[int][32]byte{}
		}
		r.prompts[line.Phase][line.Index] = sum
	}
	if len(r.prompts) == 0 {
		return errors.Join(errors.New("its schedule has no request"), lines.Err())
	}
	return lines.Err()
}

// ErrOtherPrompts means that a run would not send the prompts of the run that it repeats.
var ErrOtherPrompts = errors.New("--repeat-of")

// check refuses a request whose prompt differs from the repeated run's.
func (r *repeated) check(line rundir.ScheduleLine) error {
	if r == nil {
		return nil
	}
	sum, sent := r.prompts[line.Phase][line.Index]
	switch {
	case !sent:
		return fmt.Errorf("%w: %s has no request %d in %s: give the flags that it was run with (%s)", ErrOtherPrompts, r.run, line.Index, line.Phase, filepath.Join(r.path, rundir.ManifestFile))
	case hex.EncodeToString(sum[:]) != line.PromptSHA256:
		return fmt.Errorf("%w: request %d of %s is another prompt than that of %s: give the flags that it was run with (%s), and the same model", ErrOtherPrompts, line.Index, line.Phase, r.run, filepath.Join(r.path, rundir.ManifestFile))
	}
	return nil
}
