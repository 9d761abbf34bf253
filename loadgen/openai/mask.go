package openai

import "strings"

// Servers mask keys that they refuse: "Incorrect API key provided: sk-ab****wxyz". What they leave of the key is removed
// too, since it identifies the key and makes it easier to guess.

const (
	// leastVisible is the least number of visible characters of a secret, and leastSide that on one side of the mask.
	leastVisible = 4
	leastSide    = 3
)

// maskRun returns the length of the mask at the beginning of a text, in bytes, and whether its characters are rare in
// other texts; 0 if none is there.
func maskRun(text string) (length int, rare bool) {
	sign, least := text[:1], 3
	switch text[0] {
	case '*', '#':
		rare = true
	case 'x', 'X':
		least, rare = 4, true
	case '.':
		least = 2
	default:
		var known bool
		if sign, known = firstSign(text); !known {
			return 0, false
		}
		least, rare = 1, sign != ellipsis
	}
	n := 0
	for strings.HasPrefix(text[n*len(sign):], sign) {
		n++
	}
	if n < least {
		return 0, false
	}
	return n * len(sign), rare
}

// firstSign returns the sign outside of ASCII that a text begins with, if it is one of masks.
func firstSign(text string) (sign string, known bool) {
	for _, sign := range []string{"•", "●", ellipsis} {
		if strings.HasPrefix(text, sign) {
			return sign, true
		}
	}
	return "", false
}

// unmask removes what is visible of masked secrets.
func (r *Redactor) unmask(text string) string {
	for at := 0; at < len(text); {
		switch text[at] {
		case '*', '#', 'x', 'X', '.', "•"[0]: // the other signs begin with the same byte
		default:
			at++
			continue
		}
		length, rare := maskRun(text[at:])
		if length == 0 {
			at++
			continue
		}
		before, after := r.visible(text[:at], text[at+length:], rare)
		if before+after == 0 {
			at += length
			continue
		}
		text = text[:at-before] + redacted + text[at+length+after:]
		at += len(redacted) - before
	}
	return text
}

// visible returns how many bytes before and after a mask are of a secret; none if they may as well be other text.
func (r *Redactor) visible(left, right string, rare bool) (before, after int) {
	for _, secret := range r.masked {
		head := commonEnd(left, secret)
		tail := commonStart(right, secret)
		enough := head+tail >= leastVisible && max(head, tail) >= leastSide
		if !rare {
			enough = tail >= leastSide && head+tail > leastVisible || head >= minSecretLength
		}
		if enough && head+tail > before+after {
			before, after = head, tail
		}
	}
	return before, after
}

// commonEnd returns the length of the longest beginning of a secret that a text ends with.
func commonEnd(text, secret string) int {
	for n := min(len(text), len(secret)-1); n > 0; n-- {
		if strings.EqualFold(text[len(text)-n:], secret[:n]) {
			return n
		}
	}
	return 0
}

// commonStart returns the length of the longest end of a secret that a text begins with.
func commonStart(text, secret string) int {
	for n := min(len(text), len(secret)-1); n > 0; n-- {
		if strings.EqualFold(text[:n], secret[len(secret)-n:]) {
			return n
		}
	}
	return 0
}
