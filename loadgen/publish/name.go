// Package publish makes a pack of runs: a folder for static hosting with the runs themselves, the tables and charts of
// their results, the methodology, and a hash of every file.
//
// A pack is public. It has the numbers of the files of a run, and the texts whose fields have the tag `pack`; all other
// texts never go in. Everything shown about the runs is computed from the files in the pack, and so cannot show more than
// they do.
package publish

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// kind is a kind of name. A name that does not go in is replaced by its kind and a number; equal names stay equal.
type kind string

// The kinds, which are also values of the tag `pack`: such a text is always replaced.
const (
	kindHost         kind = "host"
	kindUser         kind = "user"
	kindPath         kind = "path"
	kindUUID         kind = "uuid"
	kindSerial       kind = "serial"
	kindBoot         kind = "boot"
	kindContainer    kind = "container"
	kindImage        kind = "image"
	kindCgroup       kind = "cgroup"
	kindConversation kind = "conversation"
	kindValue        kind = "value" // of a flag, a label or a setting that may hold anything
)

// names replaces the names that do not go into a pack, in all its files alike.
type names struct {
	given map[string]string // replacements by name, in lower case: host names ignore case
	count map[kind]int
	runs  map[string]string // names of runs in the pack
	taken map[string]bool   // the same names
	known []string          // names of machines, people and containers, in lower case
	found *regexp.Regexp    // matches the known names; nil without any
	// shown are the labels of runs that show their values, vocabulary the labels of series of which umascope has definitions.
	shown, vocabulary map[string]bool
	// harmless are parts of texts that are the same on every machine, and would otherwise look private.
	harmless *strings.Replacer
}

func newNames(shown []string) *names {
	n := &names{
		given: map[string]string{}, count: map[kind]int{}, runs: map[string]string{}, taken: map[string]bool{},
		shown: map[string]bool{}, vocabulary: vocabulary(),
		harmless: strings.NewReplacer("http://127.0.0.1", "", "127.0.0.1", "", "/metrics", "", "/dev/", ""),
	}
	for _, label := range shown {
		n.shown[label] = true
	}
	return n
}

// name returns the replacement of a name; "" for an empty one. Names that every machine has stay.
func (n *names) name(k kind, what string) string {
	if what == "" || isCommon(what) {
		return what
	}
	key := strings.ToLower(what)
	if n.given[key] == "" {
		n.count[k]++
		n.given[key] = fmt.Sprintf("%s-%d", k, n.count[k])
	}
	return n.given[key]
}

func isCommon(name string) bool {
	if name == "localhost" || name == "root" || name == "/" {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && (address.IsLoopback() || address.IsUnspecified())
}

// know makes word replace a name wherever it is a word of a text.
func (n *names) know(k kind, what string) {
	const shortest = 3 // shorter names are parts of ordinary texts
	key := strings.ToLower(what)
	if len(what) < shortest || strings.Contains(what, " ") || isCommon(what) || n.given[key] != "" || key == string(k) {
		return
	}
	n.name(k, what)
	n.known = append(n.known, regexp.QuoteMeta(key))
	slices.SortStableFunc(n.known, func(a, b string) int { return len(b) - len(a) }) // spark-1.lab before spark-1
	n.found = regexp.MustCompile(`(?i)(^|[^a-z0-9])(` + strings.Join(n.known, "|") + `)([^a-z0-9]|$)`)
}

// private matches what no text on the list has: absolute paths, URLs, accounts, UUIDs, addresses, hashes and keys.
var private = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])/|//|[@\\~]|::|(?:[0-9a-f]{2}[:-]){5}|(?:\d{1,3}\.){3}\d|[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{32}|(?:en|wl|ww)x[0-9a-f]{12}` +
	`|\b(?:sk|hf|ghp|gho|glpat|nvapi|xox[abprs]|AKIA)[-_]?[a-z0-9_-]{12}|\b(?:bearer|basic)\s|(?:key|token|secret|passw(?:or)?d|auth(?:orization)?|cookie|serial(?:[ _]?(?:no|number))?|s/n)["']?\s*[:=]`)

// without returns a text with the known names replaced.
func (n *names) without(text string) string {
	for pass := 0; pass < 2 && n.found != nil; pass++ { // names that follow each other share what is between them
		text = n.found.ReplaceAllStringFunc(text, func(found string) string {
			parts := n.found.FindStringSubmatch(found)
			return parts[1] + n.given[strings.ToLower(parts[2])] + parts[3]
		})
	}
	return text
}

