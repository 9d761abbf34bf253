package main

import (
	"archive/tar"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// root writes the root file system of an image.
type root struct {
	archive *tar.Writer
	made    map[string]bool
}

// write makes the root file system of a stand-in: its programs, its folders, and other files that the published images
// have: busybox with its wget, the users, a folder for temporary files.
func (s standIn) write(path, tools string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	r := root{archive: tar.NewWriter(file), made: map[string]bool{}}
	defer func() { err = errors.Join(err, r.archive.Close(), file.Close()) }()
	busybox, err := filepath.EvalSymlinks("/bin/busybox")
	if err != nil {
		return err
	}
	steps := []func() error{
		func() error { return r.folder("tmp", 0o1777, owner{}) },
		func() error {
			return r.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\ngrafana:x:472:0::/home/grafana:/sbin/nologin\n")
		},
		func() error { return r.text("etc/group", "root:x:0:\nnobody:x:65534:\n") },
		func() error { return r.program("bin/busybox", busybox) },
		func() error { return r.link("bin/wget", "busybox") },
		func() error { return r.link("bin/sh", "busybox") },
	}
	for path, program := range s.programs {
		steps = append(steps, func() error { return r.program(path, filepath.Join(tools, program)) })
		steps = append(steps, func() error { return r.libraries(filepath.Join(tools, program)) })
	}
	for path, who := range s.folders {
		steps = append(steps, func() error { return r.folder(path, 0o755, who) })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// folder makes a folder, and its parents.
func (r root) folder(path string, mode int64, who owner) error {
	if above := filepath.Dir(path); above != "." && !r.made[above] {
		if err := r.folder(above, 0o755, owner{}); err != nil {
			return err
		}
	}
	r.made[path] = true
	return r.archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: path + "/", Mode: mode, Uid: who.user, Gid: who.group})
}

func (r root) put(header *tar.Header, content io.Reader) error {
	if above := filepath.Dir(header.Name); above != "." && !r.made[above] {
		if err := r.folder(above, 0o755, owner{}); err != nil {
			return err
		}
	}
	if err := r.archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(r.archive, content)
	return err
}

func (r root) text(path, content string) error {
	return r.put(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(content))}, strings.NewReader(content))
}

func (r root) link(path, to string) error {
	return r.put(&tar.Header{Typeflag: tar.TypeSymlink, Name: path, Linkname: to, Mode: 0o777}, strings.NewReader(""))
}

func (r root) program(path, from string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return err
	}
	return r.put(&tar.Header{Name: path, Mode: 0o755, Size: about.Size()}, file)
}

// libraries adds the loader and the libraries that a program is linked with: programs of the checks are built with cgo,
// as in the other checks, since a second build takes minutes.
func (r root) libraries(program string) error {
	file, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer file.Close()
	loader := file.Section(".interp")
	if loader == nil {
		return nil // static
	}
	name, err := loader.Data()
	if err != nil {
		return err
	}
	needed, err := file.ImportedLibraries()
	if err != nil {
		return err
	}
	at := strings.TrimRight(string(name), "\x00")
	paths := map[string]string{strings.TrimPrefix(at, "/"): at}
	for _, library := range needed {
		found, err := filepath.Glob("/lib/*-linux-gnu/" + library)
		if err != nil || len(found) == 0 {
			return fmt.Errorf("%s needs %s, which is not in /lib/*-linux-gnu", program, library)
		}
		paths[strings.TrimPrefix(found[0], "/")] = found[0]
	}
	for path, from := range paths {
		if r.made[path] {
			continue
		}
		r.made[path] = true
		if err := r.program(path, from); err != nil {
			return err
		}
	}
	return nil
}
