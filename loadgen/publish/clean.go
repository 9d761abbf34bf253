package publish

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// cleaner removes identities and other private contents from the files of runs.
type cleaner struct {
	*scrubber
	runs  map[string]string // replacement names of runs, by original name
	taken map[string]bool
}

func newCleaner(keep []Kind, known []Identity) *cleaner {
	return &cleaner{newScrubber(newNames(keep), known), map[string]string{}, map[string]bool{}}
}

// run returns the name of a run without its identities; two different runs stay different.
func (c *cleaner) run(id string) string {
	if id == "" {
		return id
	}
	name, known := c.runs[id]
	if known {
		return name
	}
	name = plainName(c.text(id))
	for i := 2; c.taken[name]; i++ {
		name = fmt.Sprintf("%s-%d", plainName(c.text(id)), i)
	}
	c.runs[id], c.taken[name] = name, true
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

// identity returns the replacement of a value that identifies a machine or its owner. A path or an identity that
// already has a name by another kind keeps that name, so that equal values stay recognizable.
func (c *cleaner) identity(kind Kind, v string) string {
	if known, ok := c.kindOf[strings.ToLower(v)]; ok {
		return c.name(known, c.asKnown(v))
	}
	if v == "/" || isCommonName(v) {
		return v
	}
	if c.keep[kind] {
		return c.text(v)
	}
	return c.name(kind, v)
}

// address replaces the host of a URL, or of HOST:PORT/PATH, the name of a source.
func (c *cleaner) address(v string) string {
	switch {
	case v == "" || strings.HasPrefix(v, "/"):
		return c.identity(KindPath, v)
	case strings.Contains(v, "://"):
		return c.url(v)
	case c.keep[KindAddress]:
		return c.text(v)
	}
	host, _, _ := strings.Cut(v, "/")
	return c.hostPort(host)
}

// image returns the name of a container image without its registry.
func (c *cleaner) image(v string) string {
	parts := imagePattern.FindStringSubmatch(v)
	if parts == nil || c.keep[KindImage] || sumPattern.MatchString(v) {
		return sum(c, "", v)
	}
	if parts[1] == "" {
		return c.text(v)
	}
	return c.name(KindAddress, parts[1]) + "/" + c.text(parts[2])
}

// clean applies the rules to a value of a JSON file.
func (c *cleaner) clean(t *table, key string, value any, inherited *rule) (any, bool) {
	if t == nil {
		t = &table{}
	}
	here := inherited
	if t.rule != nil {
		here = t.rule
	}
	if t.rule != nil && t.rule.all != nil {
		kept := t.rule.all(c, key, value)
		return kept, kept != nil || value == nil
	}
	switch v := value.(type) {
	case map[string]any:
		return c.object(t, v, here), len(t.children) > 0 || here != nil
	case []any:
		kept := make([]any, 0, len(v))
		for _, element := range v {
			if clean, ok := c.clean(t, key, element, inherited); ok {
				kept = append(kept, clean)
			}
		}
		return kept, t.rule != nil || len(t.children) > 0 || here != nil
	case string:
		if t.rule == nil || t.rule.text == nil {
			return nil, false
		}
		clean := t.rule.text(c, key, v)
		return clean, clean != "" || v == ""
	default:
		return v, here != nil && here.figures || t.rule != nil
	}
}

func (c *cleaner) object(t *table, members map[string]any, here *rule) map[string]any {
	kept := make(map[string]any, len(members))
	if here != nil && !here.figures {
		here = nil
	}
	// In the order of names, so that the numbers of replacements do not vary.
	for _, key := range slices.Sorted(maps.Keys(members)) {
		value := members[key]
		child, named := t.children[key]
		if !named {
			child = t.children["*"]
		}
		clean, ok := c.clean(child, key, value, here)
		if !ok {
			continue
		}
		if !named {
			key = c.text(key)
		}
		kept[key] = clean
	}
	return kept
}

// foreign keeps the figures of JSON that another program wrote, and replaces its texts so that equal ones stay equal.
func (c *cleaner) foreign(_ string, value any) any { return replaced(value, c.text, c.anything) }

// setting cleans the settings of a container: the words of the engine stay, except identities; paths are replaced.
func (c *cleaner) setting(_ string, value any) any {
	text := func(v string) string {
		if strings.ContainsRune(v, '/') {
			return c.identity(KindPath, v)
		}
		return c.text(v)
	}
	return replaced(value, text, text)
}

// replaced returns a JSON value with other keys and texts.
func replaced(value any, key, text func(string) string) any {
	switch v := value.(type) {
	case map[string]any:
		kept := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			shown := key(name)
			kept[shown] = replaced(v[name], key, text)
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, element := range v {
			kept[i] = replaced(element, key, text)
		}
		return kept
	case string:
		return text(v)
	default:
		return v
	}
}

// anything keeps a plain figure and replaces any other text, which may be an identity.
func (c *cleaner) anything(v string) string {
	if plainFigure.MatchString(v) {
		return v
	}
	return c.identity(KindValue, v)
}

// json writes a JSON file after its rules.
func (c *cleaner) json(from io.Reader, to io.Writer, t *table) error {
	return c.encode(from, to, t, "  ")
}

// line cleans a line of a file of lines.
func (c *cleaner) line(text []byte, t *table) ([]byte, error) {
	var out bytes.Buffer
	err := c.encode(bytes.NewReader(text), &out, t, "")
	return out.Bytes(), err
}

func (c *cleaner) encode(from io.Reader, to io.Writer, t *table, indent string) error {
	decoder := json.NewDecoder(from)
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	clean, _ := c.clean(t, "", value, nil)
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(clean)
}
