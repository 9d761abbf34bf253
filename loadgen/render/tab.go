package render

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestTab is the longest name of a tab, in characters (Excel's own limit).
const longestTab = 31

// TabName converts any text to a unique name of a tab: without characters that Excel forbids, short enough, and with a
// number at the end if it is taken. The comparison ignores case.
func TabName(text string, used []string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`[]:*?/\`, r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, text)
	name = cutTab(name, longestTab)
	if name == "" || strings.EqualFold(name, "History") { // Excel reserves it
		name = cutTab("_"+name, longestTab)
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(used, func(other string) bool { return strings.EqualFold(name, other) })
	}
	for number, first := 2, name; taken(name); number++ {
		suffix := fmt.Sprintf(" %d", number)
		name = cutTab(first, longestTab-len(suffix)) + suffix
	}
	return name
}

// cutTab cuts a name to a length in UTF-16 units, as Excel counts; a name may not begin or end with an apostrophe.
func cutTab(name string, most int) string {
	name = strings.Trim(name, "' ")
	for utf16Length(name) > most {
		_, size := utf8.DecodeLastRuneInString(name)
		name = strings.TrimRight(name[:len(name)-size], "' ")
	}
	return name
}

func utf16Length(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
