package server

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Process identifies a process by its command line and the variables that are set for it. The values of listed options of
// known engines are kept.
func (k ProvenanceKey) Process(known spec.Engines, name, readFrom string, argv []string, env map[string]string) rundir.RanProcess {
	l := readLine(known, argv)
	for _, variable := range slices.Sorted(maps.Keys(env)) {
		if !slices.ContainsFunc(l.environment, func(p part) bool { return p.name == variable }) { // the value given to the container wins
			l.variable(variable, env[variable])
		}
	}
	return rundir.RanProcess{
		Name: name, ReadFrom: readFrom, Program: l.program, Options: k.hashed("option", l.options), Environment: k.hashed("environment", l.environment),
	}
}

// Inherited identifies the variables, as NAME=VALUE, that engines read and that a process inherits from its parent. A
// process in a container inherits none of them.
func (k ProvenanceKey) Inherited(known spec.Engines, argv, environ []string) []rundir.Hashed {
	if _, at := containerCommand(known, argv); at > 0 {
		return nil
	}
	l := commandLine{known: known}
	for _, one := range environ {
		if name, value, ok := strings.Cut(one, "="); ok && readByEngines(known, name) {
			l.variable(name, value)
		}
	}
	return k.hashed("environment", l.environment)
}

// ParseEnvironment reads an environment of NAME=VALUE strings.
func ParseEnvironment(environ []string) map[string]string {
	all := map[string]string{}
	for _, one := range environ {
		if name, value, ok := strings.Cut(one, "="); ok {
			all[name] = value
		}
	}
	return all
}

// Image returns the hash of an image ID.
func (k ProvenanceKey) Image(id string) string {
	if id == "" {
		return ""
	}
	return k.hash("image", id)
}

// Setting identifies a named setting by its text.
func (k ProvenanceKey) Setting(name, text string) rundir.Hashed {
	return rundir.Hashed{Name: name, Hashes: []string{k.hash("setting", name, text)}}
}

// Part identifies a part of a plan by its whole content.
func (k ProvenanceKey) Part(name string, part any) (rundir.Hashed, error) {
	text, err := json.Marshal(part)
	return k.Setting(name, string(text)), err
}

// ChangedFiles identifies the code and libraries of a container that differ from its image: lines of docker diff, such
// as "C /usr/lib/x.py".
func (k ProvenanceKey) ChangedFiles(lines []string) *rundir.ChangedFiles {
	kept := slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !isCode(line) })))
	changed := &rundir.ChangedFiles{Files: len(kept)}
	if len(kept) > 0 {
		changed.Hash = k.hash("changed", strings.Join(kept, "\n"))
	}
	return changed
}

// isCode reports whether a line of docker diff is about a file of a program. Files that programs write while they run,
// such as compiled kernels and caches, differ from run to run.
func isCode(line string) bool {
	_, path, _ := strings.Cut(line, " ")
	for _, folder := range []string{"/tmp/", "/var/", "/run/", "/proc/", "/dev/", "/.cache/", "/.triton/", "/__pycache__/"} {
		if strings.Contains(path, folder) {
			return false
		}
	}
	code := []string{".py", ".so", ".cu", ".cuh", ".cc", ".cpp", ".h", ".jinja", ".sh"}
	return slices.ContainsFunc(code, func(end string) bool { return strings.HasSuffix(path, end) }) || strings.Contains(path, ".so.")
}

// hashed keeps the values that may be kept and hashes the others, ordered by program and name.
func (k ProvenanceKey) hashed(kind string, parts []part) []rundir.Hashed {
	var all []rundir.Hashed
	for _, p := range parts {
		one := rundir.Hashed{Program: p.program, Name: p.name}
		if p.open() {
			one.Values = p.values
		} else {
			for _, value := range p.values {
				one.Hashes = append(one.Hashes, k.hash(kind, p.program, p.name, value))
			}
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b rundir.Hashed) int {
		return cmp.Or(cmp.Compare(a.Program, b.Program), cmp.Compare(a.Name, b.Name))
	})
	return all
}
