// Package hosts holds whole machines for demonstrations and tests: recorded ones, and ones put
// together by hand where no recording exists yet. The exporter that people install does not link it.
//
// A machine is one file beside this one (see package archive); adding a file adds a machine to
// every test that goes through Names.
package hosts

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/archive"
	"github.com/umascope/umascope/exporter/collect"
	"github.com/umascope/umascope/exporter/endpoint"
	"github.com/umascope/umascope/exporter/nvml"
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

// Read reads the archive of a host.
func Read(name string) (*archive.Archive, error) {
	data, err := archives.ReadFile(name + suffix)
	if err != nil {
		return nil, fmt.Errorf("there is no host %.60q; there are %s", name, strings.Join(Names(), ", "))
	}
	a, err := archive.Read(data)
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", name, err)
	}
	return a, nil
}

// Open returns a host as it was, labelled as what it is. Its clock is the real one: nothing in an
// archive depends on the time, and ages and deadlines of the reader are those of now.
func Open(name string) (collect.Host, error) {
	a, err := Read(name)
	if err != nil {
		return collect.Host{}, err
	}
	driver, err := a.Driver()
	if err != nil {
		return collect.Host{}, fmt.Errorf("host %s: %w", name, err)
	}
	if _, err := targets(a); err != nil {
		return collect.Host{}, fmt.Errorf("host %s: %w", name, err)
	}
	return collect.Host{
		Proc: a.Proc, Sys: a.Sys, Cgroup: a.Cgroup, PageSize: a.PageSize,
		HTTP: a.HTTP, Logs: a.Logs, SMARTLog: a.SMARTLog, CacheResident: a.CacheResident,
		GPU:  nvml.NewReader(driver, nvml.ReaderOptions{PCIeThroughput: true}),
		Mode: mode(a.Kind), Now: time.Now,
	}, nil
}

// Options are the settings under which the host shows all it has. A host that cannot be opened has nothing
// to show.
func Options(name string) collect.Options {
	options := collect.Options{ProcessLimit: 20, PCIeThroughput: true}
	if a, err := Read(name); err == nil {
		options.Sources.Targets, _ = targets(a)
		if a.KVBMBlockBytes > 0 {
			options.Sources.BytesPerBlock = map[string]uint64{"": a.KVBMBlockBytes}
		}
		options.NVMeSMART, options.CachePaths = a.HasSMART(), a.CachedPaths()
	}
	return options
}

// targets are the sources that the archive names.
func targets(a *archive.Archive) (collect.Targets, error) {
	found := collect.Targets{KVBMLogs: a.KVBMLogs}
	for _, kind := range []struct {
		urls []string
		list *[]*endpoint.Endpoint
	}{{a.KVBMURLs, &found.KVBM}, {a.EngineURLs, &found.Engines}} {
		for _, raw := range kind.urls {
			parsed, err := endpoint.Parse(raw)
			if err != nil {
				return collect.Targets{}, fmt.Errorf("header: %.60q %w", raw, err)
			}
			*kind.list = append(*kind.list, parsed)
		}
	}
	return found, found.Check()
}

func mode(kind archive.Kind) collect.Mode {
	if kind == archive.Constructed {
		return collect.Constructed
	}
	return collect.Replay
}
