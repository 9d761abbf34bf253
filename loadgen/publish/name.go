// Package publish makes a pack of runs: a folder for static hosting with the runs themselves, the tables and charts of
// their results, the methodology, and a hash of every file.
//
// A pack is public, so it must not identify the machine or its owner. Tables of rules list which members of a run's
// files may stay; a member that no table names is left out. Everything shown about the runs is computed from the files
// in the pack, and so cannot show more than they do.
package publish

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of identity that packs hide. Each value is replaced by the name of its kind and a number; equal values
// stay equal.
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
	KindValue     Kind = "value" // of a flag, a label or a setting that may hold anything
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{KindHost, KindUser, KindPath, KindAddress, KindUUID, KindSerial, KindBoot, KindContainer, KindImage, KindCgroup, KindValue}
}

// ParseKind reads the name of a kind.
func ParseKind(text string) (Kind, error) { return oneOf(text, Kinds()) }

// oneOf reads one of some words.
func oneOf[T ~string](text string, all []T) (T, error) {
	if word := T(text); slices.Contains(all, word) {
		return word, nil
	}
	var names []string
	for _, word := range all {
		names = append(names, string(word))
	}
	return "", fmt.Errorf("%q is none of %s", text, strings.Join(names, ", "))
}

// Identity is a name that identifies a machine or its owner.
type Identity struct {
	Kind Kind
	Name string
}

// names gives every identity a neutral name: host-1, host-2. Equal identities get the same name in all files of a pack.
type names struct {
	keep  map[Kind]bool
	given map[Kind]map[string]string
	// replacements are not replaced again.
	replacements map[string]bool
}

func newNames(keep []Kind) *names {
	n := &names{keep: map[Kind]bool{}, given: map[Kind]map[string]string{}, replacements: map[string]bool{}}
	for _, kind := range keep {
		n.keep[kind] = true
	}
	return n
}

// name returns the replacement of an identity; "" for an empty one.
func (n *names) name(kind Kind, what string) string {
	if what == "" || n.keep[kind] || n.replacements[what] {
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
		of[what], n.replacements[name] = name, true
	}
	return name
}
