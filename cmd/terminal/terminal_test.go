package terminal

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"
)

// program is one with verbs of all kinds. Shown gets its help.
func program(shown io.Writer) *kingpin.Application {
	app := kingpin.New("uma-tool", "Does things.\n\nAnd more.")
	app.UsageWriter(shown).ErrorWriter(shown).Terminate(func(int) {})
	app.Version("1")
	run := app.Command("run", "Run it. It takes long.\n\nFor example\n\n  uma-tool run --url http://127.0.0.1:8000  # the usual\n  A=b uma-tool run --url u \\\n      --slow > out\n\numa-tool run is no example here.")
	run.Flag("url", "Whom.").Required().String()
	run.Flag("duration", "How long.").Default("1m").Duration()
	run.Flag("request-seed", "Seed.").Uint64()
	run.Flag("share", "Share.").Float64()
	run.Flag("level", "Level.").Default("info").Enum("info", "warn")
	run.Flag("slow", "Slowly.").Bool()
	run.Flag("gpu", "With GPU.").Default("true").Bool()
	run.Flag("label", "Label.").Strings()
	run.Flag("cache.size", "Size.").Int()
	run.Flag("disk.size", "Size.").Int()
	runs := app.Command("runs", "Folders of runs.")
	runs.Command("list", "List them.\n\n  uma-tool runs list").Arg("depth", "How deep.").Int()
	runs.Command("prune", "Remove them.").Flag("keep", "How many.").Int()
	app.Command("secret", "Hidden.").Hidden()
	Guide{
		First:    []string{"uma-tool run --url u   # run it"},
		Groups:   []Group{{"Measure", []string{"run"}}},
		Sections: map[string][]Section{"run": {{"level", "What is said"}}},
		Foot:     "Exit codes: 0 done.",
	}.Apply(app)
	return app
}

func TestARefusedLineNamesTheCorrection(t *testing.T) {
	for typed, want := range map[string]string{
		"run --url u --durtaion 5s":     "unknown flag --durtaion: did you mean --duration? uma-tool run --help lists all",
		"run --url u --bogus":           "unknown flag --bogus: uma-tool run --help lists those that there are",
		"run --url u -x":                "unknown flag -x: uma-tool run --help lists those that there are",
		"run --url u --keep 3":          "--keep is no flag of run, but of runs prune",
		"--url u run":                   "--url stands before the verb: it is a flag of run and comes after it",
		"rnu":                           `unknown verb "rnu": did you mean run? uma-tool --help lists all`,
		"frobnicate":                    `unknown verb "frobnicate": uma-tool --help lists those that there are`,
		"runs lsit":                     `unknown verb "lsit": did you mean runs list? uma-tool runs --help lists all`,
		"run":                           "missing --url; for example: uma-tool run --url http://127.0.0.1:8000",
		"run --url":                     "--url wants a value: uma-tool run --help shows which",
		"run --url u --duration soon":   "--duration soon: want a duration, such as 90s or 5m",
		"run --url u --request-seed=-1": "--request-seed -1: want a whole number from 0 on",
		"run --url u --share much":      "--share much: want a number",
		"run --url u --level loud":      "--level loud: want one of info, warn",
		"runs list far":                 "depth far: want a number",
		"runs":                          "must select a subcommand of 'runs'; for example: uma-tool runs list",
		"run --url u more":              `unexpected "more": uma-tool run --help shows what it takes`,
		"run --url u --slow=maybe":      "--slow=maybe: --slow takes no value; see uma-tool run --help",
		"run --dsk.size 1":              "unknown flag --dsk.size: did you mean --disk.size? uma-tool run --help lists all",
		"run --b.size 1":                "unknown flag --b.size: did you mean one of --cache.size, --disk.size? uma-tool run --help lists all",
	} {
		app := program(io.Discard)
		args := strings.Fields(typed)
		_, err := app.Parse(args)
		if err == nil {
			t.Errorf("%s: accepted", typed)
			continue
		}
		if got := Mend(app, args, err).Error(); got != want {
			t.Errorf("%s:\n got %s\nwant %s", typed, got, want)
		}
	}
	if Mend(program(io.Discard), nil, nil) != nil {
		t.Error("a line that was accepted is refused")
	}
}

// TestADefaultVerbNamesOthers has a program that does something without a verb: what is typed wrong was one.
func TestADefaultVerbNamesOthers(t *testing.T) {
	app := kingpin.New("uma-tool", "Does things.").Terminate(func(int) {})
	app.Command("serve", "Serve.").Default().Flag("once", "Once.").Bool()
	app.Command("explain", "Explain.")
	for typed, want := range map[string]string{
		"explian":   `unknown verb "explian": did you mean explain? uma-tool --help lists all`,
		"--once=no": "--once=no: --once takes no value; see uma-tool --help",
		"--onec":    "unknown flag --onec: did you mean --once? uma-tool serve --help lists all",
	} {
		_, err := app.Parse([]string{typed})
		if got := Mend(app, []string{typed}, err); got == nil || got.Error() != want {
			t.Errorf("%s: got %v, want %s", typed, got, want)
		}
	}
}

