package openai

import "bytes"

// doneMarker is the data of the event that ends a stream.
const doneMarker = "[DONE]"

// class is what the hot path reads from one event.
type class uint8

const (
	classNone    class = iota // certainly no payload
	classPayload              // payload, or possibly payload
	classDone                 // the marker [DONE]
)

// classify reports from the bytes of one event's data whether it carries payload. It allocates nothing, decodes nothing
// and stops at the first evidence.
//
// It may count an event without payload as payload (an empty text with log probabilities, for example), but never
// misses a payload: deadlines and the live counter use it, and a stream that delivers must not be cut off. Every figure
// of a record comes from the decode at the end of the stream.
func classify(data []byte) class {
	data = trimSpace(data)
	if len(data) == 0 || data[0] != '{' {
		if string(bytes.TrimRight(data, " \t")) == doneMarker {
			return classDone
		}
		return classNone
	}
	for left := data; ; {
		name, escaped, rest := nextString(left)
		if rest == nil {
			if hasUnknownText(data) {
				return classPayload
			}
			return classNone
		}
		left = rest
		value, isKey := afterColon(rest)
		if isKey && (escaped || carriesOutput(name) && !isEmptyValue(value)) {
			return classPayload
		}
	}
}

// nextString returns the next string of a JSON text, whether it holds escapes, and the bytes after it; rest is nil if
// there is no string.
func nextString(data []byte) (text []byte, escaped bool, rest []byte) {
	open := bytes.IndexByte(data, '"')
	if open < 0 {
		return nil, false, nil
	}
	for i := open + 1; i < len(data); i++ {
		switch data[i] {
		case '"':
			return data[open+1 : i], escaped, data[i+1:]
		case '\\':
			escaped = true
			i++
		}
	}
	return nil, false, nil
}

// afterColon returns the value after a string and whether the string is a member's name.
func afterColon(data []byte) (value []byte, isKey bool) {
	data = trimSpace(data)
	if len(data) == 0 || data[0] != ':' {
		return nil, false
	}
	return trimSpace(data[1:]), true
}

// carriesOutput lists the known members whose value is output, at any depth. Data and transcript belong to audio; text,
// summary and data to reasoning_details.
func carriesOutput(name []byte) bool {
	switch string(name) {
	case "content", "text", "reasoning_content", "reasoning", "tool_calls", "refusal", "function_call", "transcript", "data", "summary":
		return true
	}
	return false
}

// isEmptyValue reports whether a value is null, false, an empty string, list or object.
func isEmptyValue(value []byte) bool {
	if len(value) == 0 {
		return false
	}
	switch value[0] {
	case '"':
		return bytes.HasPrefix(value, []byte(`""`))
	case '[':
		return bytes.HasPrefix(trimSpace(value[1:]), []byte("]"))
	case '{':
		return bytes.HasPrefix(trimSpace(value[1:]), []byte("}"))
	}
	return value[0] == 'n' || value[0] == 'f'
}

// trimSpace drops leading JSON space; bytes.TrimSpace would look at both ends of a long event.
func trimSpace(data []byte) []byte {
	for len(data) > 0 {
		switch data[0] {
		case ' ', '\t', '\n', '\r':
			data = data[1:]
		default:
			return data
		}
	}
	return data
}
