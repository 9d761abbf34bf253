package spec

import (
	"errors"
	"fmt"
	"slices"
)

// ErrUnknown is wrapped when a page or a server is not one of a known engine.
var ErrUnknown = errors.New("not the page of a known engine")

// Translation is what the page of an engine says in the terms of all engines.
type Translation struct {
	// Engine is the name of the engine.
	Engine string
	// Families are the names of the engine's own series on its page, and Unread those of which no value is read, among
	// them series of releases newer than this program.
	Families, Unread int
	// Models are the models that it serves, in order of names. An engine that names none has one without a name.
	Models []Model
	// Absent are the reasons why figures are absent that the page seems to have, one sentence each.
	Absent []string
	// UnknownLabels are labels of series that are read, in order, which the engine itself does not write. They are no
	// part of its identity.
	UnknownLabels []string
}

// Translate reads the page of an engine. The series names on it identify the engine: first an engine with an API, then a
// program that passes on the series of another one, then a cache, which may share the page of the engine that it serves.
// Forms with a mark come last, since their names could be those of any program.
func (all Engines) Translate(page Page) (Translation, error) {
	for place := range lastPlace + 1 {
		for _, e := range all {
			for _, form := range e.Metrics.Forms {
				if placeOf(e, form) == place && form.on(page) {
					return all.read(page, e, form)
				}
			}
		}
	}
	return Translation{}, ErrUnknown
}

const lastPlace = 3

func placeOf(e Engine, form Form) int {
	switch {
	case form.Mark != "":
		return lastPlace
	case !e.HasAPI():
		return 2
	case e.Metrics.Around != nil:
		return 1
	}
	return 0
}

// on reports whether a page has this form.
func (f Form) on(page Page) bool {
	for _, family := range page.Families(f.Owns) {
		series := slices.Concat(page.Series(family), page.Series(family+"_sum"))
		if f.Mark == "" || slices.ContainsFunc(series, func(one Series) bool { return one.Labels[f.Mark] != "" }) {
			return true
		}
	}
	return false
}

func (all Engines) read(page Page, e Engine, form Form) (Translation, error) {
	whole := NewView(page, form.Labels)
	models := form.Read(whole)
	var added []string
	for _, other := range all {
		if around := other.Metrics.Around; around != nil {
			around.Complete(whole, models)
			added = append(added, around.Labels...)
		}
	}
	if len(models) > MaxModels {
		return Translation{}, fmt.Errorf("%d models, of which at most %d are read", len(models), MaxModels)
	}
	families := page.Families(form.Owns)
	read := slices.DeleteFunc(slices.Clone(families), func(family string) bool { return !whole.Asked(family) })
	return Translation{
		Engine: e.Name, Families: len(families), Unread: len(families) - len(read), Models: models,
		Absent: whole.log.absent, UnknownLabels: form.Labels.unknown(page, read, added),
	}, nil
}
