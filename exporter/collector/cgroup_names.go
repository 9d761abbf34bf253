package collector

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/umascope/umascope/exporter/hostfs"
)

// containerNames finds the names of containers in the configured sources: first the file, then the runtime. Without a
// name a cgroup is shown with its id.
type containerNames struct {
	file    *namesFile    // nil without one
	runtime *runtimeNames // nil without one
}

func newContainerNames(host Host, options CgroupOptions) *containerNames {
	names := &containerNames{}
	if options.NamesFile != "" {
		names.file = &namesFile{path: options.NamesFile}
	}
	if options.RuntimeSocket != "" {
		names.runtime = newRuntimeNames(options.RuntimeSocket, host.Now)
	}
	return names
}

// ask updates the names of these cgroups as far as it can without waiting.
func (n *containerNames) ask(candidates []candidate) {
	if n.file != nil {
		n.file.read()
	}
	if n.runtime == nil {
		return
	}
	var ids []string
	for _, one := range candidates {
		if id := one.identity.ID; id != "" && !n.inFile(id) {
			ids = append(ids, id)
		}
	}
	n.runtime.ask(ids)
}

// answer takes the answers that have arrived. The error names the configured sources that fail: the collector fails,
// and all else is served.
func (n *containerNames) answer() error {
	var errs []error
	if n.file != nil && n.file.err != nil {
		errs = append(errs, fmt.Errorf("--cgroup.names-file %s: %w", n.file.path, n.file.err))
	}
	if n.runtime != nil {
		errs = append(errs, n.runtime.answer())
	}
	return errors.Join(errs...)
}

// of returns the name of a container, "" if it is unknown.
func (n *containerNames) of(id string) hostfs.ContainerName {
	if id == "" {
		return hostfs.ContainerName{}
	}
	if n.inFile(id) {
		name, _ := n.file.names.Of(id)
		return name
	}
	if n.runtime != nil {
		return n.runtime.known[id]
	}
	return hostfs.ContainerName{}
}

func (n *containerNames) inFile(id string) bool {
	if n.file == nil {
		return false
	}
	_, found := n.file.names.Of(id)
	return found
}

// namesFile is a file that names containers. It is read in every collection and parsed when its content has changed:
// comparing some kilobytes is cheap, and modification time and size are unreliable. While the file cannot be read or
// parsed, the last good content stays in use.
type namesFile struct {
	path  string
	text  []byte
	names hostfs.ContainerNames
	err   error
}

func (f *namesFile) read() {
	// The rules for kernel files apply: a regular file, bounded, read without waiting.
	directory := hostfs.Dir{Path: filepath.Dir(f.path)}
	text, err := directory.ReadFile(filepath.Base(f.path))
	if err != nil {
		f.err = reasonOf(err)
		f.text = nil
		return
	}
	if bytes.Equal(text, f.text) && f.text != nil {
		return
	}
	names, err := hostfs.ParseContainerNames(text)
	f.text, f.err = append([]byte{}, text...), err
	if err == nil {
		f.names = names
	}
}

// reasonOf returns an error without the path, which the flag already names.
func reasonOf(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
