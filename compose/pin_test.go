package compose

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
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
		if s.Build != nil && s.PullPolicy != types.PullPolicyBuild && s.PullPolicy != types.PullPolicyNever {
			t.Errorf("%s: whoever takes the name %s at a registry would be run here", name, s.Image)
		}
	}
}

// TestWhatARunPrintsIsItsOwn: Compose prints what it builds on stdout, where whoever reads the answer of a verb has it.
func TestWhatARunPrintsIsItsOwn(t *testing.T) {
	if policy := project(t, stackFile).Services["load"].PullPolicy; policy != types.PullPolicyNever {
		t.Errorf("pull_policy of load is %s: each run of it begins with the log of a build", policy)
	}
}

// TestAReleaseRunsWhatItWasTriedWith: a tag can be moved, a digest cannot. A checkout has no digests.yaml; whoever makes
// a release says so by UMASCOPE_RELEASE, and without the file, or with one that leaves an image out, this fails.
func TestAReleaseRunsWhatItWasTriedWith(t *testing.T) {
	_, err := os.Stat(digestsFile)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("UMASCOPE_RELEASE") == "" {
		t.Skip("no release")
	}
	must(t, err)
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

// registry answers what pin asks of docker: what the stack is, and what digest an image has.
const registry = `#!/usr/bin/env bash
case "$*" in
  compose*config) cat "$STACK" ;;
  "buildx imagetools inspect ${MISSING:-nothing} "*) echo "not found" >&2; exit 1 ;;
  "buildx imagetools inspect "*) echo "${DIGEST-sha256:$(printf '%s' "$4" | sha256sum | cut -d ' ' -f 1)}" ;;
  *) echo "unexpected: $*" >&2; exit 99 ;;
esac
`

// pin runs ./pin in a folder of its own and returns the file that it wrote, if it did.
func pin(t *testing.T, environment []string, args ...string) (file, output string, code int) {
	t.Helper()
	folder := t.TempDir()
	stack, err := project(t, stackFile).MarshalYAML()
	must(t, err)
	script := readText(t, "pin")
	for name, text := range map[string]string{"pin": script, "stack": string(stack), "docker": registry} {
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755))
	}
	command := exec.CommandContext(t.Context(), filepath.Join(folder, "pin"), args...)
	command.Env = append(os.Environ(), append(environment, "PATH="+folder+":"+os.Getenv("PATH"), "STACK="+filepath.Join(folder, "stack"))...)
	text, err := command.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return filepath.Join(folder, digestsFile), string(text), command.ProcessState.ExitCode()
}

func TestPinGivesEveryImageItsDigest(t *testing.T) {
	file, output, code := pin(t, nil, "v1.2.3", "example/umascope")
	if code != 0 {
		t.Fatalf("exit %d, %s", code, output)
	}
	release := project(t, stackFile, file)
	for _, fault := range unpinned(project(t, stackFile), release) {
		t.Error(fault)
	}
	if image := release.Services["sim-results"].Image; !strings.HasPrefix(image, "example/umascope/uma-load:1.2.3@sha256:") {
		t.Errorf("results of the simulation are of %s, and not what compose/images pushes", image)
	}
	if a, b := release.Services["prometheus"].Image, release.Services["sim-prometheus"].Image; a != b {
		t.Errorf("%s and %s", a, b)
	}
}

func TestAnImageWithoutADigestIsNoRelease(t *testing.T) {
	file, output, code := pin(t, nil, "v1.2.3")
	if code != 0 {
		t.Fatalf("exit %d, %s", code, output)
	}
	text := readText(t, file)
	whole := project(t, stackFile)
	for name, change := range map[string]func(string) string{
		"no digest":      func(s string) string { return regexp.MustCompile(`@sha256:\w+"`).ReplaceAllString(s, `"`) },
		"a service less": func(s string) string { return regexp.MustCompile(`(?m)^  grafana: .*\n`).ReplaceAllString(s, "") },
		"another version": func(s string) string {
			return strings.ReplaceAll(s, "prom/prometheus:v3.15.0", "prom/prometheus:v3.15.1")
		},
		"still built": func(s string) string { return strings.Replace(s, ", build: !reset null, pull_policy: missing", "", 1) },
	} {
		must(t, os.WriteFile(file, []byte(change(text)), 0o644))
		if len(unpinned(whole, project(t, stackFile, file))) == 0 {
			t.Errorf("%s: nothing is said", name)
		}
	}
}

func TestPinWritesNothingWhenTheRegistryLacksAnImage(t *testing.T) {
	for says, environment := range map[string]string{
		"the registry does not know grafana/grafana:13.2.0": "MISSING=grafana/grafana:13.2.0", "has no digest: latest": "DIGEST=latest",
	} {
		file, output, code := pin(t, []string{environment}, "v1.2.3")
		if left, _ := filepath.Glob(file + "*"); code != 1 || !strings.Contains(output, says) || len(left) > 0 {
			t.Errorf("exit %d, left %q, %s", code, left, output)
		}
	}
	if _, output, code := pin(t, nil, "latest"); code != 2 || !strings.Contains(output, "usage") {
		t.Errorf("exit %d, %s", code, output)
	}
}
