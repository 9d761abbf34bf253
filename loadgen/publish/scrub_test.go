package publish

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/umascope/umascope/loadgen/openai"
)

func known() []Identity {
	return []Identity{{KindHost, secretHost}, {KindUser, secretUser}, {KindSerial, secretSerial}, {KindUser, "root"}, {KindHost, "ab"}, {KindHost, "host"}}
}

func TestTextsLoseNamesAndKeepTheRest(t *testing.T) {
	c := newCleaner(nil, known())
	for _, step := range []struct{ in, want string }{
		{"", ""},
		{"1,024 requests in 12:30:45, p99 of 1.25 s", "1,024 requests in 12:30:45, p99 of 1.25 s"},
		{"driver 580.95.05, 0000:0f:00.0, CUDA 13.0", "driver 580.95.05, 0000:0f:00.0, CUDA 13.0"},
		{"ATHENA-7F and athena-7f, not athena-7fx", "host-1 and host-1, not athena-7fx"},
		{"the host of root is ab", "the host of root is ab"},
		{"http://127.0.0.1:8000/v1 and http://[::1]:8000", "http://127.0.0.1:8000 and http://[::1]:8000"},
		{"http://athena-7f:8000/v1?key=1", "http://host-1:8000"},
		{"http://127.0.0.1:8000: it is gone; http://127.0.0.1:8001, too.", "http://127.0.0.1:8000: it is gone; http://127.0.0.1:8001, too."},
		{"https://u:p@api.example/v1", "https://address-1"},
		{"10.1.2.3 and 10.1.2.3:80", "address-2 and address-2:80"},
		{"fe80::1%eth0", "address-3"},
		{"0.0.0.0:8000", "0.0.0.0:8000"},
		{"enx00e04c680001 sent, wlx00e04c680002 did not, nor enxyz and enp1s0f0np0", "address-4 sent, address-5 did not, nor enxyz and enp1s0f0np0"},
		{"/home/mweber/a and /Users/eva/b", "/home/user-1/a and /Users/user-2/b"},
		{"S/N: ABC12345, serial number XYZ98765", "S/N: serial-1, serial number serial-2"},
		{"serial execution of kernels", "serial execution of kernels"},
		{"sha256:" + strings.Repeat("ab", 32), "sha256:" + strings.Repeat("ab", 32)},
		{"max_tokens: 5, tokens = 7", "max_tokens: 5, tokens = 7"},
		{"api_key=abc password: 'x y' Basic dXNlcjpwYXNz", "api_key=(redacted) password: '(redacted) y' Basic (redacted)"},
		{"host-1 again", "host-1 again"},
	} {
		if got := c.text(step.in); got != step.want {
			t.Errorf("%q became %q and not %q", step.in, got, step.want)
		}
	}
}

func TestEachFlagIsCleanedByItsKind(t *testing.T) {
	c := newCleaner(nil, known())
	for _, step := range []struct{ name, value, want string }{
		{"rate", "12.5", "12.5"}, {"duration", "1m30s", "1m30s"}, {"ignore-eos", "true", "true"}, {"arrival", "poisson", "poisson"},
		{"ca-file", "/a", "value-1"}, {"trace", "/b", "value-2"}, {"ca-file", "/a", "value-1"}, {"header", "X:y", gone}, {"api-key-file", "/k", "value-3"},
		{"notify-url", "https://x", gone}, {"url", "http://athena-7f:1/v1", "http://host-1:1"}, {"never-heard-of", "x", "value-4"}, {"stop", "", ""},
	} {
		if got := c.flag(step.name, step.value); got != step.want {
			t.Errorf("--%s %s became %q and not %q", step.name, step.value, got, step.want)
		}
	}
}

func TestNamesOfRunsStayApart(t *testing.T) {
	c := newCleaner(nil, []Identity{{KindHost, "one"}, {KindHost, "two"}})
	c.scrubber.given[KindHost] = map[string]string{"one": "host-1", "two": "host-1"} // should two ever get the same name
	a, b := c.run("one-run"), c.run("two-run")
	if a == b || c.run("one-run") != a || plainName("..//") == "" || strings.ContainsAny(plainName("../x y"), "/ ") {
		t.Errorf("%q, %q", a, b)
	}
}

func TestALineThatIsTornIsLeftOut(t *testing.T) {
	var out bytes.Buffer
	err := eachLine(strings.NewReader("{\"status\":\"ok\",\"error\":\"x\"}\n{\"status\""), &out, typed(func(r *openai.Record) { newCleaner(nil, nil).record(r, conversations{}) }))
	if err != nil || strings.Count(out.String(), "\n") != 1 || strings.Contains(out.String(), "error") {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := eachLine(strings.NewReader("{}\nnonsense\n"), &out, typed(func(*openai.Record) {})); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v", err)
	}
}

// FuzzText: no text has an identity left that is known, what is left is not changed again, and it is text.
func FuzzText(f *testing.F) {
	for _, seed := range []string{everyName, "athena-7fathena-7f-", "http://athena-7f", "a@b.c", "::1", "/home/", "token=", strings.Repeat("a:", 50), "mweber@athena-7f:~$ \x1b[31m"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := newCleaner(nil, known())
		once := c.text(text)
		if utf8.ValidString(text) && !utf8.ValidString(once) {
			t.Errorf("%q became %q", text, once)
		}
		if again := c.words(once); again != once {
			t.Errorf("%q has names left: %q", once, again)
		}
		for _, id := range []string{secretUser, secretSerial} {
			for at := strings.Index(once, id); at >= 0; at = -1 {
				if !inWord(once, at, at+len(id)) {
					t.Errorf("%q tells %s", once, id)
				}
			}
		}
	})
}

// FuzzManifest: whatever a manifest is, what is left of it is JSON, tells no known name, and is the same for
// the same names.
func FuzzManifest(f *testing.F) {
	f.Add(`{"schema":"umascope.manifest/1","run":"athena-7f","labels":{"host":"athena-7f","a":["b"]},"server":null,"machines":[{"host":{"serial":"S6XYNX0T123456"}}]}`)
	f.Add(`[1,{"run":{}}]`)
	f.Add(`{"container":{"host_config":{"Binds":["/home/mweber:/x",{"a":1e400}]}}}`)
	table := manifestRules().table()
	f.Fuzz(func(t *testing.T, text string) {
		var out, again bytes.Buffer
		c := newCleaner(nil, known())
		if err := c.json(strings.NewReader(text), &out, table); err != nil {
			return
		}
		if !json.Valid(out.Bytes()) {
			t.Fatalf("%s", out.String())
		}
		for _, id := range []string{secretUser, secretSerial} {
			if at := strings.Index(out.String(), id); at >= 0 && !inWord(out.String(), at, at+len(id)) {
				t.Errorf("%s tells %s", out.String(), id)
			}
		}
		if err := newCleaner(nil, known()).json(strings.NewReader(text), &again, table); err != nil || again.String() != out.String() {
			t.Errorf("%v: once %s, again %s", err, out.String(), again.String())
		}
	})
}

func TestAddressesOfAFlagThatWasRepeatedAreReplacedOneByOne(t *testing.T) {
	c := newCleaner(nil, nil)
	first, second := c.flag("url", "http://spark-1:8000"), c.flag("url", "http://spark-2:8000/v1")
	got := c.flag("url", "[http://spark-1:8000] [http://spark-2:8000/v1]")
	if want := "[" + first + "] [" + second + "]"; got != want || strings.Contains(got, "spark") || first == second {
		t.Errorf("%q, want %q", got, want)
	}
}
