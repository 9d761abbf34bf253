package engine

import (
	"path"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// ServedPorts returns the TCP ports at which a process serves HTTP, by its arguments and the variables of its
// environment; none for a program that is not known. A process of an engine has a dozen other sockets, of ZMQ, NCCL or
// Gloo, which a connection can break.
func ServedPorts(engines spec.Engines, arguments []string, environ map[string]string) []uint16 {
	var ports []uint16
	command, rest := startedProgram(engines, arguments)
	for _, e := range engines {
		for _, p := range e.Programs {
			if p.Command != command || p.Verb != "" && (len(rest) == 0 || rest[0] != p.Verb) {
				continue
			}
			if port, known := servedPort(p, rest, environ); known {
				ports = append(ports, port)
			}
		}
	}
	for _, e := range engines {
		if e.Ports != nil {
			ports = append(ports, e.Ports(command, environ)...)
		}
	}
	return ports
}

// servedPort is the port by the last flag, else by the variable, else the default. It is not known where a flag or the
// variable is no port.
func servedPort(p spec.Program, arguments []string, environ map[string]string) (uint16, bool) {
	if text, given := flagValue(arguments, p.Flag); given {
		return parsePort(text)
	}
	text := environ[p.Variable]
	switch {
	case text == "":
		return p.Port, true
	case p.ParsePort != nil:
		return p.ParsePort(text, p.Port)
	}
	return parsePort(text)
}

// startedProgram returns what runs in a process, and its arguments: the base name of a file, or the name of a Python
// module, also where Python was given the file of the module.
func startedProgram(engines spec.Engines, arguments []string) (command string, rest []string) {
	if len(arguments) == 0 {
		return "", nil
	}
	command, rest = path.Base(arguments[0]), arguments[1:]
	if !isPython(command) {
		return command, rest
	}
	for len(rest) > 0 {
		word := rest[0]
		rest = rest[1:]
		switch {
		case word == "-m" && len(rest) > 0:
			return rest[0], rest[1:]
		case (word == "-X" || word == "-W") && len(rest) > 0: // options with a value
			rest = rest[1:]
		case strings.HasPrefix(word, "-"):
			if word == "-c" || word == "-m" || word == "-" {
				return "", nil
			}
		default:
			return scriptProgram(engines, word), rest
		}
	}
	return "", nil
}

// isPython reports whether a file name is one of a Python interpreter: python, python3, python3.12.
func isPython(name string) bool {
	version, is := strings.CutPrefix(name, "python")
	return is && strings.Trim(version, ".0123456789") == ""
}

// scriptProgram is the name of the program in a file that Python runs.
func scriptProgram(engines spec.Engines, file string) string {
	module, is := strings.CutSuffix(file, ".py")
	if !is {
		return path.Base(file)
	}
	module = strings.ReplaceAll(strings.TrimSuffix(module, "/__main__"), "/", ".")
	for _, e := range engines {
		for _, p := range e.Programs {
			if strings.HasSuffix(module, "."+p.Command) && strings.Contains(p.Command, ".") {
				return p.Command
			}
		}
	}
	return ""
}

// flagValue is the value of the last such flag, in the forms "--port 8000" and "--port=8000", also with one dash, as programs with
// gflags take it.
func flagValue(arguments []string, flag string) (value string, given bool) {
	if flag == "" {
		return "", false
	}
	for i, word := range arguments {
		if strings.HasPrefix(flag, "--") && strings.HasPrefix(word, flag[1:]) {
			word = "-" + word
		}
		if joined, is := strings.CutPrefix(word, flag+"="); is {
			value, given = joined, true
		} else if word == flag && i+1 < len(arguments) {
			value, given = arguments[i+1], true
		}
	}
	return value, given
}

func parsePort(text string) (uint16, bool) {
	port, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
	return uint16(port), err == nil && port > 0
}
