package subprocess

import "strings"

// longestOption bounds the name of an option.
const longestOption = 64

// OptionNames are the names of the options among the arguments of a command, in their order: what of
// them may be kept. Values may be keys, and a word that is no option may be anything.
func OptionNames(args []string) []string {
	var names []string
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if arg == "--" {
			break
		}
		if !strings.HasPrefix(name, "--") {
			name = name[:min(len(name), len("-x"))] // what follows one letter may be its value
		}
		plain := strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
		if len(name) > 1 && name[0] == '-' && (name[1] < '0' || name[1] > '9') && plain && len(name) <= longestOption {
			names = append(names, name)
		}
	}
	return names
}
