package plan

import (
	"reflect"
	"strings"
)

// Words of a field's tag "is". The comment of Plan describes most of them.
const (
	isRequired = "required"
	isTemplate = "template"
	isName     = "name"
	isValues   = "values"
	isFlags    = "flags"
)

// field is a field of the plan's types.
type field struct {
	index int
	key   string   // in the file
	is    string   // the tag
	one   []string // the allowed words; any if empty
}

// fieldsOf returns the fields that a type has in the file.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		if key := f.Tag.Get("yaml"); key != "" {
			fields = append(fields, field{index: i, key: key, is: f.Tag.Get("is"), one: strings.Fields(f.Tag.Get("one"))})
		}
	}
	return fields
}

// has reports whether a tag contains a word.
func has(is, word string) bool {
	for one := range strings.FieldsSeq(is) {
		if one == word {
			return true
		}
	}
	return false
}
