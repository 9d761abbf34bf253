package loadgen

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// blocks are the code blocks of a language in a page.
func blocks(t *testing.T, path, language string) []string {
	t.Helper()
	page := text(t, path)
	var all []string
	for _, match := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(page, -1) {
		all = append(all, match[1])
	}
	return all
}

// accepted parses a command line as rank 1 of 4 and checks its flags against each other.
func accepted(args []string) error {
	line := newCommandLine(io.Discard)
	verb, _, err := line.parse(args)
	if err == nil && verb == line.run.FullCommand() {
		if err = line.settings.resolve("host"); err == nil && (line.settings.Place.Rank != 1 || line.settings.Place.World != 4) {
			err = fmt.Errorf("it is %s", line.settings.Place)
		}
	}
	return err
}

func TestTheCommandsOfRanksAreAccepted(t *testing.T) {
	soon := fmt.Sprint(time.Now().Unix() + 60)
	variables := strings.NewReplacer("$start", soon, "$rank", "1", "$host", "load-a", "START", soon)
	// A command ends where the shell's own words begin.
	commands := regexp.MustCompile(`(?m)(mpirun|srun|)([^\n]*)\buma-load ((?:run|merge) [^&;|\n]*)`)
	launched := map[string][2]string{"mpirun": {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, "srun": {"SLURM_PROCID", "SLURM_NTASKS"}}
	seen := map[string]int{}
	for _, block := range blocks(t, "RANKS.md", "sh") {
		for _, match := range commands.FindAllStringSubmatch(variables.Replace(block), -1) {
			launcher, args := match[1], strings.Fields(match[3])
			t.Run(launcher+" "+match[3], func(t *testing.T) {
				if names, ok := launched[launcher]; ok {
					if !regexp.MustCompile(`(-n|--ntasks) 4\b`).MatchString(match[2]) {
						t.Errorf("%s starts another number of processes", launcher)
					}
					t.Setenv(names[0], "1")
					t.Setenv(names[1], "4")
				}
				if args[0] == "run" && !slices.Contains(args, "--start-at") { // the default needs mpirun as a parent: .ci/proofs/cluster
					if err := accepted(args); err == nil || !strings.Contains(err.Error(), "--start-at: this is rank 1 of 4") {
						t.Errorf("without a launcher: %v", err)
					}
					args = append(args, "--start-at", soon)
				}
				if err := accepted(args); err != nil {
					t.Errorf("%v", err)
				}
			})
			seen[launcher+args[0]]++
		}
	}
	if want := (map[string]int{"run": 1, "mpirunrun": 2, "srunrun": 1, "merge": 4}); fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("commands %v, want %v", seen, want)
	}
}

func TestTheIndexedJobOfRanksIsAcceptedAndWhole(t *testing.T) {
	manifests := blocks(t, "RANKS.md", "yaml")
	if len(manifests) != 1 {
		t.Fatalf("%d manifests", len(manifests))
	}
	var job struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Spec       struct {
			CompletionMode           string `yaml:"completionMode"`
			Completions, Parallelism int
			BackoffLimit             *int `yaml:"backoffLimit"`
			BackoffLimitPerIndex     *int `yaml:"backoffLimitPerIndex"`
			Template                 struct {
				Spec struct {
					RestartPolicy string `yaml:"restartPolicy"`
					Containers    []struct{ Command []string }
				}
			}
		}
	}
	soon := fmt.Sprint(time.Now().Unix() + 60)
	if err := yaml.Unmarshal([]byte(strings.Replace(manifests[0], "START", "'"+soon+"'", 1)), &job); err != nil {
		t.Fatal(err)
	}
	s := job.Spec
	if job.APIVersion != "batch/v1" || job.Kind != "Job" || s.CompletionMode != "Indexed" || s.Completions != 4 || s.Parallelism != s.Completions || s.BackoffLimit != nil ||
		s.BackoffLimitPerIndex == nil || *s.BackoffLimitPerIndex != 0 || s.Template.Spec.RestartPolicy != "Never" {
		t.Errorf("%+v", job)
	}
	command := s.Template.Spec.Containers[0].Command
	at := slices.Index(command, "--world")
	if at < 0 || command[at+1] != fmt.Sprint(s.Completions) || command[0] != "uma-load" {
		t.Fatalf("%q", command)
	}
	t.Setenv("JOB_COMPLETION_INDEX", "1")
	if err := accepted(command[1:]); err != nil {
		t.Errorf("%v", err)
	}
}

// What mpirun -n 8 starts with nothing but a server and a start is one load, of which every rank has a part.
func TestMPIStartsALoadOfDefaults(t *testing.T) {
	t.Setenv("OMPI_COMM_WORLD_SIZE", "8")
	for rank := range 8 {
		t.Setenv("OMPI_COMM_WORLD_RANK", fmt.Sprint(rank))
		line := newCommandLine(io.Discard)
		if _, _, err := line.parse([]string{"run", "--url=http://127.0.0.1:8000", "--start-at", fmt.Sprint(time.Now().Unix() + 60)}); err != nil {
			t.Fatal(err)
		}
		if err := line.settings.resolve("host"); err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
		if s := line.settings; s.Place.Rank != rank || s.Place.World != 8 || s.Place.Share(s.MostInFlight()) != 1 {
			t.Errorf("%s, %d in flight", s.Place, s.MostInFlight())
		}
	}
}