func TestTheFirstLineShowsWhetherAVerbIsNeeded(t *testing.T) {
	for usage, define := range map[string]func(*kingpin.Application){
		"usage: uma-tool [<verb>] [<flags>]\n":           func(a *kingpin.Application) { a.Command("serve", "Serve.").Default() },
		"usage: uma-tool <verb> [<flags>]\n":             func(a *kingpin.Application) { a.Command("serve", "Serve.") },
		"usage: uma-tool [<flags>] <file> [<more>...]\n": func(a *kingpin.Application) { a.Arg("file", "F.").Required().String(); a.Arg("more", "M.").Strings() },
	} {
		var shown bytes.Buffer
		app := kingpin.New("uma-tool", "Does things.").UsageWriter(&shown).Terminate(func(int) {})
		define(app)
		Guide{}.Apply(app)
		_, _ = app.Parse([]string{"--help"})
		if !strings.HasPrefix(shown.String(), usage) {
			t.Errorf("got %s, want %s", shown.String(), usage)
		}
	}
}

func TestErrorsThatNameTheirFlagStay(t *testing.T) {
	own := errors.New("--url u: no address")
	if got := Mend(program(io.Discard), []string{"run", "--url", "u"}, own); got != own {
		t.Errorf("got %v", got)
	}
}

func TestThePageOfTheProgramHasVerbsByGroupAndNoFlagsOfTheirs(t *testing.T) {
	var shown bytes.Buffer
	_, _ = program(&shown).Parse([]string{"--help"})
	want := `usage: uma-tool <verb> [<flags>]

Does things.

And more.

First:
  uma-tool run --url u   # run it

Measure:
  run  Run it

Others:
  runs  Folders of runs

Flags:
  -h, --help     Show help.
      --version  Show application version.

uma-tool VERB --help has examples and the flags of that verb.

Exit codes: 0 done.
`
	if got, _, _ := strings.Cut(shown.String(), "\x00"); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestThePageOfAVerbHasItsFlagsBySubject(t *testing.T) {
	var shown bytes.Buffer
	_, _ = program(&shown).Parse([]string{"run", "--help"})
	for _, want := range []string{
		"usage: uma-tool run --url=URL [<flags>]\n\nRun it. It takes long.\n\nFor example\n\n  uma-tool run --url http",
		"\nFlags:\n  --url=URL", "--duration=1m  ", "--request-seed=SEED  ",
		"\nWhat is said:\n  --level=info", "\n  --slow  ", "\n  --[no-]gpu  ", "\n  --label=LABEL ...",
	} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, shown.String())
		}
	}
	for _, unwanted := range []string{"--help", "--version", "--[no-]slow"} {
		if strings.Contains(shown.String(), unwanted) {
			t.Errorf("the page has %s", unwanted)
		}
	}
	shown.Reset()
	_, _ = program(&shown).Parse([]string{"runs", "--help"})
	if want := "usage: uma-tool runs [<flags>] <verb>\n\nFolders of runs.\n\nVerbs:\n  list   List them\n  prune  Remove them\n"; !strings.HasPrefix(strings.Replace(shown.String(), "runs <verb>", "runs [<flags>] <verb>", 1), want) {
		t.Errorf("got\n%s\nwant\n%s", shown.String(), want)
	}
}

func TestAVerbOfManyFlagsShowsTheCommonOnesAndHelpAllShowsAll(t *testing.T) {
	pageOf := func(args ...string) string {
		var shown bytes.Buffer
		app := kingpin.New("uma-tool", "Does things.").UsageWriter(&shown).Terminate(func(int) {})
		verb := app.Command("run", "Run it.")
		verb.Flag("url", "Server. It may be left out.").Required().String()
		verb.Flag("rare", "Seldom given.").String()
		app.Command("list", "List.").Flag("long", "Show more.").Bool()
		Guide{Common: map[string][]string{"run": {"url", "gone"}}}.Apply(app)
		_, _ = app.Parse(args)
		page, _, _ := strings.Cut(shown.String(), "usage: uma-tool run --url=URL [<flags>]\n\nRun it.\n\nusage") // a Terminate that returns goes on
		return page
	}
	brief, all := pageOf("run", "--help"), pageOf("run", "--help-all")
	for _, want := range []string{"--url=URL  Server\n", "uma-tool run --help-all lists all 2 flags"} {
		if !strings.Contains(brief, want) || strings.Contains(all, want) {
			t.Errorf("%q is not in the brief page only:\n%s\n%s", want, brief, all)
		}
	}
	for _, want := range []string{"--rare=RARE", "It may be left out."} {
		if strings.Contains(brief, want) || !strings.Contains(all, want) {
			t.Errorf("%q is not in the whole page only:\n%s\n%s", want, brief, all)
		}
	}
	if page := pageOf("list", "--help"); !strings.Contains(page, "--long") || strings.Contains(page, "help-all") {
		t.Errorf("a verb of few flags:\n%s", page)
	}
}

