package openai

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is the deepest nesting that a cursor follows, the limit of encoding/json.
const maxDepth = 10_000

// cursor reads one JSON text (RFC 8259) from left to right and allocates nothing. It accepts what encoding/json
// accepts; the first fault sets bad and ends every loop.
//
// It replaces encoding/json here because every chunk of every stream is decoded: a typed Unmarshal of one chunk takes
// about 3 µs and 13 allocations, a quarter of what a bare client spends on receiving it, and the garbage would stall
// the client that measures. A fuzz test compares the two.
type cursor struct {
	data  []byte
	pos   int
	depth int
	fresh bool // nothing is read yet in the innermost object or array
	bad   bool
}

// peek returns the next byte that is not space, or 0 at the end.
func (c *cursor) peek() byte {
	for ; c.pos < len(c.data); c.pos++ {
		switch b := c.data[c.pos]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b
		}
	}
	return 0
}

// take consumes b if it is the next byte that is not space.
func (c *cursor) take(b byte) bool {
	if c.bad || c.peek() != b || c.pos == len(c.data) {
		return false
	}
	c.pos++
	return true
}

func (c *cursor) need(b byte) {
	if !c.take(b) {
		c.bad = true
	}
}

// finished reports whether the text is valid and only space is left of it.
func (c *cursor) finished() bool {
	c.peek()
	return !c.bad && c.pos == len(c.data)
}

// enter consumes the opening bracket of an object or array.
func (c *cursor) enter(open byte) {
	c.need(open)
	c.depth++
	c.bad = c.bad || c.depth > maxDepth
	c.fresh = true
}

// more reports whether another member or element follows, and consumes the closing bracket if not.
func (c *cursor) more(closing byte) bool {
	if c.take(closing) {
		c.depth--
		c.fresh = false
		return false
	}
	if !c.fresh {
		c.need(',')
	}
	c.fresh = false
	return !c.bad
}

// element reports whether another element of the array follows.
func (c *cursor) element() bool { return c.more(']') }

// key returns the name of the next member of the object.
func (c *cursor) key() (name []byte, ok bool) {
	if !c.more('}') {
		return nil, false
	}
	raw := c.str()
	c.need(':')
	if bytes.IndexByte(raw, '\\') >= 0 {
		raw = appendText(nil, raw)
	}
	return raw, !c.bad
}

// str consumes a string and returns the bytes between the quotes, with escapes unchanged.
func (c *cursor) str() []byte {
	c.need('"')
	for start, i := c.pos, c.pos; i < len(c.data) && !c.bad; i++ {
		switch b := c.data[i]; {
		case b == '"':
			c.pos = i + 1
			return c.data[start:i]
		case b == '\\':
			i = c.escape(i)
		case b < ' ':
			c.bad = true
		}
	}
	c.bad = true
	return nil
}

// escape checks the escape sequence that begins at i and returns the index of its last byte.
func (c *cursor) escape(i int) int {
	i++
	if i == len(c.data) {
		c.bad = true
		return i
	}
	switch c.data[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
	case 'u':
		_, ok := hex4(c.data[i+1:])
		c.bad = c.bad || !ok
		i += 4
	default:
		c.bad = true
	}
	return i
}

// skip consumes any value and returns its bytes.
func (c *cursor) skip() []byte {
	first := c.peek()
	start := c.pos
	switch first {
	case '{':
		c.enter('{')
		for _, ok := c.key(); ok; _, ok = c.key() {
			c.skip()
		}
	case '[':
		for c.enter('['); c.element(); {
			c.skip()
		}
	case '"':
		c.str()
	case 't':
		c.word("true")
	case 'f':
		c.word("false")
	case 'n':
		c.word("null")
	default:
		c.number()
	}
	if c.bad {
		return nil
	}
	return c.data[start:c.pos]
}

// null consumes a null, if one is next.
func (c *cursor) null() bool {
	if c.peek() != 'n' {
		return false
	}
	c.word("null")
	return true
}

func (c *cursor) word(word string) {
	if !bytes.HasPrefix(c.data[c.pos:], []byte(word)) {
		c.bad = true
		return
	}
	c.pos += len(word)
}

func (c *cursor) number() {
	c.one('-')
	if !c.one('0') && c.digits() == 0 {
		c.bad = true
		return
	}
	if c.one('.') && c.digits() == 0 {
		c.bad = true
	}
	if c.one('e') || c.one('E') {
		if !c.one('+') {
			c.one('-')
		}
		c.bad = c.bad || c.digits() == 0
	}
}

// one consumes b if it is the very next byte.
func (c *cursor) one(b byte) bool {
	if c.pos < len(c.data) && c.data[c.pos] == b {
		c.pos++
		return true
	}
	return false
}

func (c *cursor) digits() int {
	start := c.pos
	for c.pos < len(c.data) && '0' <= c.data[c.pos] && c.data[c.pos] <= '9' {
		c.pos++
	}
	return c.pos - start
}

// appendText appends a string's text to out: escapes resolved, invalid UTF-8 and lone surrogates
// replaced by U+FFFD. The raw bytes must have passed str.
func appendText(out, raw []byte) []byte {
	for len(raw) > 0 {
		plain := raw
		if i := bytes.IndexByte(raw, '\\'); i >= 0 {
			plain = raw[:i]
		}
		out = appendValid(out, plain)
		raw = raw[len(plain):]
		if len(raw) > 0 {
			out, raw = appendEscape(out, raw)
		}
	}
	return out
}

func appendValid(out, text []byte) []byte {
	if utf8.Valid(text) {
		return append(out, text...)
	}
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		out = utf8.AppendRune(out, r)
		text = text[size:]
	}
	return out
}

// appendEscape resolves the escape sequence at the beginning of raw and returns the bytes after it as rest.
func appendEscape(out, raw []byte) (longer, rest []byte) {
	switch b := raw[1]; b {
	case 'b':
		return append(out, '\b'), raw[2:]
	case 'f':
		return append(out, '\f'), raw[2:]
	case 'n':
		return append(out, '\n'), raw[2:]
	case 'r':
		return append(out, '\r'), raw[2:]
	case 't':
		return append(out, '\t'), raw[2:]
	case 'u':
		r, size := unicodeEscape(raw)
		return utf8.AppendRune(out, r), raw[size:]
	default:
		return append(out, b), raw[2:]
	}
}

// unicodeEscape decodes \uXXXX, or a surrogate pair of two, and returns the length in bytes of what it decoded.
func unicodeEscape(raw []byte) (r rune, size int) {
	r, _ = hex4(raw[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if bytes.HasPrefix(raw[6:], []byte(`\u`)) {
		low, _ := hex4(raw[8:])
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// hex4 reads four hexadecimal digits.
func hex4(digits []byte) (value rune, ok bool) {
	if len(digits) < 4 {
		return 0, false
	}
	for _, b := range digits[:4] {
		switch {
		case '0' <= b && b <= '9':
			b -= '0'
		case 'a' <= b && b <= 'f':
			b -= 'a' - 10
		case 'A' <= b && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, false
		}
		value = value<<4 | rune(b)
	}
	return value, true
}
