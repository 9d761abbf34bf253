package publish

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
)

// identities returns the names of machines, people and containers in the manifest of a run. The scrubber replaces them
// in every text, so that a warning does not show what the member next to it hides.
func identities(f rundir.Folder) ([]Identity, error) {
	m, err := manifestOf(f)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	var all []Identity
	ordinary := map[string]bool{m.Server.Engine: true, m.Scenario: true, m.Labels[string(metric.LabelArm)]: true}
	add := func(kind Kind, names ...string) {
		for _, name := range names {
			if name != "" && !ordinary[name] {
				all = append(all, Identity{kind, name})
			}
		}
	}
	host := func(name string) {
		add(KindHost, name)
		// The first part of spark-1.lab.example is enough to identify the machine.
		if short, _, more := strings.Cut(name, "."); more && !addressLike(name) {
			add(KindHost, short)
		}
	}
	host(m.Labels[string(metric.LabelHost)])
	host(m.Client.Hostname)
	host(hostOf(m.Server.URL))
	for _, replica := range m.Replicas {
		host(hostOf(replica.URL))
	}
	add(KindBoot, m.Client.BootID)
	for _, machine := range m.Machines {
		host(machine.Source)
		host(hostOf(machine.URL))
		for _, labels := range append(append([]map[string]string{machine.Host}, machine.GPUs...), machine.Drives...) {
			for _, name := range slices.Sorted(maps.Keys(labels)) {
				if strings.Contains(name, "serial") {
					add(KindSerial, labels[name])
				}
			}
		}
	}
	for _, page := range m.Pages {
		host(hostOf(page.URL))
	}
	if m.Ranks != nil {
		for _, part := range m.Ranks.Parts {
			host(part.Client.Hostname)
			host(part.Labels[string(metric.LabelHost)])
			add(KindBoot, part.Client.BootID)
		}
	}
	if c := m.Container; c != nil {
		add(KindContainer, c.ID, c.ID[:min(12, len(c.ID))], unusual(c.Name))
	}
	if m.Campaign != nil {
		add(KindBoot, m.Campaign.BootID)
		for _, process := range m.Campaign.Processes {
			host(process.Host)
			add(KindContainer, unusual(process.Container))
		}
	}
	for _, home := range homePattern.FindAllStringSubmatch(string(text), -1) {
		add(KindUser, home[2])
	}
	return all, nil
}

func manifestOf(f rundir.Folder) (rundir.Manifest, error) {
	m, err := f.ReadManifest()
	if err != nil {
		err = fmt.Errorf("%s: %w", f, err)
	}
	return m, err
}

// hostOf returns the host of a URL that has a name; patterns find addresses.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || addressLike(u.Hostname()) {
		return ""
	}
	return u.Hostname()
}

func addressLike(name string) bool {
	return strings.Contains(name, ":") || ipv4Pattern.MatchString(name)
}

// unusual reports whether a name is not a common word: a container may be called engine, which is frequent in texts.
func unusual(name string) string {
	if strings.ContainsAny(name, "0123456789-_.") {
		return name
	}
	return ""
}
