package engine

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// EnvironVariables are the environment variables that move the port of a server program.
const (
	variableKVBMPort   = "DYN_KVBM_METRICS_PORT"
	variableSystemPort = "DYN_SYSTEM_PORT"
	variableHTTPPort   = "DYN_HTTP_PORT"
	variableOllama     = "OLLAMA_HOST"
	variableLlamaPort  = "LLAMA_ARG_PORT"
)

// kvbmSizes are the variables that turn on a tier of KVBM.
var kvbmSizes = []string{"DYN_KVBM_CPU_CACHE_GB", "DYN_KVBM_DISK_CACHE_GB"}

// kvbmPort is the default port of KVBM's page (kvbm 1.4.2).
const kvbmPort = 6880

// program is a server program: how it is started, and where it serves HTTP.
type program struct {
	// command is its file name or its Python module, and verb its first argument, "" if it has none.
	command, verb string
	// flag and variable set the port, in this order of precedence; "" where there is none.
	flag, variable string
	// port is the documented default.
	port uint16
}

// programs are the server programs of engines that are asked without a flag. Flags and defaults are those of vLLM
// 0.32.0, SGLang 0.5.15, TensorRT-LLM 1.0, llama.cpp b6000, Ollama 0.6.8, Dynamo 1.6.1 and LMCache 0.5.6.
func programs() []program {
	return []program{
		{"vllm", "serve", "--port", "", 8000},
		{"vllm.entrypoints.cli.main", "serve", "--port", "", 8000},
		{"vllm.entrypoints.openai.api_server", "", "--port", "", 8000},
		{"sglang.launch_server", "", "--port", "", 30000},
		{"sglang", "serve", "--port", "", 30000},
		{"trtllm-serve", "", "--port", "", 8000},
		{"tensorrt_llm.commands.serve", "", "--port", "", 8000},
		{"llama-server", "", "--port", variableLlamaPort, 8080},
		{"ollama", "serve", "", variableOllama, 11434},
		{"ollama", "start", "", variableOllama, 11434},
		{"dynamo.frontend", "", "--http-port", variableHTTPPort, 8000},
		{"lmcache", "server", "--http-port", "", 8080},
	}
}

// ServedPorts returns the TCP ports at which a process serves HTTP, by its arguments and the variables of its
// environment; none for a program that is not known. A process of an engine has a dozen other sockets, of ZMQ, NCCL or
// Gloo, which a connection can break: a block manager of Dynamo (kvbm 1.4.2) stops working after one GET to its ZMQ
// socket.
func ServedPorts(arguments []string, environ map[string]string) []uint16 {
	var ports []uint16
	command, rest := startedProgram(arguments)
	for _, p := range programs() {
		if p.command != command || p.verb != "" && (len(rest) == 0 || rest[0] != p.verb) {
			continue
		}
		if port, known := p.servedPort(rest, environ); known {
			ports = append(ports, port)
		}
	}
	if strings.HasPrefix(command, "dynamo.") {
		if port, given := parsePort(environ[variableSystemPort]); given {
			ports = append(ports, port)
		}
	}
	if port, given := kvbmPagePort(environ); given {
		ports = append(ports, port)
	}
	return ports
}

// kvbmPagePort is the port of KVBM's page, in whose process there is no server program: the engine loads it.
func kvbmPagePort(environ map[string]string) (uint16, bool) {
	on := slices.ContainsFunc(kvbmSizes, func(name string) bool { return environ[name] != "" })
	if text, given := environ[variableKVBMPort]; given {
		return parsePort(text)
	}
	return kvbmPort, on
}

// servedPort is the port by the last flag, else by the variable, else the default. It is not known where a flag or the
// variable is no port.
func (p program) servedPort(arguments []string, environ map[string]string) (uint16, bool) {
	if text, given := flagValue(arguments, p.flag); given {
		return parsePort(text)
	}
	text := environ[p.variable]
	switch {
	case text == "":
		return p.port, true
	case p.variable == variableOllama:
		return ollamaPort(text, p.port)
	}
	return parsePort(text)
}

// startedProgram returns what runs in a process, and its arguments: the base name of a file, or the name of a Python
// module, also where Python was given the file of the module.
func startedProgram(arguments []string) (command string, rest []string) {
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
			return scriptProgram(word), rest
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
func scriptProgram(file string) string {
	module, is := strings.CutSuffix(file, ".py")
	if !is {
		return path.Base(file)
	}
	module = strings.ReplaceAll(strings.TrimSuffix(module, "/__main__"), "/", ".")
	for _, p := range programs() {
		if strings.HasSuffix(module, "."+p.command) && strings.Contains(p.command, ".") {
			return p.command
		}
	}
	return ""
}

// flagValue is the value of the last such flag, in the forms "--port 8000" and "--port=8000".
func flagValue(arguments []string, flag string) (value string, given bool) {
	if flag == "" {
		return "", false
	}
	for i, word := range arguments {
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

// ollamaPort reads the port of OLLAMA_HOST: a host, host:port or a URL, whose scheme then gives the default
// (envconfig/config.go of Ollama 0.6.8). Ollama takes its default for a port that is none.
func ollamaPort(text string, usual uint16) (uint16, bool) {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	scheme, host, is := strings.Cut(text, "://")
	switch {
	case !is:
		host = text
	case scheme == "http":
		usual = 80
	case scheme == "https":
		usual = 443
	}
	host, _, _ = strings.Cut(host, "/")
	at, err := url.Parse("//" + host)
	if err != nil {
		return usual, true
	}
	if port, given := parsePort(at.Port()); given {
		return port, true
	}
	return usual, true
}
