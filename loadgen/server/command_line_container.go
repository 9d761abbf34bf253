package server

import (
	"path"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// containerCommand finds docker run, exec or create in a command line: the position of the tool and the position of
// that word, which is 0 if there is none. Words before the tool belong to its launcher, such as sudo.
func containerCommand(known spec.Engines, words []string) (start, at int) {
	start = slices.IndexFunc(words, func(word string) bool {
		return slices.Contains([]string{"docker", "podman", "nerdctl"}, path.Base(word))
	})
	if start < 0 || slices.ContainsFunc(words[:start], func(word string) bool { return known.OfCommand(word) != nil }) {
		return 0, 0
	}
	withValue := []string{"-c", "-H", "-l", "--context", "--config", "--host", "--connection", "--url", "--log-level", "--namespace"}
	for i := start + 1; i < len(words); i++ {
		switch word := words[i]; {
		case slices.Contains(withValue, word):
			i++
		case strings.HasPrefix(word, "-"), word == "container":
		case slices.Contains([]string{"run", "exec", "create"}, word):
			return start, i
		default:
			return 0, 0
		}
	}
	return 0, 0
}

// containerToggles are the options of docker and podman run, exec and create that take no value. For all others the
// next word is the value, so that the first word that is neither is the image or the container.
func containerToggles() []string {
	return []string{
		"-d", "--detach", "-i", "--interactive", "-t", "--tty", "--rm", "--init", "--privileged", "--read-only", "--no-healthcheck", "--oom-kill-disable",
		"-P", "--publish-all", "--sig-proxy", "-q", "--quiet", "--disable-content-trust", "--help", "--use-api-socket",
		"--replace", "--no-hosts", "--no-hostname", "--tls-verify", "--rmi", "--env-host", "--http-proxy", "--systemd", "--passwd", "-l", "--latest",
	}
}

// container reads the options of a command that runs a program in a container, and returns the remaining words: the
// image or the container, then the program.
func (l *commandLine) container(tool string, words []string) []string {
	l.option(tool, "command", words[0], spec.Option{})
	for i := 1; i < len(words); i++ {
		word := words[i]
		if letters := strings.TrimPrefix(word, "-"); len(letters) > 1 && strings.Trim(letters, "ditPq") == "" {
			for _, letter := range letters { // several in one word, as -it
				l.option(tool, "-"+string(letter), "", spec.Option{})
			}
			continue
		}
		name, value, attached := splitOption(word, nil)
		if name == "" {
			what := "image"
			if words[0] == "exec" {
				what = "container"
			}
			l.option(tool, what, word, spec.Option{})
			return words[i:]
		}
		if !attached && !slices.Contains(containerToggles(), name) && i+1 < len(words) {
			i++
			value = words[i]
		}
		if name != "-e" && name != "--env" {
			l.option(tool, name, value, spec.Option{})
			continue
		}
		variable, content, set := strings.Cut(value, "=")
		if !variablePattern.MatchString(variable) {
			l.option(tool, name, value, spec.Option{})
			continue
		}
		if !set {
			content = "\x00inherited" // a variable's value has no byte 0
		}
		l.variable(variable, content)
	}
	return nil
}
