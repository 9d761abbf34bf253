package publish

import (
	"crypto/sha256"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Patterns of identities and secrets in texts. They complement the rules by member: a warning or the name of a model
// may have any of them.
var (
	addressPattern = regexp.MustCompile(`\b[A-Za-z][A-Za-z0-9+.-]*://(?:[^\s"'<>)\]/@]*@)?(?:\[[0-9A-Fa-f:.]+\])?[^\s"'<>)\]]*`)
	mailPattern    = regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+`)
	homePattern    = regexp.MustCompile(`(/(?:home|Users|var/home)/)([^/\s"':,;]+)`)
	uuidPattern    = regexp.MustCompile(`(?i)\b(?:(?:GPU|MIG)-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	macPattern     = regexp.MustCompile(`(?i)\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}\b`)
	// macNamePattern matches interfaces that are named by their address, as those on USB are.
	macNamePattern = regexp.MustCompile(`\b(?:en|wl|ww)x[0-9a-f]{12}\b`)
	ipv4Pattern    = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)
	ipv6Pattern    = regexp.MustCompile(`(?i)[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,}(?:%[a-z0-9]+)?`)
	hexPattern     = regexp.MustCompile(`\b(?:sha256:)?[0-9a-f]{64}\b`)
	serialPattern  = regexp.MustCompile(`(?i)(\b(?:serial(?:[ _-]?(?:number|no))?|s/n)\b["']?\s*[:=#]?\s*["']?)([A-Za-z0-9][A-Za-z0-9_-]{4,})`)
	// secretPattern matches secrets: their values are always removed, whatever Keep lists.
	secretPattern = regexp.MustCompile(`(?i)(\b(?:authorization|proxy-authorization|x-api-key|api[_-]?key|token|password|passwd|secret|cookie)\b["']?\s*[:=]\s*["']?)(?:(?:bearer|basic)\s+)?[^\s"',;&]+`)
	bearerPattern = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	keyPattern    = regexp.MustCompile(`\b(?:sk|hf|ghp|gho|glpat|nvapi|xox[abprs]|AKIA)[-_]?[A-Za-z0-9_-]{12,}`)
)

const gone = "(redacted)"

// scrubber removes the matches of the patterns and the known identities from texts.
type scrubber struct {
	*names
	known  *regexp.Regexp // nil if there are none
	lower  []string       // lower-case identities, for a quick search
	kindOf map[string]Kind
	// spelled is the first spelling of an identity, by its lower case.
	spelled map[string]string
}

// shortestIdentity is the length from which on a name is searched in texts: shorter ones are common words.
const shortestIdentity = 3

// newScrubber returns a scrubber of identities; of several with one name the first counts.
func newScrubber(n *names, known []Identity) *scrubber {
	s := &scrubber{names: n, kindOf: map[string]Kind{}, spelled: map[string]string{}}
	var all []string
	for _, id := range known {
		lower := strings.ToLower(id.Name)
		if _, twice := s.kindOf[lower]; twice || n.keep[id.Kind] || len(id.Name) < shortestIdentity || isCommonName(id.Name) {
			continue
		}
		s.kindOf[lower], s.spelled[lower] = id.Kind, id.Name
		s.lower = append(s.lower, lower)
		all = append(all, regexp.QuoteMeta(id.Name))
	}
	if len(all) > 0 {
		// Longer ones first: in spark-1.lab, spark-1.lab is found before spark-1.
		slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
		s.known = regexp.MustCompile(`(?i)` + strings.Join(all, "|"))
	}
	return s
}

// isCommonName reports whether a name identifies no machine, or is a replacement of one that does.
func isCommonName(name string) bool {
	if slices.Contains(Kinds(), Kind(strings.ToLower(name))) {
		return true
	}
	switch strings.ToLower(name) {
	case "localhost", "root", "nobody", "user", "default", "native", "unknown", "none":
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && (address.IsLoopback() || address.IsUnspecified())
}

// text returns a text without the matches of the patterns.
func (s *scrubber) text(text string) string {
	if text == "" {
		return text
	}
	for _, p := range patterns() {
		if p.mayBeIn(text) {
			text = p.what.ReplaceAllStringFunc(text, func(found string) string { return p.by(s, found) })
		}
	}
	return s.words(text)
}

// pattern is a pattern with its replacement.
type pattern struct {
	what *regexp.Regexp
	// mayBeIn is a quick check that returns false for texts without a match: most of a log.
	mayBeIn func(text string) bool
	by      func(s *scrubber, found string) string
}

// patterns are in an order: secrets first, addresses before the hosts in them.
func patterns() []pattern {
	return []pattern{
		{secretPattern, anyOf("auth", "api", "key", "token", "pass", "secret", "cookie"), func(_ *scrubber, found string) string {
			return secretPattern.ReplaceAllString(found, "${1}"+gone)
		}},
		{bearerPattern, anyOf("bearer", "basic"), func(_ *scrubber, found string) string { return bearerPattern.ReplaceAllString(found, "$1 "+gone) }},
		{keyPattern, anyOf("sk", "hf", "gh", "glpat", "nvapi", "xox", "akia"), func(*scrubber, string) string { return gone }},
		{addressPattern, anyOf("://"), (*scrubber).url},
		{mailPattern, anyOf("@"), (*scrubber).mail},
		{homePattern, anyOf("/home/", "/users/"), (*scrubber).home},
		{uuidPattern, times("-", 4), func(s *scrubber, found string) string { return s.name(KindUUID, found) }},
		{macPattern, func(text string) bool { return times(":", 5)(text) || times("-", 5)(text) }, (*scrubber).mail},
		{macNamePattern, anyOf("enx", "wlx", "wwx"), (*scrubber).mail},
		{ipv4Pattern, times(".", 3), (*scrubber).ip},
		{ipv6Pattern, times(":", 2), (*scrubber).ip},
		{hexPattern, hexRun, (*scrubber).id},
		{serialPattern, anyOf("serial", "s/n"), (*scrubber).serial},
	}
}

// anyOf returns a check for texts that have one of some lower-case words.
func anyOf(words ...string) func(string) bool {
	return func(text string) bool {
		lower := strings.ToLower(text)
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(lower, word) })
	}
}

func times(sign string, n int) func(string) bool {
	return func(text string) bool { return strings.Count(text, sign) >= n }
}

// hexRun reports whether a text has enough hexadecimal digits in a row for the id of a container.
func hexRun(text string) bool {
	run := 0
	for i := range len(text) {
		if c := text[i]; c >= '0' && c <= '9' || c >= 'a' && c <= 'f' {
			if run++; run == sha256.Size*2 {
				return true
			}
			continue
		}
		run = 0
	}
	return false
}

func (s *scrubber) mail(found string) string { return s.name(KindAddress, found) }

func (s *scrubber) home(found string) string {
	parts := homePattern.FindStringSubmatch(found)
	return parts[1] + s.name(KindUser, parts[2])
}

// id replaces the id of a container; the hash of an image or a file has a prefix and stays.
func (s *scrubber) id(found string) string {
	if strings.HasPrefix(found, "sha256:") {
		return found
	}
	return s.name(KindContainer, found)
}

func (s *scrubber) serial(found string) string {
	parts := serialPattern.FindStringSubmatch(found)
	if !strings.ContainsAny(parts[2], "0123456789") {
		return found // a plain word
	}
	return parts[1] + s.name(KindSerial, parts[2])
}

// words returns a text without the known identities.
func (s *scrubber) words(text string) string {
	if s.known == nil || !anyOf(s.lower...)(text) {
		return text
	}
	var b strings.Builder
	at := 0
	for _, found := range s.known.FindAllStringIndex(text, -1) {
		if inWord(text, found[0], found[1]) {
			continue
		}
		b.WriteString(text[at:found[0]])
		what := text[found[0]:found[1]]
		b.WriteString(s.name(s.kindOf[strings.ToLower(what)], s.asKnown(what)))
		at = found[1]
	}
	return b.String() + text[at:]
}

// asKnown returns the spelling under which an identity has its name: host names ignore case.
func (s *scrubber) asKnown(what string) string {
	if name, known := s.spelled[strings.ToLower(what)]; known {
		return name
	}
	return what
}

// inWord reports whether letters or digits go on before or after a match: it is part of another word.
func inWord(text string, from, to int) bool {
	letter := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z')
	}
	return letter(from-1) && letter(from) || letter(to) && letter(to-1)
}

// ip replaces addresses; versions and times of day can look like one.
func (s *scrubber) ip(text string) string {
	address, err := netip.ParseAddr(text)
	if err != nil || address.IsLoopback() || address.IsUnspecified() {
		return text
	}
	return s.name(KindAddress, text)
}

// url removes user, path and query, which may hold tokens, from a URL and replaces its host. Punctuation after it is of
// the sentence.
func (s *scrubber) url(text string) string {
	address := strings.TrimRight(text, ".,:;")
	after := text[len(address):]
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return gone + after
	}
	if s.keep[KindAddress] {
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		return u.String() + after
	}
	return u.Scheme + "://" + s.hostPort(u.Host) + after
}

// hostPort replaces the host; the port stays, since it distinguishes servers of one machine.
func (s *scrubber) hostPort(text string) string {
	host, port := text, ""
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		host, port = text[:i], text[i:]
	}
	bare := strings.Trim(host, "[]")
	if isCommonName(bare) || bare == "" {
		return text
	}
	if kind, known := s.kindOf[strings.ToLower(bare)]; known {
		return s.name(kind, s.asKnown(bare)) + port
	}
	return s.name(KindAddress, bare) + port
}
