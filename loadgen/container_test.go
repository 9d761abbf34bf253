package loadgen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

// inspected is what docker says of a running container, with what must not be recorded.
const inspected = `[{"Id":"4f1c0d","Name":"/engine","Path":"vllm","Args":["serve","--api-key","hunter2"],"Image":"sha256:9d8e7f",
"State":{"Running":true,"StartedAt":"2026-11-20T10:00:00.5Z"},
"Config":{"Image":"vllm/vllm-openai:v0.12","Env":["HF_TOKEN=hunter2"],"Cmd":["--api-key","hunter2"]},
"HostConfig":{"Memory":137438953472,"ShmSize":67108864,"IpcMode":"host","Binds":["/data:/data"],"LogConfig":{"Type":"json-file"}}}]`

// tool puts a program called docker on the path, which answers as a shell script says, and no podman.
func tool(t *testing.T, script string) {
	t.Helper()
	folder := t.TempDir()
	text := "#!/bin/sh\ncase \"$1 $2\" in\n" + script + "\n*) echo \"unexpected: $*\" >&2; exit 9;;\nesac\n"
	if err := os.WriteFile(filepath.Join(folder, "docker"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":/usr/bin:/bin")
}

func toolAnswers(inspect, logs string) string {
	return "'inspect --type') cat <<'X'\n" + inspect + "\nX\n;;\n" +
		"'image inspect') echo '[{\"RepoDigests\":[\"vllm/vllm-openai@sha256:aa\"],\"RootFS\":{\"Layers\":[\"sha256:1\",\"sha256:2\"]}}]';;\n" +
		"'diff engine') printf 'C /usr/lib/vllm/hunter2.py\\nA /tmp/y.py\\n';;\n" +
		"'logs --timestamps') " + logs + ";;"
}

func TestTheContainerOfTheEngineIsInTheManifest(t *testing.T) {
	tool(t, toolAnswers(inspected, `echo "2026 hello"; echo "2026 trouble with plum-key-1234" >&2`))
	dir, _, _ := completed(t, "--header=X-Token:plum-key-1234", "--url", engine(t, time.Millisecond), "--requests=1", "--warmup=0", "--output-tokens=2", "--engine=vllm", "--container=engine")
	c := manifestOf(t, dir).Container
	if c == nil || c.Image != "vllm/vllm-openai:v0.12" || c.ImageID != "sha256:9d8e7f" || len(c.Digests) != 1 || c.ID != "4f1c0d" || string(c.HostConfig["Memory"]) != "137438953472" || c.LogError != "" {
		t.Errorf("container %+v", c)
	}
	if _, there := c.HostConfig["LogConfig"]; there {
		t.Error("a setting that decides nothing is recorded")
	}
	text, err := os.ReadFile(filepath.Join(dir, rundir.ManifestFile))
	if err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("the manifest holds a secret (%v)", err)
	}
	log, err := os.ReadFile(filepath.Join(dir, rundir.LogsFolder, "container-engine.log"))
	if err != nil || !strings.Contains(string(log), "2026 hello\n") || !strings.Contains(string(log), "2026 trouble with [redacted]\n") {
		t.Errorf("log %q (%v)", log, err)
	}
}

