package terminal

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// Mend explains an error of the flag library: it returns what is wrong with the command line and what to type instead.
// Errors of values that name their flag stay as they are.
func Mend(app *kingpin.Application, args []string, err error) error {
	if err == nil {
		return nil
	}
	context, _ := app.ParseContext(args)
	if context == nil {
		return err
	}
	m := mending{app: app.Model(), context: context, args: args}
	if context.SelectedCommand != nil {
		m.verb = context.SelectedCommand.FullCommand()
	}
	quoted := regexp.MustCompile(`['"](.*)['"]`).FindStringSubmatch(err.Error())
	text, about := err.Error(), ""
	if quoted != nil {
		about = quoted[1]
	}
	switch {
	case strings.HasPrefix(text, "unknown long flag "):
		return m.unknownFlag(about)
	case strings.HasPrefix(text, "unknown short flag "):
		return fmt.Errorf("unknown flag %s: %s lists those that there are", about, m.help())
	case strings.HasPrefix(text, "expected argument for flag "):
		return fmt.Errorf("%s wants a value: %s shows which", about, m.help())
	case strings.HasPrefix(text, "expected command but got "):
		return m.unknownVerb(about)
	case strings.HasPrefix(text, "unexpected "):
		return m.unexpected(strings.Trim(strings.TrimPrefix(strings.TrimPrefix(text, "unexpected "), "argument "), "'"))
	case strings.HasPrefix(text, "required "):
		return fmt.Errorf("missing %s; %s", strings.ReplaceAll(about, "'", ""), m.example())
	case strings.HasPrefix(text, "must select "):
		return fmt.Errorf("%w; %s", err, m.example())
	}
	return m.value(err)
}

// mending is a rejected command line, as far as it could be read.
type mending struct {
	app     *kingpin.ApplicationModel
	context *kingpin.ParseContext
	args    []string
	verb    string // with the verbs above it; empty if none was read
}

// help returns the command that shows the help of the verb.
func (m mending) help() string { return strings.TrimSpace(m.app.Name+" "+m.verb) + " --help" }

// example returns a valid command line of that verb.
func (m mending) example() string {
	for _, v := range verbs(m.app) {
		if (v.Name == m.verb || strings.HasPrefix(v.Name, m.verb+" ")) && len(v.Examples) > 0 {
			return "for example: " + v.Examples[0]
		}
	}
	return "try " + m.help()
}

// unknownFlag searches the flag in this verb by a similar name, then by its exact name in the other verbs.
func (m mending) unknownFlag(flag string) error {
	name := strings.TrimPrefix(flag, "--")
	here, elsewhere := names(m.app.Flags), []string{}
	for _, v := range verbs(m.app) {
		switch {
		case v.Name == m.verb:
			here = append(here, names(v.flags)...)
		case slices.Contains(names(v.flags), name):
			elsewhere = append(elsewhere, v.Name)
		}
	}
	switch near, alike := Nearest(name, here), sameEnding(name, here); {
	case len(elsewhere) > 0 && m.verb == "":
		return fmt.Errorf("%s stands before the verb: it is a flag of %s and comes after it", flag, strings.Join(elsewhere, ", "))
	case len(alike) > 1:
		return fmt.Errorf("unknown flag %s: did you mean one of --%s? %s lists all", flag, strings.Join(alike, ", --"), m.help())
	case near != "":
		return fmt.Errorf("unknown flag %s: did you mean --%s? %s lists all", flag, near, m.help())
	case len(elsewhere) > 0:
		return fmt.Errorf("%s is no flag of %s, but of %s", flag, m.verb, strings.Join(elsewhere, ", "))
	}
	return fmt.Errorf("unknown flag %s: %s lists those that there are", flag, m.help())
}

