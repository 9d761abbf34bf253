package openai

import "bytes"

const byteOrderMark = "\uFEFF"

// event is one server-sent event: its place in the stream's bytes.
type event struct {
	start, end int   // its lines
	at         int64 // arrival of the read that completed it, ns since the run's start
	read       int   // number of that read
}

// stream keeps the bytes of a response body and finds the events in them as they arrive
// (https://html.spec.whatwg.org/multipage/server-sent-events.html). During arrival it does only this: no decoding, no
// copying of single events, so that the time to the next read stays short.
//
// The maintained readers of this format return an event once it is parsed, without the network read that completed it:
// two events of one read would get two arrival times. Hence this reader. A fuzz test compares it with
// github.com/tmaxmax/go-sse.
type stream struct {
	buf     []byte
	events  []event
	scanned int  // bytes already searched for an end of line
	line    int  // start of the current line
	afterCR bool // the last line ended in CR: an LF that follows belongs to it

	block     int   // start of the current event
	lines     int   // lines of it so far
	dataLines int   // of those, data
	class     class // of its data

	payloads int  // events classified as payload
	done     bool // [DONE] was seen
}

// scan finds the events completed by one read, whose bytes are appended to buf.
func (s *stream) scan(at int64, read int) {
	if s.afterCR && s.scanned < len(s.buf) {
		s.afterCR = false
		if s.buf[s.scanned] == '\n' {
			s.nextLine(s.scanned + 1)
		}
	}
	for s.scanned < len(s.buf) {
		i := lineEnd(s.buf[s.scanned:])
		if i < 0 {
			s.scanned = len(s.buf)
			return
		}
		end := s.scanned + i
		s.endLine(end, at, read)
		s.nextLine(s.afterLineEnd(end))
	}
}

// lineEnd returns the index of the first CR or LF, or -1 if there is none. Two searches for one byte are several times
// faster than one search for either.
func lineEnd(data []byte) int {
	lf := bytes.IndexByte(data, '\n')
	if lf >= 0 {
		data = data[:lf]
	}
	if cr := bytes.IndexByte(data, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// afterLineEnd returns the start of the line after the one that ends at end. It does not wait for an LF that has not
// come yet: the line is complete.
func (s *stream) afterLineEnd(end int) int {
	next := end + 1
	if s.buf[end] == '\n' {
		return next
	}
	if s.afterCR = next == len(s.buf); !s.afterCR && s.buf[next] == '\n' {
		next++
	}
	return next
}

func (s *stream) nextLine(start int) {
	s.line, s.scanned = start, start
	if s.lines == 0 {
		s.block = start
	}
}

// endLine processes the current line, which ends at end.
func (s *stream) endLine(end int, at int64, read int) {
	line := s.buf[s.line:end]
	if s.line == 0 {
		line = bytes.TrimPrefix(line, []byte(byteOrderMark))
	}
	switch {
	case len(line) == 0 && s.lines > 0:
		s.dispatch(event{s.block, s.line, at, read})
	case len(line) == 0:
	case line[0] == ':' && s.lines == 0:
		// A comment is complete at its own line's end. Waiting for a blank line would give a
		// keep-alive the time of the event after it.
		s.dispatch(event{s.line, end, at, read})
	default:
		s.lines++
		s.look(line)
	}
}

// look classifies a line of the current event. It does not join data of several lines: that counts as payload.
func (s *stream) look(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	if string(name) != "data" {
		return
	}
	s.dataLines++
	s.class = classPayload
	if s.dataLines == 1 {
		s.class = classify(value)
	}
}

func (s *stream) dispatch(e event) {
	s.events = append(s.events, e)
	switch s.class {
	case classPayload:
		s.payloads++
	case classDone:
		s.done = true
	case classNone:
	}
	s.lines, s.dataLines, s.class = 0, 0, classNone
}

// rest returns the event that the end of the body cut short, if any. Some servers leave out the blank line or the line
// end after their last event. The decode shows whether it is whole.
func (s *stream) rest(at int64, read int) (last event, ok bool) {
	return event{s.block, len(s.buf), at, read}, s.block < len(s.buf)
}

// unfinished returns how many bytes the current event has so far.
func (s *stream) unfinished() int { return len(s.buf) - s.block }

// fields are the parts of one event.
type fields struct {
	name    []byte // the event field
	data    []byte // the data lines, joined by LF
	comment []byte // the last comment, or the field error, which is in no standard: llama.cpp's server wrote it

	hasData, hasComment, hasProblem bool
	known                           bool // at least one line is a field of the format, a comment or error
}

// split takes an event's lines apart. data points into the lines if it is one of them; several are joined in a copy.
func (s *stream) split(e event) fields {
	lines := s.buf[e.start:e.end]
	if e.start == 0 {
		lines = bytes.TrimPrefix(lines, []byte(byteOrderMark))
	}
	var f fields
	for len(lines) > 0 {
		line := lines
		if i := lineEnd(lines); i >= 0 {
			line, lines = lines[:i], lines[i+1:]
		} else {
			lines = nil
		}
		f.add(line)
	}
	return f
}

func (f *fields) add(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if f.hasData {
			value = bytes.Join([][]byte{f.data, value}, []byte("\n"))
		}
		f.data, f.hasData = value, true
	case "event":
		f.name = value
	case "error":
		f.comment, f.hasProblem = value, true
	case "id", "retry":
	case "":
		if len(line) == 0 {
			return
		}
		if f.hasComment = true; !f.hasProblem {
			f.comment = value
		}
	default:
		return
	}
	f.known = true
}