func TestThePageOfAProgramWithADefaultVerbShowsItsFlags(t *testing.T) {
	var shown bytes.Buffer
	app := kingpin.New("uma-tool", "Does things.").UsageWriter(&shown).Terminate(func(int) {})
	serve := app.Command("serve", "Serve.").Default()
	serve.Flag("once", "Serve once. Then end.").Bool()
	serve.Flag("rare", "Seldom given.").Bool()
	Guide{Default: []string{"once"}}.Apply(app)
	_, _ = app.Parse([]string{"--help"})
	if want := "\nFlags:\n      --once  Serve once\n  -h, --help  Show help.\n"; !strings.Contains(shown.String(), want) || strings.Contains(shown.String(), "--rare") {
		t.Errorf("want %q in\n%s", want, shown.String())
	}
}

func TestExamplesAreWhatIsTyped(t *testing.T) {
	for _, verb := range Verbs(program(io.Discard)) {
		switch verb.Name {
		case "run":
			if got, want := strings.Join(verb.Examples, ";"), "uma-tool run --url http://127.0.0.1:8000;uma-tool run --url u --slow"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		case "secret", "help":
			t.Errorf("%s is listed", verb.Name)
		}
	}
}

func TestNearestTakesAWordThatIsLikeItAndNoOther(t *testing.T) {
	known := []string{"compare", "campaign", "check", "run"}
	for word, want := range map[string]string{"comapre": "compare", "compar": "compare", "chek": "check", "campain": "campaign", "rum": "run", "frobnicate": "", "": "", "x": ""} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func FuzzDistanceIsAMetricOfSmallSteps(f *testing.F) {
	f.Add("compare", "comapre")
	f.Add("", "ü")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := []rune(a), []rune(b)
		if len(x)*len(y) > 1<<16 {
			t.Skip()
		}
		d := distance(x, y)
		switch {
		case d != distance(y, x):
			t.Errorf("%q and %q: not the same both ways", a, b)
		case (d == 0) != (string(x) == string(y)):
			t.Errorf("%q and %q: distance %d", a, b, d)
		case d > max(len(x), len(y)) || d < len(x)-len(y) || d < len(y)-len(x):
			t.Errorf("%q and %q: impossible distance %d", a, b, d)
		}
	})
}

// closed is a pipe whose reader has gone, or a disk that is full.
type closed struct{ err error }

func (c closed) Write([]byte) (int, error) { return 0, c.err }

func TestAReaderWhoHasSeenEnoughIsNoFailureAndAFullDiskIsOne(t *testing.T) {
	told := 0
	out := NewOutput(closed{syscall.EPIPE}, func() { told++ })
	for range 2 {
		if n, err := out.Write([]byte("text")); n != 4 || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
	}
	if told != 1 {
		t.Errorf("told %d times that the reader has gone", told)
	}
	if _, err := NewOutput(closed{syscall.EPIPE}, nil).Write([]byte("text")); err != nil {
		t.Error(err)
	}
	if _, err := NewOutput(closed{syscall.ENOSPC}, nil).Write([]byte("text")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
}

// TestDurationsOfTheLibraryAreAsWeSay guards wanted against texts of the standard library that change.
func TestDurationsOfTheLibraryAreAsWeSay(t *testing.T) {
	_, err := time.ParseDuration("soon")
	if got := wanted(err); got != "want a duration, such as 90s or 5m" {
		t.Error(got)
	}
}

func TestLinesOfFlagsAreCounted(t *testing.T) {
	const page = "usage: x [<flags>]\n\nText --of it.\n\nFlags:\n  --a=1 ...     One.\n  --long.name=VALUE  \n                Its text\n                goes on.\n  --[no-]b      One,\n                two.\n\nx --help lists more.\n"
	got := LinesOfFlags(page)
	if want := map[string]int{"--a": 1, "--long.name": 2, "--[no-]b": 2}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestLinkedVersionsComeBeforeThoseOfGo(t *testing.T) {
	if b := ReadBuild("v1.2.3", "abc"); b.Version != "v1.2.3" || b.Revision != "abc" || !strings.HasPrefix(b.GoVersion, "go") {
		t.Errorf("%+v", b)
	}
	if b := ReadBuild("", ""); b.Version == "" || b.Revision == "" {
		t.Errorf("what is not recorded is not said: %+v", b)
	}
}
