package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render/comparison"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Settings are the options of a pack.
type Settings struct {
	// Out is the folder of the pack. An existing pack is replaced.
	Out string
	// With are the files of runs that are left out by default; they go in as they are.
	With []Extra
	// Labels are labels of runs that show their values, beside those that are compared.
	Labels []string
	// Title, Authors and License are for citations.
	Title   string
	Authors []string
	License string
	// Host and User are the names of this machine and of its user.
	Host, User string
	// Compare are the options of the comparison; runs of a single arm are not compared. Empty Within selects model and
	// scenario, if the runs have several.
	Compare compare.Options
	Program rundir.Program
	Now     time.Time
	// Slots are those of the campaigns of the runs, with all runs that were made in them.
	Slots []Slot
	// Read reads the runs of folders as input of a comparison.
	Read func(paths []string) ([]compare.Run, error)
}

// builder makes one pack, in a folder next to its final place.
type builder struct {
	Settings
	stage string
	names *names
	pack  Pack

	runs       []compare.Run // as they are in the pack
	manifests  []rundir.Manifest
	comparison *compare.Comparison
	// uncompared is the reason why there is no comparison.
	uncompared string
}

// Make makes a pack of the runs of some folders and returns its contents.
func Make(ctx context.Context, sources []rundir.Folder, s Settings) (Pack, error) {
	if err := CheckOut(s.Out); err != nil {
		return Pack{}, err
	}
	out := filepath.Clean(s.Out)
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return Pack{}, err
	}
	stage, err := os.MkdirTemp(filepath.Dir(out), "."+filepath.Base(out)+".*")
	if err != nil {
		return Pack{}, err
	}
	b := &builder{Settings: s, stage: stage, pack: Pack{
		Schema: Schema, Title: s.Title, CreatedAt: s.Now.UTC().Truncate(time.Second), Program: s.Program, Runs: []string{},
	}}
	if err := b.build(ctx, sources); err != nil {
		return Pack{}, errors.Join(err, os.RemoveAll(stage))
	}
	if err := errors.Join(os.Chmod(stage, 0o755), replace(stage, out)); err != nil {
		return Pack{}, errors.Join(err, os.RemoveAll(stage))
	}
	return b.pack, nil
}

func (b *builder) build(ctx context.Context, sources []rundir.Folder) error {
	b.learn(sources)
	if err := b.packRuns(ctx, sources); err != nil {
		return err
	}
	b.learnSlots()
	if err := b.compare(); err != nil {
		return err
	}
	slices.Sort(b.pack.LeftOut)
	if err := b.writeTables(); err != nil {
		return err
	}
	if err := b.writeWords(); err != nil {
		return err
	}
	return b.pack.seal(b.stage)
}

// learn collects the names to replace.
func (b *builder) learn(sources []rundir.Folder) {
	b.names = newNames(slices.Concat(Labels(), b.Labels, b.Compare.Within, []string{b.Compare.By}))
	b.names.know(kindHost, b.Host)
	b.names.know(kindUser, b.User)
	for _, f := range sources {
		if m, err := manifestOf(f); err == nil { // packRuns reports damaged runs
			b.names.learn(m)
		}
	}
	if b.Compare.Baseline != "" {
		b.Compare.Baseline = b.names.label(b.Compare.By, b.Compare.Baseline)
	}
}

func manifestOf(f rundir.Folder) (rundir.Manifest, error) {
	m, err := f.ReadManifest()
	if err != nil {
		err = fmt.Errorf("%s: %w", f, err)
	}
	return m, err
}

// packRuns writes all runs into the pack and reads them from there: everything shown comes from the pack. Damaged runs
// are left out.
func (b *builder) packRuns(ctx context.Context, sources []rundir.Folder) error {
	var paths []string
	for _, f := range sources {
		to, m, err := b.packRun(ctx, f)
		if _, is := errors.AsType[*damage](err); is {
			b.pack.Damaged = append(b.pack.Damaged, err)
			continue
		}
		if err != nil {
			return err
		}
		paths, b.manifests = append(paths, string(to)), append(b.manifests, m)
	}
	if len(paths) == 0 {
		return errors.Join(append([]error{errors.New("every run is damaged")}, b.pack.Damaged...)...)
	}
	var err error
	if b.runs, err = b.Read(paths); err != nil {
		return err
	}
	slices.SortStableFunc(b.runs, func(x, y compare.Run) int { return x.StartedAt.Compare(y.StartedAt) })
	for _, r := range b.runs {
		b.pack.Runs = append(b.pack.Runs, r.ID)
		b.pack.Simulated = b.pack.Simulated || r.Simulated || r.Mode != "" && r.Mode != "live"
	}
	return nil
}

// compare compares the arms, if there are several.
func (b *builder) compare() error {
	if b.Compare.Within == nil {
		b.Compare.Within = b.several("model", "scenario")
	}
	arms := map[string]bool{}
	for i := range b.runs {
		if b.runs[i].Valid {
			arms[b.runs[i].Label(b.Compare.By)] = true
		}
	}
	delete(arms, "")
	if len(arms) < 2 {
		b.uncompared = fmt.Sprintf("There is nothing to compare: of the label %s the valid runs have %d values.", b.Compare.By, len(arms))
		return nil
	}
	c, err := compare.Compare(b.runs, b.Compare)
	if err != nil {
		return err
	}
	b.comparison = &c
	if err := b.write(ComparisonJSON, rundir.JSON(c)); err != nil {
		return err
	}
	return b.write(ComparisonFile, func(w io.Writer) error { return comparison.HTML(w, b.Title, c) })
}

// several returns the labels of which the runs have more than one value.
func (b *builder) several(names ...string) []string {
	several := []string{}
	for _, name := range names {
		if name != b.Compare.By && len(b.distinct(func(r compare.Run) string { return r.Label(name) })) > 1 {
			several = append(several, name)
		}
	}
	return several
}

// write writes a file of the pack that all users may read: a web server has an account of its own.
func (b *builder) write(name string, render func(io.Writer) error) error {
	path := filepath.Join(b.stage, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return rundir.WriteFile(path, 0o644, render)
}
