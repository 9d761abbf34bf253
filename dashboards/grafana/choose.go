package grafana

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// choose returns the value of a variable: that of the address, even if it is not an option, else the stored one if it
// is an option, else the first option (MultiValueVariable in scenes). Without options it is empty, or All where there
// is one.
func (r Resolved) choose(chosen map[string][]string) []string {
	asked, said := chosen[r.Name]
	said = said && len(asked) > 0 && !r.SkipURLSync
	switch r.Kind {
	case KindConstant:
		return []string{r.Query}
	case KindTextbox:
		if said {
			return asked[:1]
		}
		return []string{r.Query}
	case KindDatasource:
		return []string{r.Options[0].Value} // there is one data source
	}
	if said {
		return r.fromAddress(asked)
	}
	return r.byDefault()
}

func (r Resolved) fromAddress(asked []string) []string {
	if r.IncludeAll && (slices.Contains(asked, All) || slices.Contains(asked, allText) || r.AllValue != "" && asked[0] == r.AllValue) {
		return []string{All}
	}
	if r.Multi {
		return asked
	}
	return asked[:1]
}

func (r Resolved) byDefault() []string {
	var valid []string
	for _, value := range r.Variable.Current {
		if value == All && r.IncludeAll {
			return []string{All}
		}
		if slices.ContainsFunc(r.Options, func(o Option) bool { return o.Value == value }) {
			valid = append(valid, value)
		}
	}
	switch {
	case len(valid) > 0:
		return valid
	case len(r.Options) > 0:
		return []string{r.Options[0].Value}
	case r.IncludeAll:
		return []string{All}
	case r.Multi:
		return nil
	}
	return []string{""}
}

// sortOptions puts options into one of Grafana's orders, by their texts.
func sortOptions(options []Option, order int) {
	var compare func(a, b string) int
	switch order {
	case sortAlphabetical, sortAlphabeticalDescending:
		compare = strings.Compare
	case sortNumerical, sortNumericalDescending:
		compare = func(a, b string) int { return firstNumber(a).compare(firstNumber(b)) }
	case sortFolded, sortFoldedDescending:
		compare = func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }
	case sortNatural, sortNaturalDescending:
		compare = natural
	case sortNone:
		return
	default:
		return // Grafana ignores unknown orders
	}
	slices.SortStableFunc(options, func(a, b Option) int { return compare(a.Text, b.Text) })
	if order%2 == 0 {
		slices.Reverse(options)
	}
}

// number is a row of digits of any length; the empty one, for a text without digits, is the least.
type number string

func firstNumber(text string) number {
	start := strings.IndexFunc(text, isDigit)
	if start < 0 {
		return ""
	}
	return leadingNumber(text[start:])
}

func leadingNumber(text string) number {
	end := strings.IndexFunc(text, func(r rune) bool { return !isDigit(r) })
	if end < 0 {
		end = len(text)
	}
	return number(text[:end])
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func (n number) compare(other number) int {
	if n == "" || other == "" {
		return len(n) - len(other)
	}
	a, b := strings.TrimLeft(string(n), "0"), strings.TrimLeft(string(other), "0")
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// natural compares texts with their numbers by size and letters without their case, as the
// browser's collator with the option numeric does for plain names.
func natural(a, b string) int {
	for a != "" && b != "" {
		na, nb := leadingNumber(a), leadingNumber(b)
		if na != "" && nb != "" {
			if c := na.compare(nb); c != 0 {
				return c
			}
			a, b = a[len(na):], b[len(nb):]
			continue
		}
		ra, sizeA := utf8.DecodeRuneInString(a)
		rb, sizeB := utf8.DecodeRuneInString(b)
		if c := int(unicode.ToLower(ra)) - int(unicode.ToLower(rb)); c != 0 {
			return c
		}
		a, b = a[sizeA:], b[sizeB:]
	}
	return len(a) - len(b)
}
