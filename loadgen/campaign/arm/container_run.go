package arm

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// containerRun is a parsed "docker run" command.
type containerRun struct {
	image   string // empty if it is not found
	pulls   bool   // the tool pulls a missing image
	mounts  []mount
	command []string // in the container
}

// mount is a path of the machine in a container.
type mount struct{ from, to string }

// switches are the options of docker run and podman run that have no value.
func switches() []string {
	return []string{
		"--detach", "--disable-content-trust", "--help", "--init", "--interactive", "--no-healthcheck", "--no-hosts", "--oom-kill-disable", "--privileged",
		"--publish-all", "--quiet", "--read-only", "--replace", "--rm", "--rmi", "--rootfs", "--sig-proxy", "--tty",
	}
}

// readContainerRun reads the words after "docker run".
func readContainerRun(words []string) containerRun {
	var run containerRun
	for i := 0; i < len(words); i++ {
		word := words[i]
		if !strings.HasPrefix(word, "-") {
			run.image, run.command = word, words[i+1:]
			break
		}
		name, value, joined := strings.Cut(word, "=")
		switch {
		case slices.Contains(switches(), name):
			continue
		case joined || strings.HasPrefix(word, "--"):
		case strings.Trim(word[1:], "ditqP") == "": // one-letter switches
			continue
		case len(word) > 2: // -p8000:8000
			name, value, joined = word[:2], word[2:], true
		}
		if !joined {
			if i++; i == len(words) {
				break
			}
			value = words[i]
		}
		run.option(name, value)
	}
	return run
}

func (r *containerRun) option(name, value string) {
	switch name {
	case "--pull":
		r.pulls = value != "never"
	case "-v", "--volume":
		from, rest, two := strings.Cut(value, ":")
		to, _, _ := strings.Cut(rest, ":")
		if two && filepath.IsAbs(from) { // otherwise it is a volume of the tool
			r.mounts = append(r.mounts, mount{from, to})
		}
	case "--mount":
		var m mount
		bind := false
		for pair := range strings.SplitSeq(value, ",") {
			key, of, _ := strings.Cut(pair, "=")
			switch key {
			case "type":
				bind = of == "bind"
			case "src", "source":
				m.from = of
			case "dst", "destination", "target":
				m.to = of
			}
		}
		if bind && filepath.IsAbs(m.from) {
			r.mounts = append(r.mounts, m)
		}
	}
}

// outside returns the path on the machine for a path in the container.
func (r *containerRun) outside(inside string) (string, bool) {
	best := mount{}
	for _, m := range r.mounts {
		to := path.Clean(m.to)
		if (inside == to || strings.HasPrefix(inside, to+"/")) && len(to) > len(best.to) {
			best = mount{m.from, to}
		}
	}
	if best.to == "" {
		return "", false
	}
	return filepath.Join(best.from, strings.TrimPrefix(inside, best.to)), true
}

// modelPaths returns the absolute paths of models in a command: the values of options such as --model-path and
// --tokenizer, and the word after serve or trtllm-serve.
func modelPaths(words []string) []string {
	var paths []string
	for i, word := range words {
		name, value, joined := strings.Cut(word, "=")
		if !joined && i+1 < len(words) {
			value = words[i+1]
		}
		if ofModel(name) && strings.HasPrefix(value, "/") && !slices.Contains(paths, value) {
			paths = append(paths, path.Clean(value))
		}
	}
	return paths
}

// ofModel reports whether the word after this one is a model.
func ofModel(word string) bool {
	if strings.HasPrefix(word, "-") {
		option := strings.ToLower(word)
		return word == "-m" || slices.ContainsFunc([]string{"model", "tokenizer", "checkpoint", "weights"}, func(part string) bool { return strings.Contains(option, part) })
	}
	return word == "serve" || strings.HasSuffix(word, "-serve")
}