// sameEnding returns the names that equal this one after its first dot, such as listen-address. It returns nil for a name
// without a dot, and if the letters before the dot are similar to those of one of the names.
func sameEnding(name string, known []string) []string {
	begin, ending, dotted := strings.Cut(name, ".")
	if !dotted {
		return nil
	}
	var all, begins []string
	for _, other := range known {
		if otherBegin, same := strings.CutSuffix(other, "."+ending); same {
			all, begins = append(all, other), append(begins, otherBegin)
		}
	}
	if Nearest(begin, begins) != "" {
		return nil
	}
	return all
}

// valueOfSwitch returns an error for a value given to a flag that takes none, as --flag=word; otherwise nil.
func (m mending) valueOfSwitch(word string) error {
	for _, arg := range m.args {
		if flag, isFlag := strings.CutSuffix(arg, "="+word); isFlag && strings.HasPrefix(flag, "--") {
			return fmt.Errorf("%s: %s takes no value; see %s", arg, flag, m.help())
		}
	}
	return nil
}

// unknownVerb searches a verb with a similar name.
func (m mending) unknownVerb(word string) error {
	if err := m.valueOfSwitch(word); err != nil {
		return err
	}
	above := ""
	if m.verb != "" {
		above = m.verb + " "
	}
	var known []string
	for _, v := range verbs(m.app) {
		if rest, below := strings.CutPrefix(v.Name, above); below && v.Name != "" {
			first, _, _ := strings.Cut(rest, " ")
			known = append(known, first)
		}
	}
	if near := Nearest(word, known); near != "" {
		return fmt.Errorf("unknown verb %q: did you mean %s? %s lists all", word, above+near, m.help())
	}
	return fmt.Errorf("unknown verb %q: %s lists those that there are", word, m.help())
}

// unexpected returns the error for a surplus word: in a program with a default verb it was meant as a verb.
func (m mending) unexpected(word string) error {
	if selected := m.context.SelectedCommand; selected != nil && selected.Model().Default {
		m.verb = ""
		return m.unknownVerb(word)
	}
	if err := m.valueOfSwitch(word); err != nil {
		return err
	}
	return fmt.Errorf("unexpected %q: %s shows what it takes", word, m.help())
}

// value names the flag or argument whose value was rejected, which the library's errors of values leave out.
func (m mending) value(err error) error {
	for _, element := range m.context.Elements {
		if element.Value == nil {
			continue
		}
		name, into := "", kingpin.Value(nil)
		switch clause := element.Clause.(type) {
		case *kingpin.FlagClause:
			name, into = "--"+clause.Model().Name, clause.Model().Value
		case *kingpin.ArgClause:
			name, into = clause.Model().Name, clause.Model().Value
		}
		if into == nil || strings.Contains(err.Error(), name) {
			continue
		}
		if again := into.Set(*element.Value); again != nil && again.Error() == err.Error() {
			return fmt.Errorf("%s %s: %s", name, *element.Value, wanted(err))
		}
	}
	return err
}

// wanted describes the expected value, for the errors of the library and of the standard library.
func wanted(err error) string {
	number, isNumber := errors.AsType[*strconv.NumError](err)
	switch text := err.Error(); {
	case strings.HasPrefix(text, "time: "):
		return "want a duration, such as 90s or 5m"
	case strings.HasPrefix(text, "enum value "):
		words, _, _ := strings.Cut(strings.TrimPrefix(text, "enum value must be one of "), ", got ")
		return "want one of " + strings.ReplaceAll(words, ",", ", ")
	case isNumber && number.Func == "ParseUint":
		return "want a whole number from 0 on"
	case isNumber && number.Func == "ParseFloat":
		return "want a number"
	case isNumber && number.Func == "ParseBool":
		return "want true or false"
	case isNumber:
		return "want a whole number"
	default:
		return text
	}
}

func names(flags []*kingpin.FlagModel) []string {
	var all []string
	for _, flag := range flags {
		if !flag.Hidden {
			all = append(all, flag.Name)
		}
	}
	return all
}
