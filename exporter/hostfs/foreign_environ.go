package hostfs

import (
	"slices"
	"strings"
)

// EnvironVariables are the only variables that are kept of another process's environment.
func EnvironVariables() []string {
	return []string{
		"CUFILE_ENV_PATH_JSON", "CUFILE_LOGFILE_PATH", "CUFILE_FORCE_COMPAT_MODE",
		"DYN_KVBM_CPU_CACHE_GB", "DYN_KVBM_DISK_CACHE_GB", "DYN_KVBM_DISK_CACHE_DIR",
		"DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER",
	}
}

// ReadEnviron reads the named variables of a process from /proc/<pid>/environ, as they were when the process started.
// Variables that are not set are missing from the result. Everything else in that file is dropped unseen: it contains
// keys and tokens.
func ReadEnviron(proc Dir, pid uint32) (map[string]string, error) {
	content, err := proc.ReadFile(processFile(pid, "environ"))
	if err != nil {
		return nil, err
	}
	return parseEnviron(string(content)), nil
}

// parseEnviron reads NAME=value texts, each ended by a zero byte; the first of a name counts, as for getenv. A text
// without its end was truncated, or overwritten by the process, and is left out.
func parseEnviron(text string) map[string]string {
	wanted := EnvironVariables()
	kept := map[string]string{}
	for {
		pair, rest, ended := strings.Cut(text, "\x00")
		if !ended {
			return kept
		}
		text = rest
		name, value, isPair := strings.Cut(pair, "=")
		if _, twice := kept[name]; isPair && !twice && slices.Contains(wanted, name) {
			// A copy: a substring would keep the rest of the environment in memory.
			kept[name] = strings.Clone(value)
		}
	}
}
