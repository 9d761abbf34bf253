package cmd_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// workflow is what the rules below need of a workflow's file.
type workflow struct {
	Permissions map[string]string `yaml:"permissions"`
	Jobs        map[string]struct {
		If          string            `yaml:"if"`
		Permissions map[string]string `yaml:"permissions"`
		Steps       []struct {
			Uses string         `yaml:"uses"`
			Run  string         `yaml:"run"`
			With map[string]any `yaml:"with"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

// eachWorkflow gives every workflow with its text.
func eachWorkflow(t *testing.T, check func(t *testing.T, text string, w workflow)) {
	t.Helper()
	paths, err := filepath.Glob("../.github/workflows/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d workflows, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var w workflow
			if err := yaml.Unmarshal(text, &w); err != nil {
				t.Fatal(err)
			}
			check(t, string(text), w)
		})
	}
}

// TestActionsArePinnedByCommit: the new owner of an action could move a tag to other code.
func TestActionsArePinnedByCommit(t *testing.T) {
	used, pinned := regexp.MustCompile(`(?m)uses: .*$`), regexp.MustCompile(`^uses: [\w./-]+@[0-9a-f]{40} # v[0-9.]+$`)
	eachWorkflow(t, func(t *testing.T, text string, _ workflow) {
		for _, line := range used.FindAllString(text, -1) {
			if !pinned.MatchString(line) {
				t.Errorf("%s: want a commit, with its version as comment", line)
			}
		}
	})
}

// TestWorkflowsMayOnlyRead: what a change of a stranger runs must not be able to write; only what is tagged,
// which the owners do, may publish.
func TestWorkflowsMayOnlyRead(t *testing.T) {
	eachWorkflow(t, func(t *testing.T, text string, w workflow) {
		if !maps.Equal(w.Permissions, map[string]string{"contents": "read"}) {
			t.Errorf("permissions of all jobs: %v", w.Permissions)
		}
		for _, trigger := range []string{"pull_request_target", "workflow_run", "issue_comment"} {
			if strings.Contains(text, trigger) {
				t.Errorf("%s runs with the owners' rights for what strangers send", trigger)
			}
		}
		for name, job := range w.Jobs {
			writes := slices.Contains(slices.Collect(maps.Values(job.Permissions)), "write")
			if writes && !strings.HasPrefix(job.If, "startsWith(github.ref, 'refs/tags/v')") {
				t.Errorf("job %s may write and does not begin with: if: startsWith(github.ref, 'refs/tags/v')", name)
			}
			for _, step := range job.Steps {
				if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
					t.Errorf("job %s: its token stays where every later step reads it: persist-credentials: false", name)
				}
			}
		}
	})
}

// TestNoEventsTextIsRunAsAScript: titles, names of branches and the like are put into a script before the shell
// sees it. What a script needs of them comes by its environment.
func TestNoEventsTextIsRunAsAScript(t *testing.T) {
	expression, harmless := regexp.MustCompile(`\$\{\{.*?\}\}`), regexp.MustCompile(`^\$\{\{ (matrix\.\w+|runner\.\w+|github\.event_name == '\w+' && '\w+' \|\| '\w+') \}\}$`)
	eachWorkflow(t, func(t *testing.T, _ string, w workflow) {
		for name, job := range w.Jobs {
			for _, step := range job.Steps {
				for _, found := range expression.FindAllString(step.Run, -1) {
					if !harmless.MatchString(found) {
						t.Errorf("job %s: %s is put into a script: give it as env", name, found)
					}
				}
			}
		}
	})
}

// TestProgramsAreBuiltWithTheNewestPatchOfGo: go.mod names the oldest that will do, whose library has known
// vulnerabilities.
func TestProgramsAreBuiltWithTheNewestPatchOfGo(t *testing.T) {
	eachWorkflow(t, func(t *testing.T, _ string, w workflow) {
		for name, job := range w.Jobs {
			for _, step := range job.Steps {
				if strings.HasPrefix(step.Uses, "actions/setup-go@") && (step.With["go-version-file"] != nil || step.With["check-latest"] != true) {
					t.Errorf("job %s: %v: want go-version: 1.26.x with check-latest: true", name, step.With)
				}
			}
		}
	})
}

// TestAReleaseIsSignedBeforeItIsPublished: install.sh --key and apt refuse one that is not.
func TestAReleaseIsSignedBeforeItIsPublished(t *testing.T) {
	published := false
	eachWorkflow(t, func(t *testing.T, _ string, w workflow) {
		for name, job := range w.Jobs {
			signed := false
			for _, step := range job.Steps {
				signed = signed || strings.Contains(step.Run, "compose/native/sign dist")
				if strings.Contains(step.Run, "gh release create") {
					published = true
					if !signed {
						t.Errorf("job %s publishes what no step before has signed", name)
					}
				}
			}
		}
	})
	if !published {
		t.Error("no workflow publishes a release")
	}
}
