package demo

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/umascope/umascope/cmd/terminal"
)

func TestEveryVerbHasExamplesThatAreAcceptedAndItsHelpFitsATerminal(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	for _, verb := range terminal.Verbs(new(commandLine).application()) {
		examples := verb.Examples
		if verb.Name == "" {
			for _, line := range guide().First {
				line, _, _ = strings.Cut(line, "  #")
				examples = append(examples, line)
			}
		}
		own := false
		for _, example := range examples {
			line, err := parse(strings.Fields(example)[1:], io.Discard)
			if err != nil {
				t.Errorf("%s: %v", example, err)
			}
			own = own || verb.Name == "" || line.command == verb.Name
		}
		if !own {
			t.Errorf("uma-demo %s: its help has no example of it", verb.Name)
		}
		var page bytes.Buffer
		if line, _ := parse(append(strings.Fields(verb.Name), "--help"), &page); !line.ended { // of what else it says then, nobody hears
			t.Errorf("uma-demo %s --help goes on", verb.Name)
		}
		for line := range strings.Lines(page.String()) {
			if utf8.RuneCountInString(strings.TrimSpace(line)) > 80 {
				t.Errorf("uma-demo %s --help: too wide: %s", verb.Name, line)
			}
		}
		if strings.Contains(page.String(), "Others:") {
			t.Errorf("the page has verbs without a group:\n%s", page.String())
		}
	}
}

func TestTheHelpOfTheProgramShowsEveryFlagOfTheDemo(t *testing.T) {
	var page bytes.Buffer
	if line, _ := parse([]string{"--help"}, &page); !line.ended {
		t.Fatal("uma-demo --help goes on")
	}
	flags := new(commandLine).application().GetCommand(commandShow).Model().Flags
	if len(flags) < 6 {
		t.Fatalf("%d flags were found", len(flags))
	}
	for _, flag := range flags {
		if !flag.Hidden && !strings.Contains(page.String(), " --"+flag.Name) {
			t.Errorf("uma-demo --help lacks --%s:\n%s", flag.Name, page.String())
		}
	}
}

func TestTheHelpAndTheFirstLinesOfTheDemoAgree(t *testing.T) {
	var out, help bytes.Buffer
	s := &showing{shown: &shown{options: showOptions{quick: true}}}
	s.campaigns, s.trials = campaignsOf(s.options), trialsOf()
	(&progress{out: &out}).introduce(s)
	t.Setenv("COLUMNS", "1000")
	for _, args := range [][]string{{"--help"}, {"show", "--help"}} {
		if line, _ := parse(args, &help); !line.ended {
			t.Fatalf("uma-demo %v goes on", args)
		}
	}
	if got := strings.Count(out.String(), "\n  spark-"); got != 6 {
		t.Fatalf("%d machines are listed", got)
	}
	for text, in := range map[string]string{
		"\n6 DGX Sparks":    out.String(),
		"six are simulated": help.String(),
		"about 20s":         out.String(),
		"--quick  # less of everything, in about 20 seconds": help.String(),
		"a model of 8 GiB, in about 20 seconds":              help.String(),
	} {
		if !strings.Contains(in, text) {
			t.Errorf("lacks %q:\n%s", text, in)
		}
	}
	for _, page := range []string{out.String(), help.String(), strings.Join(limits(), "\n")} {
		if !strings.Contains(page, "Latencies and load times are not: compare them with each other only.") || !strings.Contains(page, "Divided by 30 ") {
			t.Errorf("does not say which figures are those of a Spark:\n%s", page)
		}
	}
}

func TestALineThatIsRefusedSaysWhatWasMeant(t *testing.T) {
	for typed, says := range map[string]string{
		"simulate --every=soon": "--every soon: want a duration, such as 90s or 5m",
		"--quik":                "unknown flag --quik: did you mean --quick?",
		"simulat":               `unknown verb "simulat": did you mean simulate?`,
		"--duration 5s":         "unknown flag --duration: uma-demo show --help lists those that there are",
		"simulate --keep=lots":  "--keep lots: want a number",
	} {
		if _, err := parse(strings.Fields(typed), io.Discard); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("uma-demo %s: %v, want %s", typed, err, says)
		}
	}
}

func TestVersionIsPrinted(t *testing.T) {
	var out bytes.Buffer
	if code := program(&out, &out).Run(t.Context(), []string{"--version"}); code != exitDone || !strings.HasPrefix(out.String(), "uma-demo ") || !strings.Contains(out.String(), ", go1.") {
		t.Errorf("exit %d: %q", code, out.String())
	}
}
