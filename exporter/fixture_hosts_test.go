package exporter

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/nvml"
	"github.com/umascope/umascope/exporter/snapshot"
)

// hostNames lists the machines of the folder hosts: recorded ones, and constructed ones where no recording exists yet. A
// machine is one file (see package snapshot); adding a file adds a machine to every test that goes through the names.
func hostNames() []string {
	paths, err := filepath.Glob("hosts/*.txtar")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, path := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(path), ".txtar")
	}
	return paths
}

// readHost reads the snapshot of a host.
func readHost(name string) (*snapshot.Archive, error) {
	data, err := os.ReadFile("hosts/" + name + ".txtar")
	if err != nil {
		return nil, err
	}
	return snapshot.Read(data)
}

// openHost returns a host as it was (see collector.ArchivedHost), with PCIe traffic. The caller closes it.
func openHost(name string) (collector.Host, error) {
	a, err := readHost(name)
	if err != nil {
		return collector.Host{}, err
	}
	host, err := collector.ArchivedHost(a, nvml.ReaderOptions{PCIeThroughput: true})
	if err == nil {
		err = collector.AddArchived(a, &collector.Options{})
	}
	return host, err
}

// hostOptions are the settings under which the host shows all it has. For a host that cannot be opened they are empty.
func hostOptions(name string) collector.Options {
	options := collector.Options{ProcessLimit: 20, PCIeThroughput: true}
	if a, err := readHost(name); err == nil {
		_ = collector.AddArchived(a, &options) // openHost returns what is wrong with them
	}
	return options
}
