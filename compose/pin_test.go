package compose

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

// digestsFile is what a release lays over the stack; ./pin writes it.
const digestsFile = "digests.yaml"

var (
	exactly = regexp.MustCompile(`^[a-z0-9./-]+:(v?\d+\.\d+\.\d+|dev)$`)
	pinned  = regexp.MustCompile(`^[a-z0-9./:-]+:v?\d+\.\d+\.\d+\S*@sha256:[0-9a-f]{64}$`)
)

func TestImagesArePinnedToExactVersions(t *testing.T) {
	for name, s := range project(t, stackFile).Services {
		if !exactly.MatchString(s.Image) || strings.HasSuffix(s.Image, ":dev") != (s.Build != nil) {
			t.Errorf("%s: image %s", name, s.Image)
		}
		if s.Build != nil && s.PullPolicy != types.PullPolicyBuild {
			t.Errorf("%s: whoever takes the name %s at a registry would be run here", name, s.Image)
		}
	}
}

// TestAReleaseRunsWhatItWasTriedWith: a tag can be moved, a digest cannot. A checkout has no digests.yaml; whoever makes
// a release says so by UMASCOPE_RELEASE, and without the file, or with one that leaves an image out, this fails.
func TestAReleaseRunsWhatItWasTriedWith(t *testing.T) {
	_, err := os.Stat(digestsFile)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("UMASCOPE_RELEASE") == "" {
		t.Skip("no release")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range unpinned(project(t, stackFile), project(t, stackFile, digestsFile)) {
		t.Error(fault)
	}
}

// unpinned are the images of a release that are not what they were when it was made.
func unpinned(stack, release *types.Project) (faults []string) {
	for name, s := range release.Services {
		before := stack.Services[name]
		switch {
		case !pinned.MatchString(s.Image):
			faults = append(faults, name+": "+s.Image+" has no version or no digest")
		case before.Build == nil && !strings.HasPrefix(s.Image, before.Image+"@"):
			faults = append(faults, name+": "+s.Image+" is another version than "+before.Image)
		case s.Build != nil || s.PullPolicy == types.PullPolicyBuild:
			faults = append(faults, name+": is built, and the digest is of nothing")
		}
	}
	return faults
}
