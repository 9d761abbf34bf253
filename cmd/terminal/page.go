// Package terminal is the command-line interface that all programs share: the page of --help, flags whose errors name
// the flag and its valid values, corrections for a rejected command line, and output that survives the end of its
// reader.
package terminal

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kingpin/v2"
)

//go:embed page.txt
var page string

// Guide is the part of a program's help page that is not in the help texts of its flags.
type Guide struct {
	// First are the most common command lines, each with a comment behind a #.
	First []string
	// Groups are the verbs, by subject. A verb without a group is listed after them.
	Groups []Group
	// Sections group the flags of long pages by subject, keyed by the full name of the verb: a section begins with a
	// flag.
	Sections map[string][]Section
	// Common are the flags that --help shows of a verb with many, in this order, each by the first sentence of its text;
	// --help-all shows all flags. Keyed by the full name of the verb.
	Common map[string][]string
	// Default are the flags of the default verb that the program's page shows, in this order, each by the first sentence
	// of its text.
	Default []string
	// Foot is the end of the page, such as the exit codes.
	Foot string
}

// Group is verbs of one subject.
type Group struct {
	Title string
	Verbs []string
}

// Section begins with a flag.
type Section struct{ Flag, Title string }

// Apply sets the guide as the program's help, and shortens the help texts of the library's own flags.
func (g Guide) Apply(app *kingpin.Application) {
	app.HelpFlag.Short('h').Help("Show help.")
	all := false
	if len(g.Common) > 0 {
		app.Flag("help-all", "Show help with every flag.").PreAction(func(c *kingpin.ParseContext) error {
			all = true
			c.Elements = append(c.Elements, &kingpin.ParseElement{Clause: app.HelpFlag}) // as if --help were given
			return nil
		}).Bool()
	}
	app.UsageTemplate(page).UsageFuncs(template.FuncMap{
		"First":  func() []string { return g.First },
		"Foot":   func() string { return g.Foot },
		"Groups": func(model *kingpin.ApplicationModel) []listed { return g.groups(model.Commands) },
		"Below":  below,
		"Verb":   verbText,
		"Sections": func(flags []*kingpin.FlagModel, verb *kingpin.CmdModel) []listed {
			if common := g.common(flags, verb); len(common.Rows) > 0 && !all {
				return []listed{common}
			}
			return g.sections(flags, verb)
		},
		"More": func(flags []*kingpin.FlagModel, verb *kingpin.CmdModel) string {
			common := g.common(flags, verb)
			if len(common.Rows) == 0 || all {
				return ""
			}
			count := 0
			for _, section := range g.sections(flags, verb) {
				count += len(section.Rows)
			}
			return fmt.Sprintf("%s %s --help-all lists all %d flags, by subject.", app.Name, verb.FullCommand, count)
		},
		"Program": g.program,
	})
}

// program returns the flags of the program's page: those that its default verb takes, and its own.
func (g Guide) program(app *kingpin.ApplicationModel) []listed {
	l := listed{Title: "Flags"}
	if i := slices.IndexFunc(app.Commands, func(v *kingpin.CmdModel) bool { return v.Default }); i >= 0 {
		short := slices.ContainsFunc(app.Flags, func(f *kingpin.FlagModel) bool { return f.Short != 0 })
		l.Rows = brief(app.Commands[i].Flags, g.Default, short)
	}
	for _, section := range g.sections(app.Flags, nil) {
		l.Rows = append(l.Rows, section.Rows...)
	}
	return []listed{l}
}

// brief returns the named flags, each with the first sentence of its text.
func brief(flags []*kingpin.FlagModel, names []string, short bool) [][2]string {
	var rows [][2]string
	for _, name := range names {
		if i := slices.IndexFunc(flags, func(f *kingpin.FlagModel) bool { return f.Name == name }); i >= 0 {
			rows = append(rows, [2]string{flagText(flags[i], short), summary(flags[i].Help)})
		}
	}
	return rows
}

// common returns the flags of a verb that --help shows; none for a verb whose flags are all shown.
func (g Guide) common(flags []*kingpin.FlagModel, verb *kingpin.CmdModel) listed {
	if verb == nil {
		return listed{}
	}
	return listed{Title: "Flags", Rows: brief(flags, g.Common[verb.FullCommand], false)}
}

// listed is a title and the rows below it.
type listed struct {
	Title string
	Rows  [][2]string
}

