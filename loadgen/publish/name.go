// Package publish makes a pack of runs: a folder for static hosting with the runs themselves, the tables and
// figures of what they show, how they were made, and a sum of every file.
//
// A pack is for everybody, so that nothing enters it that says whose machine it was. What every member of a
// run's files may say is ruled in tables; what no table names is left out. All that is shown of the runs is
// computed from what stands in the pack, and so cannot say more than it.
package publish

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of what is not told. Each is replaced by its name and a number; what was equal stays equal.
type Kind string

// The kinds.
const (
	KindHost      Kind = "host"
	KindUser      Kind = "user"
	KindPath      Kind = "path"
	KindAddress   Kind = "address"
	KindUUID      Kind = "uuid"
	KindSerial    Kind = "serial"
	KindBoot      Kind = "boot"
	KindContainer Kind = "container"
	KindImage     Kind = "image"
	KindCgroup    Kind = "cgroup"
	KindValue     Kind = "value" // of a flag, a label or a setting that may be anything
)

// Kinds lists them.
func Kinds() []Kind {
	return []Kind{KindHost, KindUser, KindPath, KindAddress, KindUUID, KindSerial, KindBoot, KindContainer, KindImage, KindCgroup, KindValue}
}

// ParseKind reads the name of a kind.
func ParseKind(text string) (Kind, error) {
	if kind := Kind(text); slices.Contains(Kinds(), kind) {
		return kind, nil
	}
	var names []string
	for _, kind := range Kinds() {
		names = append(names, string(kind))
	}
	return "", fmt.Errorf("%q is none of %s", text, strings.Join(names, ", "))
}

// Identity is a name that is known to say whose machine it was.
type Identity struct {
	Kind Kind
	Name string
}

// names gives every identity a name that says nothing: host-1, host-2. What is equal gets the same one, in
// all files of a pack.
type names struct {
	keep  map[Kind]bool
	given map[Kind]map[string]string
	// said are the replacements, which are not replaced again.
	said map[string]bool
}

func newNames(keep []Kind) *names {
	n := &names{keep: map[Kind]bool{}, given: map[Kind]map[string]string{}, said: map[string]bool{}}
	for _, kind := range keep {
		n.keep[kind] = true
	}
	return n
}

// name is what stands for an identity; nothing stands for nothing.
func (n *names) name(kind Kind, what string) string {
	if what == "" || n.keep[kind] || n.said[what] {
		return what
	}
	of := n.given[kind]
	if of == nil {
		of = map[string]string{}
		n.given[kind] = of
	}
	name, known := of[what]
	if !known {
		name = fmt.Sprintf("%s-%d", kind, len(of)+1)
		of[what], n.said[name] = name, true
	}
	return name
}
