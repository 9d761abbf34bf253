// Package hosts holds whole machines for demonstrations and tests: recorded ones, and constructed ones where no
// recording exists yet. The exporter that people install does not link it.
//
// A machine is one file in this folder (see package snapshot); adding a file adds a machine to every test that goes
// through Names.
package hosts

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/nvml"
	"github.com/umascope/umascope/exporter/snapshot"
)

//go:embed *.txtar
var archives embed.FS

const suffix = ".txtar"

// Names lists the hosts in order.
func Names() []string {
	paths, err := fs.Glob(archives, "*"+suffix)
	if err != nil {
		return nil // the pattern is a constant and well formed
	}
	for i, path := range paths {
		paths[i] = strings.TrimSuffix(path, suffix)
	}
	return paths
}

// Read reads the snapshot of a host.
func Read(name string) (*snapshot.Archive, error) {
	data, err := archives.ReadFile(name + suffix)
	if err != nil {
		return nil, fmt.Errorf("there is no host %.60q; there are %s", name, strings.Join(Names(), ", "))
	}
	a, err := snapshot.Read(data)
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", name, err)
	}
	return a, nil
}

// Open returns a host as it was (see collector.ArchivedHost), with PCIe traffic. The caller closes it.
func Open(name string) (collector.Host, error) {
	a, err := Read(name)
	if err != nil {
		return collector.Host{}, err
	}
	host, err := collector.ArchivedHost(a, nvml.ReaderOptions{PCIeThroughput: true})
	if err == nil {
		err = collector.AddArchived(a, &collector.Options{})
	}
	if err != nil {
		return collector.Host{}, fmt.Errorf("host %s: %w", name, err)
	}
	return host, nil
}

// Options are the settings under which the host shows all it has. For a host that cannot be opened they are empty.
func Options(name string) collector.Options {
	options := collector.Options{ProcessLimit: 20, PCIeThroughput: true}
	if a, err := Read(name); err == nil {
		_ = collector.AddArchived(a, &options) // Open returns what is wrong with them
	}
	return options
}
