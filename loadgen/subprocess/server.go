package subprocess

import (
	"slices"
	"strings"
)

// serverOptions are the options that name the server in benchmark clients: those of engines, genai-bench,
// AIPerf and GuideLLM.
func serverOptions() []string {
	return []string{"--base-url", "--host", "--api-base", "--url", "-u", "--target"}
}

// ServerAddress returns the server address in the arguments of a benchmark, with or without its scheme. It is empty if
// they name none, as with a benchmark that runs its engine itself.
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