func TestAContainerThatIsNotThereIsOneClearLine(t *testing.T) {
	for name, test := range map[string]struct{ script, says string }{
		"absent":      {"'inspect --type') echo 'Error: No such container: engine' >&2; exit 1;;", "--container: docker inspect: exit status 1: Error: No such container: engine"},
		"stopped":     {toolAnswers(strings.Replace(inspected, `"Running":true`, `"Running":false`, 1), "true"), "container engine is not running"},
		"garbage":     {toolAnswers("<html>", "true"), "not the description of one container"},
		"two":         {toolAnswers("[{},{}]", "true"), "not the description of one container"},
		"image is --": {toolAnswers(strings.Replace(inspected, "sha256:9d8e7f", "--help", 1), "true"), "is no id of an image"},
	} {
		t.Run(name, func(t *testing.T) {
			tool(t, test.script)
			code, folder, _, stderr := invoke(t, t.Context(), "--url", engine(t, time.Millisecond), "--engine=vllm", "--container=engine", "--log.level=error")
			if code != exitUsage || !strings.Contains(stderr, test.says) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d: %s", code, stderr)
			}
			if _, err := os.Stat(folder); err == nil {
				t.Error("a folder is left of a run that never began")
			}
		})
	}
	t.Setenv("PATH", t.TempDir())
	if code, _, _, stderr := invoke(t, t.Context(), "--url", engine(t, time.Millisecond), "--engine=vllm", "--container=engine", "--log.level=error"); code != exitUsage || !strings.Contains(stderr, "neither docker nor podman is installed") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, _, stderr := invoke(t, t.Context(), "--url=http://127.0.0.1:1", "--container=--privileged"); code != exitUsage || !strings.Contains(stderr, "is no name or id of a container") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestAContainerThatIsGoneAfterwardsIsAWarning(t *testing.T) {
	tool(t, toolAnswers(inspected, "echo part; exit 1"))
	dir, _, _ := completed(t, "--url", engine(t, time.Millisecond), "--requests=1", "--warmup=0", "--output-tokens=2", "--engine=vllm", "--container=engine")
	if w := summaryOf(t, dir).Warnings; !strings.Contains(strings.Join(w, "\n"), "--container: its log is not complete") {
		t.Errorf("warnings %q", w)
	}
}

func TestCommandsAreCapturedBeforeAndAfterTheLoad(t *testing.T) {
	dir, _, _ := completed(t, "--url", engine(t, time.Millisecond), "--requests=1", "--warmup=0", "--output-tokens=2", "--engine=vllm",
		"--capture=free=echo key-hunter2; echo oops >&2", "--capture=broken=exit 7")
	for _, when := range []string{"before", "after"} {
		if text, err := os.ReadFile(filepath.Join(dir, rundir.CapturesFolder, "free-"+when+".txt")); err != nil || string(text) != "key-hunter2\noops\n" {
			t.Errorf("%s the load: %q (%v)", when, text, err)
		}
	}
	m := manifestOf(t, dir)
	if len(m.Captures) != 4 || m.Captures[0] != (rundir.Capture{Name: "free", When: "before", ExitCode: 0, Seconds: m.Captures[0].Seconds, Cut: false}) || m.Captures[3].ExitCode != 7 || m.Captures[3].When != "after" {
		t.Errorf("captures %+v", m.Captures)
	}
	if text, err := os.ReadFile(filepath.Join(dir, rundir.ManifestFile)); err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("a command is recorded (%v): %s", err, text)
	}
	if w := summaryOf(t, dir).Warnings; !strings.Contains(strings.Join(w, "\n"), "--capture broken, after the load: exit 7") {
		t.Errorf("warnings %q", w)
	}
}

func TestACaptureThatMakesNoSenseIsRefused(t *testing.T) {
	for _, flags := range [][]string{{"--capture=x"}, {"--capture=../x=true"}, {"--capture=x= "}, {"--capture=x=true", "--capture=x=true"}} {
		if code, _, _, stderr := invoke(t, t.Context(), append(flags, "--url=http://127.0.0.1:1")...); code != exitUsage || !strings.Contains(stderr, "--capture: ") {
			t.Errorf("%q: exit %d: %s", flags, code, stderr)
		}
	}
}

func TestTheEnginesLogOfItsStartTellsItsMemory(t *testing.T) {
	log, err := filepath.Abs("enginelog/testdata/vllm-0.24.0.log")
	if err != nil {
		t.Fatal(err)
	}
	tool(t, toolAnswers(inspected, "true")+"\n'logs --since') cat "+log+" >&2;;")
	dir, _, _ := completed(t, "--url", engine(t, time.Millisecond), "--requests=1", "--warmup=0", "--output-tokens=2", "--engine=vllm", "--container=engine")
	e := summaryOf(t, dir).Memory.EngineReported
	if e == nil || *e.KVTokens != 223152 || *e.KV != 11.92*(1<<30) || e.Peak != nil || e.Source != "the log of container engine" {
		t.Errorf("%+v", e)
	}
}
