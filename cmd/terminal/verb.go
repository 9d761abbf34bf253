package terminal

import (
	"regexp"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// Verb is a verb of a program, with the verbs above it in its name.
type Verb struct {
	Name string
	// Help is its text, and Examples are the command lines in it as they are typed, without their comments and without
	// the shell around them.
	Help     string
	Examples []string
	flags    []*kingpin.FlagModel
}

// Verbs lists all verbs of a program, the program itself first, under the empty name. Hidden verbs are left out.
func Verbs(app *kingpin.Application) []Verb { return verbs(app.Model()) }

func verbs(app *kingpin.ApplicationModel) []Verb {
	all := []Verb{{Help: app.Help, Examples: examples(app.Name, app.Help)}}
	var walk func(above string, of []*kingpin.CmdModel)
	walk = func(above string, of []*kingpin.CmdModel) {
		for _, verb := range of {
			if verb.Hidden || verb.Name == "help" {
				continue
			}
			name := above + verb.Name
			all = append(all, Verb{Name: name, Help: verb.Help, Examples: examples(app.Name, verb.Help), flags: verb.Flags})
			walk(name+" ", verb.Commands)
		}
	}
	walk("", app.Commands)
	return all
}

// examples returns the indented lines of a help text that begin with the program, joined with the next line where they
// end in a backslash.
func examples(program, help string) []string {
	var found []string
	lines := strings.Split(help, "\n")
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], "  ") {
			continue
		}
		_, line, is := strings.Cut(" "+strings.TrimSpace(lines[i])+" ", " "+program+" ")
		if !is {
			continue
		}
		line = strings.TrimSpace(line)
		for strings.HasSuffix(line, "\\") && i+1 < len(lines) {
			i++
			line = strings.TrimSpace(strings.TrimSuffix(line, "\\")) + " " + strings.TrimSpace(lines[i])
		}
		for _, end := range []string{"#", " | ", " > ", " && "} {
			line, _, _ = strings.Cut(line, end)
		}
		found = append(found, strings.TrimSpace(program+" "+line))
	}
	return found
}

// beginsFlag matches the name of a flag at the left of a page of help.
var beginsFlag = regexp.MustCompile(`^  (?:-., |    )?(--\S+)`)

// LinesOfFlags counts the lines that explain each flag of a page of help, without one that has the flag alone.
func LinesOfFlags(page string) map[string]int {
	lines, flag := map[string]int{}, ""
	for line := range strings.Lines(page) {
		m := beginsFlag.FindStringSubmatch(line)
		switch {
		case m != nil:
			flag, _, _ = strings.Cut(m[1], "=")
			lines[flag] = min(1, len(strings.Trim(line[len(m[0]):], " .\n")))
		case !strings.HasPrefix(line, "     "):
			flag = ""
		case flag != "":
			lines[flag]++
		}
	}
	return lines
}