// groups returns the verbs with their help texts.
func (g Guide) groups(verbs []*kingpin.CmdModel) []listed {
	left := slices.DeleteFunc(slices.Clone(verbs), func(v *kingpin.CmdModel) bool { return v.Name == "help" }) // -h is self-explanatory
	var all []listed
	for _, group := range g.Groups {
		one := listed{Title: group.Title}
		for _, name := range group.Verbs {
			if i := slices.IndexFunc(left, func(v *kingpin.CmdModel) bool { return v.Name == name }); i >= 0 {
				one.Rows = append(one.Rows, verbRows(left[i:i+1])...)
				left = slices.Delete(left, i, i+1)
			}
		}
		all = append(all, one)
	}
	return append(all, listed{"Others", verbRows(left)})
}

// verbText returns the verb's place in the usage line, marked as optional where a program has a default verb.
func verbText(app *kingpin.ApplicationModel) string {
	switch {
	case len(app.Commands) == 0:
		return ""
	case slices.ContainsFunc(app.Commands, func(v *kingpin.CmdModel) bool { return v.Default }):
		return " [<verb>]"
	}
	return " <verb>"
}

// below returns the sub-verbs of a verb.
func below(verb *kingpin.CmdModel) [][2]string { return verbRows(verb.Commands) }

func verbRows(verbs []*kingpin.CmdModel) [][2]string {
	var rows [][2]string
	for _, verb := range verbs {
		if !verb.Hidden {
			rows = append(rows, [2]string{verb.Name, summary(verb.Help)})
		}
	}
	return rows
}

// summary returns the first sentence of a help text, without its full stop.
func summary(help string) string {
	first, _, _ := strings.Cut(help, "\n")
	first, _, _ = strings.Cut(first, ". ")
	return strings.TrimSuffix(first, ".")
}

// sections returns the flags of a page. The page of a verb leaves out the flags of the program, which are on the
// program's page.
func (g Guide) sections(flags []*kingpin.FlagModel, verb *kingpin.CmdModel) []listed {
	short := slices.ContainsFunc(flags, func(f *kingpin.FlagModel) bool { return f.Short != 0 && !isProgram(f, verb) })
	var begins []Section
	if verb != nil {
		begins = g.Sections[verb.FullCommand]
	}
	all := []listed{{Title: "Flags"}}
	for _, flag := range flags {
		if flag.Hidden || isProgram(flag, verb) {
			continue
		}
		if i := slices.IndexFunc(begins, func(s Section) bool { return s.Flag == flag.Name }); i >= 0 {
			all = append(all, listed{Title: begins[i].Title})
		}
		last := &all[len(all)-1]
		last.Rows = append(last.Rows, [2]string{flagText(flag, short), flag.HelpWithEnvar()})
	}
	return slices.DeleteFunc(all, func(l listed) bool { return len(l.Rows) == 0 })
}

func isProgram(flag *kingpin.FlagModel, verb *kingpin.CmdModel) bool {
	return verb != nil && slices.Contains([]string{"help", "help-all", "version"}, flag.Name)
}

// flagText formats a flag as it is typed, with its default or its placeholder.
func flagText(flag *kingpin.FlagModel, short bool) string {
	var text strings.Builder
	switch {
	case flag.Short != 0:
		text.WriteString("-" + string(flag.Short) + ", ")
	case short:
		text.WriteString("    ")
	}
	switch {
	case !flag.IsBoolFlag():
		text.WriteString("--" + flag.Name + "=" + taken(flag))
	case slices.Equal(flag.Default, []string{"true"}): // a switch that is on by default can only be turned off
		text.WriteString("--[no-]" + flag.Name)
	default:
		text.WriteString("--" + flag.Name)
	}
	if repeated, ok := flag.Value.(interface{ IsCumulative() bool }); ok && repeated.IsCumulative() {
		text.WriteString(" ...")
	}
	return text.String()
}

// taken returns the placeholder after a flag: the declared one, its default, or the last word of its name.
func taken(flag *kingpin.FlagModel) string {
	if flag.PlaceHolder != "" {
		return flag.PlaceHolder
	}
	if text := strings.Join(flag.Default, ","); text != "" {
		return text
	}
	return strings.ToUpper(flag.Name[strings.LastIndexAny(flag.Name, "-.")+1:])
}