// word returns a text without the known names. A text with anything private is replaced as a whole.
func (n *names) word(k kind, text string) string {
	plain := n.without(text)
	if private.MatchString(n.harmless.Replace(plain)) || strings.ContainsFunc(plain, unicode.IsControl) {
		return n.name(k, text)
	}
	return plain
}

// series returns the name of a series with its labels, as a key of figures.
func (n *names) series(key string) string {
	return n.word(kindValue, labelPattern.ReplaceAllStringFunc(key, func(pair string) string {
		label, value, _ := strings.Cut(pair, "=")
		plain, err := strconv.Unquote(value)
		if err != nil {
			plain = value
		}
		return label + "=" + strconv.Quote(n.seriesLabel(label, plain))
	}))
}

var labelPattern = regexp.MustCompile(`[A-Za-z0-9_]+="(?:[^"\\]|\\.)*"`)

var (
	sumPattern     = regexp.MustCompile(`^(?:sha256:)?[0-9a-f]{8,128}$`)
	versionPattern = regexp.MustCompile(`^v?[0-9]+(?:\.[0-9]+)+(?:[-+._]?[0-9A-Za-z]+)*$`)
	plainFigure    = regexp.MustCompile(`^(?:true|false|inf|(?:-?[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h|%)?)+)$`)
	letters        = regexp.MustCompile(`^[a-z]*$`)
	namePattern    = regexp.MustCompile(`^[A-Za-z0-9_.-]{0,64}$`)
)

// matching returns a text that has a form, such as a hash, and replaces any other.
func (n *names) matching(form *regexp.Regexp, text string) string {
	if form.MatchString(text) {
		return n.without(text)
	}
	return n.word(kindValue, text)
}

// only returns a text that has a form, and replaces any other as a whole.
func (n *names) only(form *regexp.Regexp, text string) string {
	if !form.MatchString(text) {
		return n.name(kindValue, text)
	}
	return n.without(text)
}

// url returns the scheme, the port and the replaced host of a URL, or of HOST:PORT/PATH, which names a source.
func (n *names) url(text string) string {
	scheme, rest, has := strings.Cut(text, "://")
	if has {
		scheme = n.only(letters, scheme) + "://"
	} else {
		scheme, rest = "", text
	}
	host, port := hostPort(rest)
	if host == "" {
		return n.name(kindPath, text)
	}
	if host = n.name(kindHost, host); strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if strings.HasSuffix(rest, "/metrics") { // names of sources have the path
		port += "/metrics"
	}
	return scheme + host + port
}

// hostPort returns the host of a URL without its scheme, and its port with the colon.
func hostPort(text string) (host, port string) {
	host = text[:strings.IndexAny(text+"/", "/?#")]
	host = host[strings.LastIndexByte(host, '@')+1:]
	if bare, number, err := net.SplitHostPort(host); err == nil && plainFigure.MatchString(number) {
		return bare, ":" + number
	}
	return strings.Trim(host, "[]"), ""
}

// image returns the name of a container image with its registry replaced.
func (n *names) image(text string) string {
	if sumPattern.MatchString(text) {
		return n.without(text)
	}
	text, digest, has := strings.Cut(text, "@sha256:")
	registry, rest, _ := strings.Cut(text, "/")
	if rest != "" && strings.ContainsAny(registry, ".:") && !strings.Contains(registry, " ") {
		host, port := hostPort(registry)
		text = n.name(kindHost, host) + port + "/" + n.word(kindImage, rest)
	} else {
		text = n.word(kindImage, text)
	}
	if has {
		text += "@" + n.matching(sumPattern, "sha256:"+digest)
	}
	return text
}

// run returns the name of a run in the pack, which is a folder's; two different runs stay different.
func (n *names) run(id string) string {
	if id == "" || n.runs[id] != "" {
		return n.runs[id]
	}
	base := n.without(plainName(n.word("private-run", id))) // as a folder's name, a text may become a known name
	name := base
	for i := 2; n.taken[name]; i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	n.runs[id], n.taken[name] = name, true
	return name
}

// plainName returns a text as a folder name: of letters, digits, ., _ and -, at most 120 bytes.
func plainName(text string) string {
	name := strings.TrimLeft(regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(text, "-"), ".")
	if name == "" {
		return "run"
	}
	return name[:min(len(name), 120)]
}
