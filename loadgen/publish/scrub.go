package publish

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Patterns of what a text may hold that says whose machine it was, or opens a door. They stand beside the
// rules by member: a warning or the name of a model may have any of them.
var (
	addressPattern = regexp.MustCompile(`\b[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>)\]]+`)
	mailPattern    = regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+`)
	homePattern    = regexp.MustCompile(`(/(?:home|Users|var/home)/)([^/\s"':,;]+)`)
	uuidPattern    = regexp.MustCompile(`(?i)\b(?:(?:GPU|MIG)-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	macPattern     = regexp.MustCompile(`(?i)\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}\b`)
	ipv4Pattern    = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)
	ipv6Pattern    = regexp.MustCompile(`(?i)[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,}(?:%[a-z0-9]+)?`)
	hexPattern     = regexp.MustCompile(`(?:sha256:)?\b[0-9a-f]{64}\b`)
	serialPattern  = regexp.MustCompile(`(?i)(\b(?:serial(?:[ _-]?(?:number|no))?|s/n)\b["']?\s*[:=#]?\s*["']?)([A-Za-z0-9][A-Za-z0-9_-]{4,})`)
	// secretPattern is of what opens doors: its value is gone, whatever is kept.
	secretPattern = regexp.MustCompile(`(?i)(\b(?:authorization|proxy-authorization|x-api-key|api[_-]?key|token|password|passwd|secret|cookie)\b["']?\s*[:=]\s*["']?)(?:(?:bearer|basic)\s+)?[^\s"',;&]+`)
	bearerPattern = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	keyPattern    = regexp.MustCompile(`\b(?:sk|hf|ghp|gho|glpat|nvapi|xox[abprs]|AKIA)[-_]?[A-Za-z0-9_-]{12,}`)
)

const gone = "(redacted)"

// scrubber takes out of texts what the patterns find, and the identities that are known.
type scrubber struct {
	*names
	known    *regexp.Regexp // nil if there are none
	kindOf   map[string]Kind
	shortest int
}

// shortestIdentity is the length from which on a name is looked for in texts: shorter ones are words.
const shortestIdentity = 3

// newScrubber knows identities; of several of one name the first counts.
func newScrubber(n *names, known []Identity) *scrubber {
	s := &scrubber{names: n, kindOf: map[string]Kind{}}
	var all []string
	for _, id := range known {
		lower := strings.ToLower(id.Name)
		if _, twice := s.kindOf[lower]; twice || n.keep[id.Kind] || len(id.Name) < shortestIdentity || everybodys(id.Name) {
			continue
		}
		s.kindOf[lower] = id.Kind
		all = append(all, regexp.QuoteMeta(id.Name))
	}
	if len(all) > 0 {
		// Longer ones first: of spark-1 and spark-1.lab the whole is one identity.
		slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
		s.known = regexp.MustCompile(`(?i)` + strings.Join(all, "|"))
	}
	return s
}

// everybodys are names that say nothing, or that stand for those that do.
func everybodys(name string) bool {
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

// text is a text without what the patterns find.
func (s *scrubber) text(text string) string {
	if text == "" {
		return text
	}
	text = secretPattern.ReplaceAllString(text, "${1}"+gone)
	text = bearerPattern.ReplaceAllString(text, "$1 "+gone)
	text = keyPattern.ReplaceAllString(text, gone)
	text = addressPattern.ReplaceAllStringFunc(text, s.url)
	text = mailPattern.ReplaceAllStringFunc(text, s.one(KindAddress))
	text = homePattern.ReplaceAllStringFunc(text, func(home string) string {
		parts := homePattern.FindStringSubmatch(home)
		return parts[1] + s.name(KindUser, parts[2])
	})
	text = uuidPattern.ReplaceAllStringFunc(text, s.one(KindUUID))
	text = macPattern.ReplaceAllStringFunc(text, s.one(KindAddress))
	text = ipv4Pattern.ReplaceAllStringFunc(text, s.ip)
	text = ipv6Pattern.ReplaceAllStringFunc(text, s.ip)
	text = hexPattern.ReplaceAllStringFunc(text, func(id string) string {
		if strings.HasPrefix(id, "sha256:") {
			return id // a sum, of an image or a file
		}
		return s.name(KindContainer, id)
	})
	text = serialPattern.ReplaceAllStringFunc(text, func(serial string) string {
		parts := serialPattern.FindStringSubmatch(serial)
		if !strings.ContainsAny(parts[2], "0123456789") {
			return serial // a word
		}
		return parts[1] + s.name(KindSerial, parts[2])
	})
	return s.words(text)
}

// words is a text without the identities that are known.
func (s *scrubber) words(text string) string {
	if s.known == nil {
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

// asKnown is the spelling under which an identity has its name: host names are told apart by no case.
func (s *scrubber) asKnown(what string) string {
	for name := range s.given[s.kindOf[strings.ToLower(what)]] {
		if strings.EqualFold(name, what) {
			return name
		}
	}
	return what
}

// inWord says whether letters or digits go on before or after: those of another word.
func inWord(text string, from, to int) bool {
	letter := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z')
	}
	return letter(from-1) && letter(from) || letter(to) && letter(to-1)
}

func (s *scrubber) one(kind Kind) func(string) string {
	return func(what string) string { return s.name(kind, what) }
}

// ip replaces what is an address; versions and times of day look like some.
func (s *scrubber) ip(text string) string {
	address, err := netip.ParseAddr(text)
	if err != nil || address.IsLoopback() || address.IsUnspecified() {
		return text
	}
	return s.name(KindAddress, text)
}

// url is an address without user, path and query, which may hold tokens, and with another name for its host.
func (s *scrubber) url(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return gone
	}
	if s.keep[KindAddress] {
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		return u.String()
	}
	return u.Scheme + "://" + s.hostPort(u.Host)
}

// hostPort names the host; the port is what distinguishes servers of one machine.
func (s *scrubber) hostPort(text string) string {
	host, port := text, ""
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		host, port = text[:i], text[i:]
	}
	bare := strings.Trim(host, "[]")
	if everybodys(bare) || bare == "" {
		return text
	}
	if kind, known := s.kindOf[strings.ToLower(bare)]; known {
		return s.name(kind, s.asKnown(bare)) + port
	}
	return s.name(KindAddress, bare) + port
}
