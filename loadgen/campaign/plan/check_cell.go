package plan

import (
	"errors"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/umascope/umascope/cmd/terminal"
)

// checkCell checks the filled-in texts of a cell. path is the path of its arm.
func (p *Plan) checkCell(path string, c *Cell) error {
	for i, f := range c.Arm.Files {
		if f.Path == "" {
			return p.errorAt(item(path+".files", i)+".path", "becomes nothing")
		}
	}
	for i, one := range c.Arm.Processes {
		if err := p.checkRendered(item(path+".processes", i), one); err != nil {
			return err
		}
	}
	for _, command := range c.Commands() {
		if err := p.checkArgv(command.Key+".argv", command.Argv); err != nil {
			return err
		}
	}
	for _, list := range []struct {
		path  string
		pages []string
	}{{"telemetry", c.Telemetry}, {"scrape", c.Scrape}} {
		if err := p.checkPages(list.path, list.pages); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) checkRendered(path string, one Process) error {
	if err := p.checkArgv(path+".argv", one.Argv); err != nil {
		return err
	}
	for _, name := range sortedKeys(one.Env) {
		if strings.ContainsRune(one.Env[name], 0) {
			return p.errorAt(path+".env."+name, "has a byte 0, which no variable can")
		}
	}
	for _, word := range []struct{ key, text string }{{"container", one.Container}, {"host", one.Host}} {
		// docker and ssh would read it as an option, or as several words.
		if word.text != "" && !regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@:-]*$`).MatchString(word.text) {
			return p.errorAt(path+"."+word.key, "%q is no name", word.text)
		}
	}
	for _, probe := range []struct {
		key string
		*Probe
	}{{"ready", one.Ready}, {"alive", one.Alive}} {
		if probe.Probe == nil {
			continue
		}
		if p.given(path + "." + probe.key + ".url") {
			if err := address(probe.URL); err != nil {
				return p.errorAt(path+"."+probe.key+".url", "%q: %w", probe.URL, err)
			}
		}
		if p.given(path + "." + probe.key + ".argv") {
			if err := p.checkArgv(path+"."+probe.key+".argv", probe.Argv); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Plan) checkArgv(path string, argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return p.errorAt(path, "becomes a command without a first word")
	}
	if i := slices.IndexFunc(argv, func(word string) bool { return strings.ContainsRune(word, 0) }); i >= 0 {
		return p.errorAt(item(path, i), "has a byte 0, which no argument can")
	}
	return nil
}

// checkPages checks pages that are given as NAME=URL.
func (p *Plan) checkPages(path string, pages []string) error {
	for _, page := range pages {
		_, text, err := terminal.Pair(page, "=", terminal.PlainName)
		if err == nil {
			err = address(text)
		}
		if err != nil {
			return p.errorAt(path, "%q: %w", page, err)
		}
	}
	return nil
}

// address returns why a text is not the URL of a server.
func address(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("want a URL such as http://127.0.0.1:8000/v1/models")
	}
	if u.User != nil {
		return errors.New("a URL with user info would be recorded")
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
