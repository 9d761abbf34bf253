package arm

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// thereOf is the number of the process itself, which its shell wrote down.
func thereOf(t *testing.T, r *Running, name string) int {
	t.Helper()
	word, _, _ := strings.Cut(read(t, filepath.Join("/tmp", pidFile(r.State().Token, name))), " ")
	pid, err := strconv.Atoi(word)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestAProcessInAContainerOrOnAnotherMachineIsRunProbedAndEndedThere(t *testing.T) {
	const options = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=15 node2 "
	for name, given := range map[string]struct {
		container, host string
		words           string
	}{
		"container":                 {"box", "", "docker exec -i box sh\n"},
		"machine":                   {"", "node2", options + "sh\n"},
		"container on that machine": {"box", "node2", options + "docker exec -i box sh\n"},
	} {
		t.Run(name, func(t *testing.T) {
			_, calls := fakes(t)
			diary := in(t, "diary")
			p := doing("engine", "wait", "DIARY", diary, "KEY", "it's $HOME `hunter2`\n\"")
			p.Argv = append(p.Argv, "a b", "$(hunter2)")
			p.Container, p.Host, p.Cwd = given.container, given.host, t.TempDir()
			p.Ready = &plan.Probe{Argv: []string{"sh", "-c", `test "$KEY" = "$1" && test "$(pwd)" = "$2"`, "sh", p.Env["KEY"], p.Cwd}, Every: time.Millisecond}
			dir := t.TempDir()
			r := upIn(t, dir, armOf(p))
			until(t, "it is ready", func() bool { return strings.Contains(read(t, r.State().Processes[0].Log), "it is ready") })
			pid := thereOf(t, r, "engine")
			if args := read(t, "/proc/"+strconv.Itoa(pid)+"/cmdline"); !strings.HasSuffix(args, "\x00a b\x00$(hunter2)\x00") {
				t.Errorf("%q", args)
			}
			if !strings.Contains(calls(), given.words) || strings.Contains(calls(), "hunter2") {
				t.Errorf("%s", calls())
			}
			if image := r.Images(t.Context())["engine"]; (image == "sha256:9d8e7f") != (given.container != "") {
				t.Errorf("image %q", image)
			}
			rows, err := Look(t.Context(), armOf(p), dir)
			if err != nil || rows[0].State != StateAlive || rows[0].Note != "" || rows[0].Where != (place{host: p.Host, container: p.Container}).String() {
				t.Errorf("%+v, %v", rows, err)
			}
			if err := r.Down(t.Context()); err != nil || read(t, diary) != "engine SIGTERM\n" || lives(pid) {
				t.Errorf("%v, %q", err, read(t, diary))
			}
			if read(t, filepath.Join("/tmp", pidFile(r.State().Token, "engine"))) != "" {
				t.Error("its number is still written down")
			}
		})
	}
}

func TestWhatIsDeafElsewhereIsKilledThereWithWhatItStarted(t *testing.T) {
	fakes(t)
	diary := in(t, "diary")
	p := doing("engine", "family", "DIARY", diary)
	p.Host, p.Stop.Timeout = "node2", time.Second
	dir := t.TempDir()
	r := upIn(t, dir, armOf(p))
	pids := append(pidsIn(t, diary), thereOf(t, r, "engine"))
	left, err := Leftovers(t.Context(), armOf(p), dir)
	if err != nil || len(left) != 2 || !strings.HasSuffix(left[1].What, " in node2") {
		t.Fatalf("%v, %v", left, err)
	}
	named := strings.Split(strings.TrimSuffix(left[1].What, " in node2"), ", ")
	for _, pid := range pids {
		if !slices.Contains(named, strconv.Itoa(pid)) {
			t.Errorf("%d is not in %v", pid, left)
		}
	}
	if err := r.Down(t.Context()); err != nil || len(pids) != 3 {
		t.Errorf("%v, %v", pids, err)
	}
	expectGone(t, pids)
}

func TestAMachineThatCannotBeReachedMayStillRunIt(t *testing.T) {
	folder, _ := fakes(t)
	p := doing("engine", "wait", "DIARY", os.DevNull)
	p.Host = "node2"
	dir := t.TempDir()
	r := upIn(t, dir, armOf(p))
	pid := thereOf(t, r, "engine")
	appendTo(filepath.Join(folder, "unreachable"), "")
	err := r.Down(t.Context())
	if err == nil || !strings.Contains(err.Error(), "engine: node2 cannot be asked, so it may still run there: exit status 255") {
		t.Errorf("%v", err)
	}
	left, err := Leftovers(t.Context(), armOf(p), dir)
	if err != nil || len(left) != 1 || left[0].Kind != KindUnknown {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := Up(t.Context(), armOf(p), dir, Options{}); err == nil || !strings.Contains(err.Error(), "is up already") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(filepath.Join(folder, "unreachable")); err != nil {
		t.Fatal(err)
	}
	if err := Down(t.Context(), armOf(p), dir, testLog(t)); err != nil || lives(pid) {
		t.Errorf("%v", err)
	}
}

func TestWithItsContainerAProcessHasEnded(t *testing.T) {
	folder, _ := fakes(t)
	p := doing("engine", "wait", "DIARY", os.DevNull)
	p.Container = "box"
	appendTo(filepath.Join(folder, "stopped"), "")
	if _, err := Up(t.Context(), armOf(p), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "container box: docker: it is not running") {
		t.Errorf("%v", err)
	}
	if found := Check(t.Context(), armOf(p), Needs{}); len(found) != 1 || found[0].Result != Fails || !strings.Contains(found[0].String(), "it is not running") {
		t.Errorf("%v", found)
	}
	dir := t.TempDir()
	leave(t, dir, Started{Container: "box", Tool: "docker"}, "")
	if err := os.WriteFile(filepath.Join(folder, "docker"), []byte("#!/bin/sh\n[ $1 = inspect ] && echo false && exit\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if left, err := Leftovers(t.Context(), armOf(p), dir); len(left) > 0 || err != nil {
		t.Errorf("%v, %v", left, err)
	}
	if err := Down(t.Context(), plan.Arm{}, dir, testLog(t)); err != nil {
		t.Error(err)
	}
}

func TestAContainerThatOutlivesTheCommandThatRanItIsFoundByItsLabelAndStopped(t *testing.T) {
	for _, host := range []string{"", "node2"} {
		t.Run(cmp.Or(host, "here"), func(t *testing.T) {
			folder, calls := fakes(t)
			p := plan.Process{Name: "engine", Argv: []string{"docker", "--context", "spark", "run", "--rm", "vllm:1"}, Host: host, Ready: logged("it is ready")}
			dir := t.TempDir()
			r := upIn(t, dir, armOf(p))
			if !strings.Contains(calls(), "docker --context spark run --label "+label(r.State().Token)+" --rm vllm:1\n") {
				t.Fatal(calls())
			}
			if images := r.Images(t.Context()); len(images) != 1 || images["engine"] != "sha256:9d8e7f" {
				t.Errorf("images %v", images)
			}
			left, err := Leftovers(t.Context(), armOf(p), dir)
			if err != nil || !slices.Contains(left, Leftover{KindContainer, "engine", "box"}) {
				t.Errorf("%v, %v", left, err)
			}
			if err := r.Down(t.Context()); err != nil || !regexp.MustCompile(`docker stop -t [0-9]+ box\n`).MatchString(calls()) {
				t.Errorf("%v: %s", err, calls())
			}
			if _, err := os.Stat(filepath.Join(folder, "box")); err == nil {
				t.Error("the container is left")
			}
		})
	}
}

func TestOnlyACommandThatRunsAContainerGetsALabel(t *testing.T) {
	for words, want := range map[string]int{
		"docker run x": 1, "/usr/bin/podman run x": 1, "docker container run x": 2, "docker -H tcp://h run x": 3, "docker --debug run x": 2,
		"docker exec box run": 0, "docker ps": 0, "docker": 0, "sh run": 0, "docker --context run": 0,
	} {
		if got := runsContainer(strings.Fields(words)); got != want {
			t.Errorf("%s: %d, want %d", words, got, want)
		}
	}
}

func TestRootIsBySudoWhichPassesSignalsOn(t *testing.T) {
	_, calls := fakes(t)
	diary := in(t, "diary")
	k := newKeeper(t.TempDir(), testLog(t))
	k.root = false
	p := doing("engine", "wait", "DIARY", diary)
	p.Root = true
	r, err := k.up(t.Context(), armOf(p))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Down(t.Context()); err != nil {
		t.Error(err)
	}
	leader := strconv.Itoa(r.State().Processes[0].Leader.PID)
	want := []string{
		"sudo -n --preserve-env=" + act + ",DIARY,ME,UMASCOPE_ARM -- " + os.Args[0],
		"sudo -n kill -s TERM -- " + leader,
	}
	if got := strings.Split(strings.TrimSpace(calls()), "\n"); !slices.Equal(got, want) || read(t, diary) != "engine SIGTERM\n" {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWhatOutlivesWhatSudoRanGetsTheSignalToo(t *testing.T) {
	_, calls := fakes(t)
	child := in(t, "child")
	k := newKeeper(t.TempDir(), testLog(t))
	k.root = false
	p := doing("engine", "wait", "DIARY", os.DevNull)
	p.Root = true
	p.Argv = []string{"sh", "-c", `env -i setsid sh -c 'echo $$ >"$0"; exec sleep 3600' ` + child + ` & until [ -s ` + child + ` ]; do :; done; exec "$0"`, os.Args[0]}
	r, err := k.up(t.Context(), armOf(p))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := r.Down(t.Context()); err != nil || lives(pidsIn(t, child)[0]) || time.Since(begun) > 30*time.Second/2 {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
	if last := "sudo -n kill -s TERM -- " + strconv.Itoa(pidsIn(t, child)[0]) + "\n"; !strings.HasSuffix(calls(), last) {
		t.Errorf("%s", calls())
	}
}

func TestRootItselfNeedsNoSudo(t *testing.T) {
	_, calls := fakes(t)
	diary := in(t, "diary")
	k := newKeeper(t.TempDir(), testLog(t))
	k.root = true
	p := doing("engine", "wait", "DIARY", diary)
	p.Root = true
	r, err := k.up(t.Context(), armOf(p))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Down(t.Context()); err != nil || read(t, diary) != "engine SIGTERM\n" || calls() != "" {
		t.Errorf("%v, %q, %q", err, read(t, diary), calls())
	}
}

func TestWithoutRootTheLineForSudoersIsSaid(t *testing.T) {
	folder, _ := fakes(t)
	k := newKeeper("", nil)
	k.root = false
	arms := []plan.Arm{armOf(plan.Process{Name: "p", Argv: []string{"sh", "-c", "x"}, Root: true})}
	if _, err := k.checkRoot(t.Context(), arms, nil); err != nil {
		t.Error(err)
	}
	appendTo(filepath.Join(folder, "refused"), "")
	if _, err := k.checkRoot(t.Context(), []plan.Arm{armOf(plan.Process{Name: "p", Argv: []string{"sh"}})}, nil); err != nil {
		t.Errorf("nothing needs it: %v", err)
	}
	_, err := k.checkRoot(t.Context(), arms, []string{"/usr/bin/tee /proc/sys/vm/drop_caches"})
	sh, lookErr := exec.LookPath("sh")
	if lookErr != nil {
		t.Fatal(lookErr)
	}
	for _, part := range []string{"a password is required", " ALL=(root) NOPASSWD:SETENV: ", sh, "/kill", "/true", "/usr/bin/tee /proc/sys/vm/drop_caches"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("no %q in %v", part, err)
		}
	}
	k.root = true
	if _, err := k.checkRoot(t.Context(), arms, nil); err != nil {
		t.Errorf("root asks itself: %v", err)
	}
}

func TestNamesOfPlacesAreNoOptions(t *testing.T) {
	for _, p := range []place{{host: "-oProxyCommand=x"}, {host: "a b"}, {host: "a;b"}, {host: "u@-x"}, {container: "-x"}, {container: "a b"}, {tool: "sh"}} {
		if p.check() == nil {
			t.Errorf("%+v is taken", p)
		}
	}
	for _, p := range []place{{}, {host: "node2"}, {host: "nvidia@spark-1.local"}, {host: "10.0.0.2"}, {host: "fe80::1%eth0"}, {container: "a_b.c-1", tool: "podman"}} {
		if err := p.check(); err != nil {
			t.Error(err)
		}
	}
}

func TestAProgramIsFoundAsTheProcessWouldFindIt(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "engine")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, given := range []struct{ name, dir, path string }{{"engine", "", folder}, {"./engine", folder, ""}, {path, "", ""}, {"engine", "", "/nowhere:" + folder}} {
		env := map[string]string{}
		if given.path != "" {
			env["PATH"] = given.path
		}
		if got, err := program(given.name, given.dir, env); got != path || err != nil {
			t.Errorf("%+v: %q, %v", given, got, err)
		}
	}
	if _, err := program("engine", "", map[string]string{"PATH": "/nowhere:."}); err == nil {
		t.Error("found")
	}
	if _, err := program("engine-that-is-not-there", "", nil); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestTheAnswerOfAShellIsTheLastOne(t *testing.T) {
	for out, want := range map[string][]int{answerLine + " 1 2 \n": {1, 2}, "welcome\n" + answerLine + "\n": nil, answerLine + " 9\n" + answerLine + " 7": {7}} {
		if got, err := parseLeft(out); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", out, got, err)
		}
	}
	for _, out := range []string{"", "12", answerLine + " x", answerLine + " -1", answerLine + " 0"} {
		if got, err := parseLeft(out); err == nil {
			t.Errorf("%q: %v", out, got)
		}
	}
}

func FuzzTheAnswerOfAShellHasNumbersOnly(f *testing.F) {
	f.Add("welcome\n" + answerLine + " 12 13 \n")
	f.Fuzz(func(t *testing.T, out string) {
		pids, err := parseLeft(out)
		for _, pid := range pids {
			if pid <= 0 {
				t.Errorf("%v", pids)
			}
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q", err)
		}
	})
}

func FuzzAShellReadsAQuotedWordAsItIs(f *testing.F) {
	f.Add("it's \"$HOME\" `x` \\ \n *")
	f.Fuzz(func(t *testing.T, word string) {
		word = strings.ReplaceAll(word, "\x00", "") // no word of a command has one
		out, err := exec.Command("sh", "-c", "printf %s "+quote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q, %v, of %q", out, err, word)
		}
	})
}

func TestOfALongAnswerTheBeginningIsKept(t *testing.T) {
	text, err := ask(t.Context(), question{args: []string{"head", "-c", "4000000", "/dev/zero"}})
	if err != nil || len(text) != mostAnswer {
		t.Errorf("kept %d bytes (%v)", len(text), err)
	}
}
