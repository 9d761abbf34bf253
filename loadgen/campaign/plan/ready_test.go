package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// read is a ready plan as its user reads it.
func read(t *testing.T, name string) *plan.Plan {
	t.Helper()
	text, err := plan.ReadyText(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse(name+".yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryReadyPlanIsReadAndSaysWhatItIs(t *testing.T) {
	for _, name := range plan.ReadyNames() {
		p := read(t, name)
		if p.Name != name {
			t.Errorf("%s calls itself %s", name, p.Name)
		}
		if title := plan.ReadyTitle(name); len(title) < 40 || !strings.HasSuffix(title, ".") {
			t.Errorf("%s: the title is %q", name, title)
		}
		if p.Order == plan.Sequential {
			t.Errorf("%s: its order confounds arm and time", name)
		}
		if len(p.Telemetry) == 0 {
			t.Errorf("%s follows no exporter", name)
		}
		for _, s := range p.Scenarios {
			if s.Expected == 0 {
				t.Errorf("%s: nobody says how long %s lasts", name, s.Name)
			}
		}
	}
}

func TestTheReadyPlansHaveTheRunsThatTheyAreKnownFor(t *testing.T) {
	for name, want := range map[string][4]int{ // models, arms, scenarios, iterations
		"arena":                  {1, 2, 8, 4},
		"native-container":       {3, 2, 1, 10},
		"native-container-bench": {3, 2, 1, 10},
		"phase-2":                {10, 3, 1, 30},
		"docker-options":         {1, 11, 1, 10}, // 8, and 3 that are optional
		"kv-modes":               {1, 3, 1, 6},
		"three-engines":          {2, 3, 2, 10},
		"two-nodes":              {1, 2, 2, 10},
		"discrete-gpu":           {2, 2, 1, 10},
		"vllm-native-container":  {1, 2, 1, 10},
		"vllm-options":           {1, 2, 1, 10},
	} {
		p := read(t, name)
		if got := [4]int{len(p.Models), len(p.Arms), len(p.Scenarios), p.Iterations}; got != want {
			t.Errorf("%s: %v models, arms, scenarios, iterations; want %v", name, got, want)
		}
	}
	var optional []string
	for _, a := range read(t, "docker-options").Arms {
		if a.Optional {
			optional = append(optional, a.Name)
		}
	}
	if !slices.Equal(optional, []string{"no-memory-limit", "root-cgroup", "nspawn"}) {
		t.Errorf("optional are %v", optional)
	}
}

// What differs between the arms of docker-options are options of docker, and of nothing else.
func TestArmsOfDockersOptionsDifferInTheOptionsOnly(t *testing.T) {
	p := read(t, "docker-options")
	words := map[string][]string{}
	for _, a := range p.Arms[:8] {
		c, err := p.Render("deepseek-7b", a.Name, map[string]string{plan.ValueFolder: "/arm"})
		if err != nil {
			t.Fatal(err)
		}
		words[a.Name] = c.Arm.Processes[0].Argv
	}
	for name, want := range map[string]string{
		"baseline": "", "shm-8g": "--shm-size=8g", "shm-32g": "--shm-size=32g", "shm-60g": "--shm-size=60g",
		"host-network": "--network=host", "cpu-pinning": "--cpuset-cpus=0-9", "privileged": "--privileged",
		"best": "--network=host --ipc=host --cpuset-cpus=0-9 --privileged",
	} {
		own := slices.DeleteFunc(slices.Clone(words[name]), func(w string) bool { return slices.Contains(words["baseline"], w) })
		if got := strings.Join(own, " "); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
}

func TestTheKVModesAreWhatTheirLabelsSay(t *testing.T) {
	p := read(t, "kv-modes")
	for _, c := range []struct {
		arm                   string
		connector, host, disk bool
		pages                 int
	}{{"off", false, false, false, 1}, {"cpu_only", true, true, false, 2}, {"cpu_disk", true, true, true, 2}} {
		cell, err := p.Render("llama-3.1-8b-fp8", c.arm, map[string]string{plan.ValueFolder: "/arm"})
		if err != nil {
			t.Fatal(err)
		}
		settings, started := cell.Arm.Files[0].Text, strings.Join(cell.Arm.Processes[0].Argv, " ")
		got := [3]bool{strings.Contains(settings, "kv_connector_config"), strings.Contains(started, "CPU_CACHE_GB"), strings.Contains(started, "DISK_CACHE_GB")}
		if got != [3]bool{c.connector, c.host, c.disk} || len(cell.Scrape) != c.pages || cell.Flags["expect"] != "kv="+c.arm {
			t.Errorf("%s: connector, host, disk %v; pages %v; expects %s", c.arm, got, cell.Scrape, cell.Flags["expect"])
		}
		if strings.Contains(settings, "{{") {
			t.Errorf("%s: %s", c.arm, settings)
		}
	}
}

// A reader sets image, rootfs, models and cache at the top of these plans, and nowhere else.
func TestAValueIsSetInOnePlace(t *testing.T) {
	for _, name := range []string{"arena", "kv-modes", "vllm-native-container", "vllm-options", "docker-options", "phase-2"} {
		for _, key := range []string{"image", "rootfs", "models", "cache"} {
			p := read(t, name)
			before, has := p.Values[key]
			if !has {
				continue
			}
			p.Values[key] = "SET"
			for _, a := range p.Arms {
				c, err := p.Render(p.Models[0].Name, a.Name, map[string]string{plan.ValueFolder: "/arm"})
				if err != nil {
					t.Fatal(err)
				}
				c.Values = nil
				if text := fmt.Sprintf("%+v", *c); strings.Contains(text, before) {
					t.Errorf("%s: arm %s still has %s after %s was set: %s", name, a.Name, before, key, text)
				}
			}
		}
	}
}

// The list of packages of each arm is that of its own files.
func TestBothArmsOfVLLMListThePackagesOfTheirFiles(t *testing.T) {
	p := read(t, "vllm-native-container")
	for arm, want := range map[string]string{
		"native":    "sudo -n chroot /srv/vllm-rootfs /usr/bin/env -i HOME=/root PATH=/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin LD_LIBRARY_PATH=/usr/local/cuda/lib64 python3 -m pip freeze",
		"container": "docker run --rm --gpus=all --entrypoint=python3 vllm/vllm-openai:cu130-nightly -m pip freeze",
	} {
		c, err := p.Render("deepseek-7b", arm, map[string]string{plan.ValueFolder: "/arm"})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Collect[0].Argv, " "); got != want {
			t.Errorf("%s: %s", arm, got)
		}
	}
}

func TestAReadyPlanThatIsNotThereIsToldOf(t *testing.T) {
	if _, err := plan.ReadyText("none"); err == nil || !strings.Contains(err.Error(), `no ready plan "none"; there are arena, discrete-gpu, `) {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"../plans.go", "", "native-container.yaml"} {
		if _, err := plan.ReadyText(name); err == nil {
			t.Errorf("%q is a ready plan", name)
		}
	}
	if got := plan.ReadyTitle("none"); got != "" {
		t.Errorf("its title is %q", got)
	}
}
