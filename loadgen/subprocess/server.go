package subprocess

import (
	"slices"
	"strings"
)

// serverOptions are the options by which benchmark clients are pointed at a server: vLLM's and SGLang's, genai-bench's, AIPerf's and
// GuideLLM's.
func serverOptions() []string {
	return []string{"--base-url", "--host", "--api-base", "--url", "-u", "--target"}
}

// ServerAddress returns the address of the server that the arguments of a benchmark name, with or without its scheme; empty if
// they name none, as of a benchmark that runs its engine itself.
func ServerAddress(args []string) string {
	for i, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		if !slices.Contains(serverOptions(), name) {
			continue
		}
		if !given && i+1 < len(args) {
			value = args[i+1]
		}
		if value != "" && !strings.HasPrefix(value, "-") {
			return value
		}
	}
	return ""
}
