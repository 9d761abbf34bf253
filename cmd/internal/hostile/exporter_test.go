package hostile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter"
)

// neighbour is a process of somebody else: with a hostile name, secrets in its environment and command line, and
// a file of secrets open.
func neighbour(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	named := filepath.Join(dir, "\x1b[31m|=<"+mark[:3]+">") // 15 bytes of it are its name
	if err := os.Symlink(shell, named); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(file(t, dir, "contents", secrets["a file of another"], 0o600))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	c := exec.Command(named, "-c", "sleep 600 & wait", "--api-key="+secrets["another's command line"])
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "OPENAI_API_KEY=" + secrets["another's environment"], "DYN_KVBM_CPU_CACHE_GB=4", "DYN_KVBM_TOKEN=" + secrets["another's environment"]}
	c.ExtraFiles, c.SysProcAttr = []*os.File{open}, &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
	})
	time.Sleep(200 * time.Millisecond) // until it has its name
}

// TestTheExporterTellsNoSecretOfItsNeighbours runs every verb that shows this machine beside such a process, and
// with engines whose pages are hostile.
func TestTheExporterTellsNoSecretOfItsNeighbours(t *testing.T) {
	neighbour(t)
	pages := page(t)
	engines := []string{"--process=<" + mark[:3] + ">", "--engine.url=" + pages + "/metrics?key=" + secrets["a query of a page"], "--kvbm.url=" + pages + "/metrics?key=" + secrets["a query of a page"], "--log.level=debug"}
	recording := filepath.Join(t.TempDir(), "host.txtar")
	kinds := map[string]int{}
	for name, test := range map[string]struct {
		kind string
		args []string
		want string
	}{
		"page":    {".prom", append([]string{"serve", "--once"}, engines...), "<" + mark[:3] + ">"},
		"explain": {".terminal", append([]string{"explain"}, engines[1:]...), ""},
		"fit":     {".terminal", append([]string{"fit"}, engines[1:]...), ""},
		"doctor":  {".terminal", append([]string{"doctor"}, engines[1:]...), ""},
		"record":  {".terminal", []string{"record", recording}, ""},
	} {
		var stdout, stderr buffer // a collector that is late for the page may tell that after it
		if code := exporter.Run(t.Context(), test.args, &stdout, &stderr); code != 0 {
			t.Errorf("%s: exit %d: %s", name, code, stderr.String())
		}
		if !strings.Contains(stdout.String(), test.want) {
			t.Errorf("%s does not show the neighbour at all", name)
		}
		judge(t, kinds, name+test.kind, []byte(stdout.String()))
		judge(t, kinds, name+"'s log.terminal", []byte(stderr.String()))
	}
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	judge(t, kinds, "recording.log", text) // kernel files, byte for byte but for what is masked
	if kinds[".prom"] == 0 || kinds[".log"] == 0 {
		t.Error(errors.New("nothing was looked at"), kinds)
	}
}
