package arm

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/subprocess"
)

func TestCheckNamesEverythingThatKeepsAnArmFromComingUp(t *testing.T) {
	fakes(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	theirs := in(t, "theirs")
	appendTo(theirs, "theirs")
	spec := plan.Arm{
		Name:  "a",
		Files: []plan.File{{Path: theirs, Text: "ours"}, {Path: theirs, Text: "theirs"}, {Path: theirs, Text: "ours", Optional: true}, {Path: in(t, "new"), Text: "x"}},
		Processes: []plan.Process{
			{Name: "missing", Argv: []string{"no-such-engine"}},
			{Name: "nowhere", Argv: []string{"sh"}, Cwd: "/no/such/folder"},
			{Name: "unasked", Argv: []string{"sh"}, Ready: &plan.Probe{Argv: []string{"no-such-probe"}}},
			{Name: "unstopped", Argv: []string{"sh"}, Stop: plan.Stop{Argv: []string{"no-such-stop"}}},
			{Name: "background", Argv: []string{"docker", "run", "-d", "x"}},
			{Name: "there", Argv: []string{"no-such-engine"}, Host: "node2"},
			{Name: "answered", Argv: []string{"sh"}, Ready: &plan.Probe{Port: l.Addr().(*net.TCPAddr).Port}},
			{Name: "good", Argv: []string{"sh"}, Host: "node2", Ready: &plan.Probe{Log: "x"}},
			{Name: "makes", Argv: []string{"docker", "run", "--rm", "--name=made", "x"}},
			{Name: "inside", Argv: []string{"only-in-there"}, Container: "made"},
		},
	}
	var got []string
	for _, found := range Check(t.Context(), spec, Needs{ExpectedBytes: 1 << 60}) {
		if found.Result == Fails {
			got = append(got, found.String())
		}
	}
	for _, want := range []string{
		"memory: expected_memory is 1048576 TiB, this machine has ", "file " + theirs + ": is there already with other content", `missing: program no-such-engine: exec: "no-such-engine"`,
		"nowhere: cwd /no/such/folder: is no folder", `unasked: program no-such-probe: exec: "no-such-probe"`, `unstopped: program no-such-stop: exec: "no-such-stop"`,
		"background: command: a container that runs in the background", `there: program no-such-engine: node2: "no-such-engine": exit status 127`, "answered: port 127.0.0.1:",
	} {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, want) }) {
			t.Errorf("no %q", want)
		}
	}
	if len(got) != 9 {
		t.Errorf("%d problems: %q", len(got), got)
	}
}

func TestAPlaceThatAToolWouldReadAsAnOptionIsRefused(t *testing.T) {
	for want, p := range map[string]plan.Process{
		`arm a: process p: host "-x" is no name`:      {Name: "p", Argv: []string{"true"}, Host: "-x"},
		`arm a: process p: container "-x" is no name`: {Name: "p", Argv: []string{"true"}, Container: "-x"},
	} {
		dir := in(t, "arm")
		if _, err := Up(t.Context(), armOf(p), dir, Options{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%q: a folder was made", want)
		}
	}
}

func TestAMountThatTheArmNamesAndThatCameSinceIsLeftOver(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, Started{}, "")
	state, err := readState(dir)
	if err != nil || !slices.Contains(state.Mounts, "/proc") {
		t.Fatalf("%v, %v", state, err)
	}
	k := newKeeper(dir, nil)
	k.state = state
	names := func(word string) plan.Arm { return armOf(plan.Process{Name: "p", Argv: []string{"x", word}}) }
	if left, err := k.mounts(names("--dir=/proc/")); len(left) > 0 || err != nil {
		t.Errorf("it was there before: %v, %v", left, err)
	}
	k.state.Mounts = nil // all have come since
	if left, err := k.mounts(names("/no/such/place")); len(left) > 0 || err != nil {
		t.Errorf("none is named: %v, %v", left, err)
	}
	left, err := k.mounts(names("--dir=/proc/"))
	if err != nil || !slices.Contains(left, Leftover{KindMount, "", "/proc"}) {
		t.Errorf("%v, %v", left, err)
	}
	k.state.BootID = "another"
	if left, err := k.mounts(names("/proc")); len(left) > 0 || err != nil {
		t.Errorf("of another boot: %v, %v", left, err)
	}
}

func TestPathsAreFoundWhereverTheyStand(t *testing.T) {
	p := plan.Process{Name: "p", Cwd: "/a", Argv: []string{"x", "type=bind,src=/b/,dst=/c", "-v", "/d:/e:ro", "'/f'"}, Env: map[string]string{"K": "/g"}, Stop: plan.Stop{Argv: []string{"umount", "/h"}}}
	got := pathsOf(armOf(p))
	slices.Sort(got)
	if strings.Join(got, "") != "/a/b/c/d/e/f/g/h" {
		t.Errorf("%q", got)
	}
}

func TestTheDelayOfAProcessIsBeforeTheNext(t *testing.T) {
	first := doing("first", "wait", "DIARY", os.DevNull)
	first.Delay = 100 * time.Millisecond
	dir := t.TempDir()
	r := upIn(t, dir, armOf(first, doing("second", "wait", "DIARY", os.DevNull)))
	s := r.State().Processes
	if waited := s[1].StartedAt.Sub(s[0].StartedAt); waited < first.Delay {
		t.Errorf("%v", waited)
	}
	tails, err := Tails(dir, 5)
	if err != nil || len(tails) != 2 || tails[1].Log != filepath.Join(dir, LogsFolder, "second.log") || !slices.Equal(tails[1].Lines, []string{"it is ready"}) {
		t.Errorf("%+v, %v", tails, err)
	}
}

func TestAProcessIsNotGivenTheAddressOfNotices(t *testing.T) {
	t.Setenv(subprocess.NotifyVariable, "https://hooks.example/secret")
	env := strings.Join(environment(map[string]string{"WORD": "w"}), "\n")
	if strings.Contains(env, "secret") || !strings.Contains(env, "WORD=w") || !strings.Contains(env, "PATH=") {
		t.Errorf("%s", env)
	}
}
