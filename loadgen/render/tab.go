package render

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestTab is how many characters the name of a tab has at most (Excel's own limit).
const longestTab = 31

// TabName makes any text the name of a tab that no other has: without what Excel forbids in one, short
// enough, and with a number behind it if there are several alike. Tabs are alike whatever the case.
func TabName(text string, used []string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`[]:*?/\`, r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, text)
	name = cutTab(name, longestTab)
	if name == "" || strings.EqualFold(name, "History") { // which Excel keeps for itself
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

// cutTab cuts a name to a length, which counts in UTF-16 as Excel does; an apostrophe may be at neither end.
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
