package compose

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

func marshalled(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	must(t, err)
	return string(text)
}

// TestTheSimulationSharesNothingWithWhatIsLive: a figure of it would else lie beside those of a real machine.
func TestTheSimulationSharesNothingWithWhatIsLive(t *testing.T) {
	p := project(t, stackFile)
	networks, volumes := map[string]bool{}, map[string]bool{}
	for name, s := range p.Services {
		if !isSimulated(s) {
			for network := range s.Networks {
				networks[network] = true
			}
			for _, mount := range s.Volumes {
				volumes[mount.Source] = volumes[mount.Source] || mount.Type == types.VolumeTypeVolume
			}
			continue
		}
		if s.NetworkMode != "" || s.Pid != "" || s.Ipc != "" || s.Cgroup != "" || len(s.Secrets) > 0 {
			t.Errorf("%s: network %q, pid %q, ipc %q, cgroup %q, secrets %v", name, s.NetworkMode, s.Pid, s.Ipc, s.Cgroup, s.Secrets)
		}
		for other := range s.DependsOn {
			if !isSimulated(p.Services[other]) {
				t.Errorf("%s starts %s", name, other)
			}
		}
	}
	for name, s := range p.Services {
		for _, mount := range s.Volumes {
			if isSimulated(s) && (volumes[mount.Source] || mount.Type == types.VolumeTypeBind && !mount.ReadOnly) {
				t.Errorf("%s shares %s, or writes to it", name, mount.Source)
			}
		}
		for network := range s.Networks {
			if isSimulated(s) && networks[network] {
				t.Errorf("%s is on the live network %s", name, network)
			}
		}
	}
	if len(networks) == 0 || len(volumes) == 0 {
		t.Error("nothing was compared")
	}
}

func isSimulated(s types.ServiceConfig) bool { return slices.Equal(s.Profiles, []string{"sim"}) }

// TestTheSimulationIsTheSameStack: what is seen there is what would be seen of a real machine.
func TestTheSimulationIsTheSameStack(t *testing.T) {
	services := project(t, stackFile).Services
	for name, live := range simulated() {
		got, want := services[name], services[live]
		if aliases := got.Networks["simulation"].Aliases; !slices.Equal(aliases, []string{live}) {
			t.Errorf("%s answers to %v, and files name %s", name, aliases, live)
		}
		for _, both := range []*types.ServiceConfig{&got, &want} {
			both.Name, both.Profiles, both.Networks, both.DependsOn, both.Secrets, both.Environment = "", nil, nil, nil, nil, nil
			if live == "results" {
				both.User = "" // live runs belong to a person
			}
		}
		if targetsOf(got) != targetsOf(want) && name != "sim-prometheus" {
			t.Errorf("%s mounts %s, and %s %s", name, targetsOf(got), live, targetsOf(want))
		}
		got.Volumes, want.Volumes = nil, nil
		if a, b := marshalled(t, got), marshalled(t, want); a != b {
			t.Errorf("%s differs from %s:\n%s\n%s", name, live, a, b)
		}
	}
}

// targetsOf are the places where a service mounts something.
func targetsOf(s types.ServiceConfig) string {
	var all []string
	for _, mount := range s.Volumes {
		all = append(all, mount.Target)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestTheSimulatedGrafanaNeedsNoSecretAndHasNoAdministrator: docker compose --profile sim up has to do by itself.
func TestTheSimulatedGrafanaNeedsNoSecretAndHasNoAdministrator(t *testing.T) {
	services := project(t, stackFile).Services
	got, live := services["sim-grafana"].Environment, services["grafana"].Environment
	if _, exists := got["GF_SECURITY_ADMIN_PASSWORD__FILE"]; exists {
		t.Error("it waits for a password")
	}
	for key, want := range map[string]string{
		"GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION": "true", "GF_AUTH_ANONYMOUS_ENABLED": "true", "GF_AUTH_ANONYMOUS_ORG_ROLE": "Viewer",
		"GF_AUTH_DISABLE_LOGIN_FORM": "true", "GF_AUTH_BASIC_ENABLED": "false",
	} {
		if value := got[key]; value == nil || *value != want {
			t.Errorf("%s is not %s", key, want)
		}
		if _, exists := live[key]; exists {
			t.Errorf("the live Grafana has %s", key)
		}
	}
	for key := range maps.Keys(live) {
		if _, exists := got[key]; !exists && key != "GF_SECURITY_ADMIN_PASSWORD__FILE" {
			t.Errorf("%s is live only", key)
		}
	}
}
