package openai

import (
	"bytes"
	"strings"
)

// presentValue consumes a value and returns its bytes; nil if it is no value.
func presentValue(c *cursor) []byte {
	value := c.skip()
	if isNoValue(value) {
		return nil
	}
	return value
}

// presentError is presentValue for an error: 0 is the code of success.
func presentError(c *cursor) []byte {
	value := presentValue(c)
	if string(value) == "0" {
		return nil
	}
	return value
}

// isNoValue reports whether a JSON value stands for none. Servers write null, false, an empty string, list or object,
// "null" as a text, and lists and objects of nothing but null. It is for members with a value of another kind, such as a
// finish_reason; text of the model may well be the word null.
func isNoValue(value []byte) bool {
	if len(value) == 0 {
		return true
	}
	switch value[0] {
	case '"':
		return isNoText(value[1 : len(value)-1])
	case '[':
		c := cursor{data: value}
		for c.enter('['); c.element(); {
			if !c.null() {
				return false
			}
		}
		return true
	case '{':
		c := cursor{data: value}
		c.enter('{')
		for _, ok := c.key(); ok; _, ok = c.key() {
			if !c.null() {
				return false
			}
		}
		return true
	}
	return string(value) == "null" || string(value) == "false"
}

// isNoText reports whether a text in place of a name or a reason stands for none. Python writes None for an absent value.
func isNoText(text []byte) bool {
	if len(text) > 64 {
		return false
	}
	switch strings.ToLower(string(bytes.TrimSpace(text))) {
	case "", "null", "none", "undefined":
		return true
	}
	return false
}
