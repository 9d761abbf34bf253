package subprocess

import "strings"

// longestOption is the longest name of an option, in bytes.
const longestOption = 64

// OptionNames returns the names of the options among the arguments of a command, in order. Only these may be recorded:
// values may be keys, and a word that is no option may be anything.
func OptionNames(args []string) []string {
	var names []string
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if arg == "--" {
			break
		}
		if !strings.HasPrefix(name, "--") {
			name = name[:min(len(name), len("-x"))] // the text after one letter may be its value
		}
		plain := strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
		if len(name) > 1 && name[0] == '-' && (name[1] < '0' || name[1] > '9') && plain && len(name) <= longestOption {
			names = append(names, name)
		}
	}
	return names
}
