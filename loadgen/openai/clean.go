package openai

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits on text from servers in a record, in bytes.
const (
	maxErrorLength = 500
	maxNameLength  = 200

	maxForeignText = 64 << 10 // bytes examined

	ellipsis = "…" // ends a truncated text
)

// escapeSequence matches terminal control sequences (ECMA-48): CSI, the strings that end in BEL or
// ST, and the short ones.
var escapeSequence = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]?")

// LongestForeign is the most bytes that messages and reports repeat of a text from outside the program.
const LongestForeign = 2000

// Printable makes text from a server safe for a terminal and a log: one line of printable characters and at most limit
// bytes. Records hold only such text, so the rest of the program may print it.
func Printable(text string, limit int) string {
	text = text[:min(len(text), maxForeignText)] // an event may hold megabytes
	text = escapeSequence.ReplaceAllString(text, "")
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' ' // control characters, line ends, text direction marks
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= limit {
		return text
	}
	end := limit - len(ellipsis)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// report returns the text of an error event: the message if its data is an error object, else its data or comment.
func (f fields) report() string {
	text := f.data
	if f.hasProblem || len(text) == 0 {
		text = f.comment // Dynamo explains an error event in a comment
	}
	if len(text) == 0 {
		return "error event without text"
	}
	return errorText(text)
}

// report returns the text of an error object.
func (k *chunk) report() string {
	switch {
	case k.failure != nil:
		return errorText(k.failure)
	case k.objectIsError:
		return string(appendText(nil, k.message))
	}
	return errorText(k.detail)
}

// code returns the code of an error object.
func (k *chunk) code() string {
	if k.failure != nil {
		return errorCode(k.failure)
	}
	return Printable(string(appendText(nil, k.kindOfError)), maxNameLength)
}

// finishReason returns the finish_reason. An engine's own format may have an object there; its type is the reason.
func (k *chunk) finishReason() string {
	switch k.finish[0] {
	case '"':
		return string(appendText(nil, k.finish[1:len(k.finish)-1]))
	case '{':
		var object struct{ Type string }
		if json.Unmarshal(k.finish, &object) == nil && object.Type != "" {
			return object.Type
		}
	}
	return string(k.finish)
}

// whyGivenUp returns the error of an answer that the engine gave up, with the message of an object.
func (k *chunk) whyGivenUp(finish string) string {
	why := "finish_reason is " + finish
	var object struct{ Message string }
	if json.Unmarshal(k.finish, &object) == nil && object.Message != "" {
		return why + ": " + object.Message
	}
	return why
}

// errorText returns the message of a server's error. The forms are OpenAI's {"error":{"message":…}}, the older
// {"message":…} and FastAPI's {"detail":…}, whose value may be a list of objects with a loc and a msg. A body in
// another form is returned whole.
func errorText(body []byte) string {
	body = body[:min(len(body), maxForeignText)]
	var value any
	if json.Unmarshal(body, &value) == nil {
		if text, found := messageIn(value); found {
			return text
		}
	}
	return string(body)
}

// messageIn returns the message of an error; found is false if the value has another form.
func messageIn(value any) (text string, found bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case map[string]any:
		inner, _ := firstOf(value, "error", "message", "detail", "msg")
		text, found = messageIn(inner)
		place, _ := value["loc"].([]any)
		for _, step := range slices.Backward(place) {
			text = fmt.Sprintf("%v: ", step) + text
		}
		return text, found
	case []any:
		var texts []string
		for _, element := range value {
			one, ok := messageIn(element)
			if !ok {
				return "", false
			}
			texts = append(texts, one)
		}
		return strings.Join(texts, "; "), len(texts) > 0
	}
	return "", false
}

// firstOf returns the first of the members that is present and has a value, or is an empty text.
func firstOf(object map[string]any, names ...string) (any, bool) {
	for _, name := range names {
		value := object[name]
		if raw, err := json.Marshal(value); err == nil && (value == "" || !isNoValue(raw)) {
			return value, true
		}
	}
	return nil, false
}

// errorCode returns the code of an error report, or else its type: a word for the fault, such as
// context_length_exceeded, that the message gives in a sentence. It returns "" if there is none.
func errorCode(body []byte) string {
	type words struct {
		Code any `json:"code"`
		Type any `json:"type"`
	}
	var report struct {
		words
		Error json.RawMessage `json:"error"`
	}
	body = body[:min(len(body), maxForeignText)]
	if json.Unmarshal(body, &report) != nil {
		return ""
	}
	var inner words
	_ = json.Unmarshal(report.Error, &inner) // an error that is a text has no code
	for _, word := range []any{inner.Code, inner.Type, report.Code, report.Type} {
		if text, ok := word.(string); ok && !isNoText([]byte(text)) {
			return Printable(text, maxNameLength)
		}
	}
	return ""
}
