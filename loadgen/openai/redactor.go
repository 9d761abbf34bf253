package openai

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
)

// Redactor removes secrets from texts, in the forms in which servers repeat them: whole, in other case, split by other
// characters, in base64 (also within a longer text), hexadecimal or percent-encoding, and with a part masked. The zero
// value removes nothing.
type Redactor struct {
	plain   []string // as they are, the longest first
	needles []needle // the longest first
	masked  []string // in lower case: words that may come with a mask
}

// needle is one form of a secret: its letters and digits in lower case.
type needle struct {
	text  string
	bytes []byte // the same
	// encoded is true if characters beside a hit belong to the same code, which may have more than the secret.
	encoded bool
}

// NewRedactor prepares the forms of the secrets.
func NewRedactor(secrets []string) *Redactor {
	r := &Redactor{}
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		r.plain = append(r.plain, secret)
		r.add(secret, false)
		if escaped := url.QueryEscape(secret); escaped != secret {
			r.add(escaped, false)
			r.add(url.PathEscape(secret), false)
		}
		r.add(hex.EncodeToString([]byte(secret)), true)
		for _, code := range base64Of(secret) {
			r.add(code, true)
		}
		if !strings.ContainsAny(secret, " \t") {
			r.masked = append(r.masked, strings.ToLower(secret))
		}
	}
	longest := func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }
	slices.SortFunc(r.plain, longest)
	slices.SortFunc(r.needles, func(a, b needle) int { return longest(a.text, b.text) })
	return r
}

// add adds a form, unless its letters and digits alone are too few to stand for a secret.
func (r *Redactor) add(form string, encoded bool) {
	folded := string(fold(nil, form))
	known := func(n needle) bool { return n.text == folded }
	if len(folded) >= minSecretLength && !slices.ContainsFunc(r.needles, known) {
		r.needles = append(r.needles, needle{folded, []byte(folded), encoded})
	}
}

// base64Of returns what the base64 code of any text with the secret contains: one code for each of the three places that
// the secret may have in a group of three bytes. A form without characters that depend on neighbouring bytes.
func base64Of(secret string) []string {
	var codes []string
	for before := range 3 {
		code := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), secret...))
		first := []int{0, 2, 3}[before]
		last := len(code)
		if (before+len(secret))%3 != 0 {
			last--
		}
		if first < last {
			codes = append(codes, code[first:last])
		}
	}
	return codes
}

// letterOrDigit reports whether a byte is kept by fold.
func letterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// fold appends the letters and digits of a text in lower case.
func fold[T string | []byte](folded []byte, text T) []byte {
	folded = slices.Grow(folded, len(text))
	n := len(folded)
	into := folded[:n+len(text)]
	for i := range len(text) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			into[n] = c
			n++
		}
	}
	return into[:n]
}

// Text removes the secrets from a text. A text that Printable has truncated may end with the beginning of a secret,
// which is removed too.
func (r *Redactor) Text(text string) string {
	if r == nil || len(r.plain) == 0 || text == "" {
		return text
	}
	for _, secret := range r.plain {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	if r.holds(text) {
		for _, n := range r.needles {
			text = n.replace(text)
		}
	}
	return r.unmask(r.truncated(text))
}

// holds reports whether a text has a secret in any of the forms.
func (r *Redactor) holds(text string) bool {
	folded := fold(nil, text)
	return slices.ContainsFunc(r.needles, func(n needle) bool { return bytes.Contains(folded, n.bytes) })
}

// replace replaces one form of a secret in a text.
func (n needle) replace(text string) string {
	var changed strings.Builder
	written := 0
	for _, hit := range n.spans(text) {
		changed.WriteString(text[written:hit[0]] + redacted)
		written = hit[1]
	}
	return changed.String() + text[written:]
}

// spans returns where a text has one form of a secret: first byte and end of each, in order and apart.
func (n needle) spans(text string) (all [][2]int) {
	folded, places, end := string(fold(nil, text)), []int(nil), 0
	for from := 0; ; {
		hit := strings.Index(folded[from:], n.text)
		if hit < 0 {
			return all
		}
		if places == nil {
			places = placesOf(text)
		}
		first, last := places[from+hit], places[from+hit+len(n.text)-1]+1
		from += hit + len(n.text)
		for n.encoded && first > end && inCode(text[first-1]) {
			first--
		}
		for n.encoded && last < len(text) && inCode(text[last]) {
			last++
		}
		if first >= end { // else it is in the code that was just found
			all, end = append(all, [2]int{first, last}), last
		}
	}
}

// placesOf returns the index of each letter or digit of a text.
func placesOf(text string) []int {
	var places []int
	for i := range len(text) {
		if letterOrDigit(text[i]) {
			places = append(places, i)
		}
	}
	return places
}

// inCode reports whether a byte may be part of base64 or percent-encoding.
func inCode(c byte) bool { return letterOrDigit(c) || strings.IndexByte("+/=_-%", c) >= 0 }

// truncated removes the beginning of a secret from the end of a text that was cut there.
func (r *Redactor) truncated(text string) string {
	whole, cut := strings.CutSuffix(text, ellipsis)
	if !cut {
		return text
	}
	for _, secret := range r.plain {
		for n := len(secret) - 1; n >= minSecretLength; n-- {
			if left, ends := strings.CutSuffix(whole, secret[:n]); ends {
				return left + redacted + ellipsis
			}
		}
	}
	folded := string(fold(nil, whole[max(0, len(whole)-maxErrorLength):]))
	for _, n := range r.needles {
		for length := min(len(n.text)-1, len(folded)); length >= minSecretLength; length-- {
			if strings.HasSuffix(folded, n.text[:length]) {
				places := placesOf(whole)
				return whole[:places[len(places)-length]] + redacted + ellipsis
			}
		}
	}
	return text
}
