package arm

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// found are the findings of an arm, with their results.
func found(t *testing.T, spec plan.Arm, needs Needs) []string {
	t.Helper()
	var all []string
	for _, one := range Check(t.Context(), spec, needs) {
		all = append(all, string(one.Result)+" "+one.String())
	}
	return all
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	for _, one := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, one) }) {
			t.Errorf("no %q among\n%s", one, strings.Join(got, "\n"))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d findings, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
}

func TestTheImageAndTheMountsOfAContainerAreChecked(t *testing.T) {
	folder, _ := fakes(t)
	models, dir := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(models, "seven"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(image string, more ...string) plan.Arm {
		argv := []string{"docker", "run", "--rm", "-it", "-p", "8000:8000", "--volume=" + models + ":/models:ro", "--mount", "type=bind,src=" + dir + "/made,dst=/arm", "-v", "cache:/cache", image, "vllm", "serve"}
		return armOf(plan.Process{Name: "engine", Argv: append(argv, more...)})
	}
	needs := Needs{Dir: dir}
	good := []string{"ok engine: program docker: " + folder, "ok engine: docker: answers", "ok engine: image vllm:1: is there", "ok engine: mount " + models + ": is there"}
	expect(t, found(t, run("vllm:1", "/models/seven"), needs), append(good, "ok engine: model "+models+"/seven: is there")...)
	expect(t, found(t, run("vllm:1", "/models/eight"), needs), append(good, "fails engine: model "+models+"/eight: does not exist")...)
	expect(t, found(t, run("vllm:1", "--tokenizer=/root/tokens"), needs), append(good, "not checked engine: model /root/tokens: is a path in the image")...)
	expect(t, found(t, run("vllm:1", "Qwen/Qwen3-8B"), needs), good...)
	appendTo(filepath.Join(folder, "imageless"), "")
	expect(t, found(t, run("vllm:1"), needs), good[0], good[1], "fails engine: image vllm:1: is not there: docker pull vllm:1 (exit status 1)", good[3])
	pulled := run("vllm:1")
	pulled.Processes[0].Argv = slices.Insert(pulled.Processes[0].Argv, 2, "--pull=always")
	expect(t, found(t, pulled, needs), good[0], good[1], "not checked engine: image vllm:1: docker pulls it", good[3])
	appendTo(filepath.Join(folder, "mute"), "")
	expect(t, found(t, run("vllm:1"), needs), good[0], "fails engine: docker: exit status 1")
}

func TestPathsOfModelsAreCheckedWhereTheProcessRuns(t *testing.T) {
	folder, _ := fakes(t)
	models, missing := t.TempDir(), in(t, "missing")
	serve := func(change func(*plan.Process), argv ...string) plan.Arm {
		p := plan.Process{Name: "engine", Argv: append([]string{"sh"}, argv...)}
		change(&p)
		return armOf(p)
	}
	here := func(*plan.Process) {}
	expect(t, found(t, serve(here, "--model", models, "-m", missing), Needs{}), "ok engine: program sh: /", "ok engine: model "+models, "fails engine: model "+missing+": does not exist")
	there := func(p *plan.Process) { p.Host = "node2" }
	expect(t, found(t, serve(there, "serve", missing), Needs{}), "ok engine: ssh node2: runs a command", "ok engine: program sh: ", "fails engine: model "+missing+": does not exist")
	inside := func(p *plan.Process) { p.Container = "box" }
	expect(t, found(t, serve(inside, "serve", models), Needs{}), "ok engine: container box: runs", "ok engine: program sh: ", "ok engine: model "+models+": is there")
	appendTo(filepath.Join(folder, "unreachable"), "")
	expect(t, found(t, serve(there, "serve", models), Needs{}), "fails engine: ssh node2: exit status 255")
	rooted := plan.Process{Name: "engine", Argv: []string{"chroot", models, "trtllm-serve", "/seven"}}
	expect(t, found(t, armOf(rooted), Needs{}), "ok engine: program chroot: ", "fails engine: model "+models+"/seven: does not exist")
	rooted.Argv[0] = "unshare"
	expect(t, found(t, armOf(rooted), Needs{}), "ok engine: program unshare: ", "not checked engine: model /seven: the process has a root of its own")
}

func TestPortsAreFreeBeforeAnArmStarts(t *testing.T) {
	status := http.StatusServiceUnavailable
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	taken := server.Listener.Addr().(*net.TCPAddr)
	free := address(t)
	with := func(probe plan.Probe) plan.Arm {
		return armOf(plan.Process{Name: "engine", Argv: []string{"sh"}, Ready: &probe})
	}
	const sh = "ok engine: program sh: "
	expect(t, found(t, with(plan.Probe{URL: "http://" + free + "/health"}), Needs{URLs: []string{"http://" + free}}), sh, "ok engine: port "+free+": free")
	expect(t, found(t, with(plan.Probe{Port: taken.Port}), Needs{}), sh, "fails engine: port "+taken.String()+": something else answers there")
	expect(t, found(t, with(plan.Probe{URL: server.URL}), Needs{}), sh, "not checked engine: port "+taken.String()+": something listens there and is not ready")
	status = http.StatusOK
	expect(t, found(t, with(plan.Probe{URL: server.URL}), Needs{}), sh, "fails engine: port "+taken.String()+": something else answers there")
	expect(t, found(t, with(plan.Probe{URL: server.URL}), Needs{LeftOver: true}), sh, "not checked engine: port "+taken.String()+": what is left of the last invocation")
	expect(t, found(t, with(plan.Probe{Log: "x"}), Needs{URLs: []string{server.URL}}), sh, "not checked server "+taken.String()+": something answers there before")
	expect(t, found(t, plan.Arm{Name: "a"}, Needs{URLs: []string{server.URL}}), "ok server "+taken.String()+": answers")
	expect(t, found(t, plan.Arm{Name: "a"}, Needs{URLs: []string{server.URL, "http://" + free}}), "ok server "+taken.String()+": answers", "not checked server "+free+": does not answer, and the arm starts none")
	expect(t, found(t, plan.Arm{Name: "a"}, Needs{URLs: []string{"http://" + free}}), "not checked server "+free+": does not answer, and the arm starts none")
}

// FuzzReadContainerRun: what is read of a command are words of it, and no option is an image.
func FuzzReadContainerRun(f *testing.F) {
	for _, seed := range []string{"--rm -it -v /a:/b image x", "-p8000:8000 image", "--pull", "--mount type=bind,src=/a,dst=/b i", "-", "--volume=:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Fields(text)
		run := readContainerRun(words)
		if run.image == "" && len(run.command) > 0 || strings.HasPrefix(run.image, "-") {
			t.Errorf("%q: %+v", text, run)
		}
		if run.image != "" && !slices.Equal(words[len(words)-len(run.command)-1:], append([]string{run.image}, run.command...)) {
			t.Errorf("%q: %+v", text, run)
		}
		for _, m := range run.mounts {
			if !filepath.IsAbs(m.from) {
				t.Errorf("%q: %+v", text, m)
			}
		}
		for _, path := range modelPaths(run.command) {
			if from, ok := run.outside(path); !filepath.IsAbs(path) || ok && !filepath.IsAbs(from) {
				t.Errorf("%q: %q is %q", text, path, from)
			}
		}
	})
}
