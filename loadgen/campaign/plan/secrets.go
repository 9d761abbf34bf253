package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Hidden replaces a secret in a copy of a plan. It is a plain text of YAML.
const Hidden = "<redacted>"

// leastSecret is the length from which a text is searched for anywhere. Shorter values, such as 1 or true, are common.
const leastSecret = 8

// secretName matches names of variables, options and values that hold a secret.
var secretName = regexp.MustCompile(`(?i)auth|api_?-?key|access_?-?key|private_?-?key|(^|[_.-])key$|token$|token[_-]|secret|cookie|passw|passphrase|(^|[_-])pass$|session|credential|webhook`)

// Secrets returns the secrets that a plan holds, with the placeholders of all models and arms filled in: values of
// variables, options and values that have the name of a secret, and passwords in URLs. The longest is first.
func (p *Plan) Secrets() []string {
	var all []string
	for _, m := range p.Models {
		all = append(all, secretValues(m.Values)...)
		for _, a := range p.Arms {
			all = append(all, secretValues(a.Values)...)
			if c, err := p.Render(m.Name, a.Name, nil); err == nil { // a plan that cannot be rendered cannot run either
				all = append(all, c.Secrets()...)
			}
			all = append(all, a.Secrets()...)
		}
	}
	return longestFirst(all)
}

// Secrets returns the secrets of the cell.
func (c *Cell) Secrets() []string {
	all := append(secretValues(c.Values), c.Arm.Secrets()...)
	for _, command := range c.Commands() {
		all = append(all, secretWords(command.Argv)...)
	}
	for _, flags := range append([]map[string]string{c.Flags}, scenarioFlags(c.Scenarios)...) {
		all = append(all, secretValues(flags)...)
		for _, header := range Lines(flags["header"]) {
			name, value, _ := strings.Cut(header, ":")
			all = append(all, secretValues(map[string]string{name: strings.TrimSpace(value)})...)
		}
	}
	return longestFirst(all)
}

func scenarioFlags(scenarios []Scenario) []map[string]string {
	var all []map[string]string
	for _, s := range scenarios {
		all = append(all, s.Run)
		if s.Record != nil {
			all = append(all, s.Record.Flags)
		}
	}
	return all
}

// Secrets returns the secrets of the arm's processes.
func (a Arm) Secrets() []string {
	var all []string
	for _, p := range a.Processes {
		all = append(all, secretValues(p.Env)...)
		all = append(all, secretWords(p.Argv)...)
		all = append(all, secretWords(p.Stop.Argv)...)
		for _, probe := range []*Probe{p.Ready, p.Alive} {
			if probe != nil {
				all = append(append(all, secretWords(probe.Argv)...), password(probe.URL)...)
			}
		}
	}
	return longestFirst(all)
}

// secretValues returns the values whose names are those of secrets, each also without the scheme before it, and
// passwords in the others.
func secretValues(values map[string]string) []string {
	var all []string
	for name, value := range values {
		if !secretName.MatchString(name) {
			all = append(all, password(value)...)
			continue
		}
		all = append(all, value)
		if words := strings.Fields(value); len(words) > 1 {
			all = append(all, words[len(words)-1])
		}
	}
	return all
}

// secretWords returns the secrets of a command: values of options (--api-key KEY), of variables (-e NAME=VALUE) and of
// headers (--header NAME:VALUE).
func secretWords(argv []string) []string {
	var all []string
	for i, word := range argv {
		all = append(all, password(word)...)
		option := strings.HasPrefix(word, "-")
		name, value, joined := assignment(word)
		if !joined && option && i+1 < len(argv) {
			name, value, joined = word, argv[i+1], !strings.HasPrefix(argv[i+1], "-")
		}
		if !joined {
			continue
		}
		all = append(all, secretValues(map[string]string{strings.TrimLeft(name, "-"): value})...)
		if inner, of, is := assignment(value); is && option {
			all = append(all, secretValues(map[string]string{inner: of})...)
		}
	}
	return all
}

// assignment splits NAME=VALUE and NAME:VALUE.
func assignment(word string) (name, value string, is bool) {
	at := strings.IndexAny(word, "=:")
	if at <= 0 || strings.HasPrefix(word[at:], "://") || strings.ContainsAny(word[:at], " /") {
		return "", "", false
	}
	return word[:at], strings.TrimSpace(word[at+1:]), true
}

// password returns the password in a URL.
func password(text string) []string {
	_, rest, is := strings.Cut(text, "://")
	if !is || !strings.Contains(rest, "@") {
		return nil
	}
	if u, err := url.Parse(text); err == nil {
		if secret, set := u.User.Password(); set {
			return []string{secret}
		}
	}
	return nil
}

// longestFirst sorts texts and removes those that are no secrets: short ones, placeholders, paths of files and numbers.
func longestFirst(all []string) []string {
	all = slices.DeleteFunc(all, func(s string) bool {
		return len(s) < leastSecret || strings.Contains(s, "{{") || strings.HasPrefix(s, "/") || strings.Trim(s, "0123456789.") == ""
	})
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(all)
}

// Hide returns the text of a plan without the secrets. The copy can be read as a plan.
func Hide(text []byte, secrets []string) []byte {
	hidden := text
	for _, secret := range secrets {
		for _, form := range written(secret) {
			hidden = bytes.ReplaceAll(hidden, []byte(form), []byte(Hidden))
		}
	}
	root, err := document(hidden)
	if err == nil && !conceal(root, secrets) {
		return hidden
	}
	// A secret is written in a form of its own, such as over several lines: the copy has the same content, without
	// comments.
	if root, err = document(text); err != nil {
		return []byte("# not copied: the text is no YAML\n")
	}
	conceal(root, secrets)
	if hidden, err = yaml.Dump(root); err != nil {
		return []byte("# not copied: " + err.Error() + "\n")
	}
	return hidden
}

// written returns how a text may stand in YAML: as it is, or between quotes of either kind.
func written(secret string) []string {
	forms := []string{secret, strings.ReplaceAll(secret, "'", "''")}
	if quoted, err := json.Marshal(secret); err == nil {
		forms = append(forms, strings.Trim(string(quoted), `"`))
	}
	return forms
}

// short reports whether a value is a text that is too short to be searched for, and may be a secret by its name.
func short(value *yaml.Node) bool {
	text := value.Value
	return value.Kind == yaml.ScalarNode && value.ShortTag() == "!!str" && text != "" && text != Hidden && len(text) < leastSecret && !strings.Contains(text, "{{")
}

// conceal replaces secrets in all texts below a node, and reports whether there were any.
func conceal(node *yaml.Node, secrets []string) (found bool) {
	node.HeadComment, node.LineComment, node.FootComment = "", "", ""
	if node.Kind == yaml.ScalarNode {
		for _, secret := range secrets {
			if strings.Contains(node.Value, secret) {
				node.Value, node.Style, found = strings.ReplaceAll(node.Value, secret, Hidden), yaml.DoubleQuotedStyle, true
			}
		}
	}
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if name, value := node.Content[i], node.Content[i+1]; secretName.MatchString(name.Value) && short(value) {
			value.Value, value.Style, found = Hidden, yaml.DoubleQuotedStyle, true
		}
	}
	for _, child := range node.Content {
		found = conceal(child, secrets) || found
	}
	return found
}
