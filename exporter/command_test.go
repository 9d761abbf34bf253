package exporter_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/tools/txtar"
)

// commandDir is where the command is built, for as long as the tests run.
var commandDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "uma-exporter")
	if err != nil {
		panic(err)
	}
	commandDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// buildCommand builds uma-exporter once: exit codes and streams are checked on what people run.
var buildCommand = sync.OnceValues(func() (string, error) {
	path := filepath.Join(commandDir, "uma-exporter")
	out, err := exec.Command("go", "build", "-o", path, "../cmd/uma-exporter").CombinedOutput()
	if err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return path, nil
})

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := buildCommand()
	must(t, err)
	return exec.CommandContext(t.Context(), path, args...)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantIn finds the texts that a page or an output lacks, wantNotIn those that it must not have.
func wantIn(t *testing.T, text string, want ...string) {
	t.Helper()
	wantSeries(t, text, true, want...)
}

func wantNotIn(t *testing.T, text string, unwanted ...string) {
	t.Helper()
	wantSeries(t, text, false, unwanted...)
}

// run returns exit code, stdout and stderr.
func run(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := command(t, args...)
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

func TestBadInputIsOneLineThatNamesItAndExitTwo(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	empty := t.TempDir()
	garbage := t.TempDir()
	file := filepath.Join(garbage, "meminfo")
	must(t, os.WriteFile(file, []byte("not a table\n"), 0o600))
	copied := filepath.Join(unpack(t, "no-gpu"), "proc")
	bare := filepath.Join(garbage, "bare.txtar")
	if err := os.WriteFile(bare, []byte("kind: recorded\npage_size: 4096\n-- nvml.jsonl --\n"+`{"format":"umascope nvml recording","version":1}
{"device":-1,"call":"nvmlInit_v2","return":12,"duration_ns":219251}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(empty, "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	piped, broken := filepath.Join(empty, "piped"), filepath.Join(empty, "broken")
	must(t, os.Mkdir(piped, 0o700))
	must(t, syscall.Mkfifo(filepath.Join(piped, "model.safetensors"), 0o600))
	must(t, os.Mkdir(broken, 0o700))
	must(t, os.WriteFile(filepath.Join(broken, "model.safetensors.index.json"), []byte(`{"weight_map":{"a":"model-2.safetensors"}}`), 0o600))
	tests := []struct {
		name string
		args []string
		says string
	}{
		{"port in use", []string{"--web.listen-address=" + taken.Addr().String()}, "--web.listen-address " + taken.Addr().String() + ": address already in use; port 0 takes one that is free"},
		{"no port at all", []string{"--web.listen-address=nowhere"}, "--web.listen-address nowhere: address nowhere: missing port in address; want HOST:PORT, such as 127.0.0.1:10420, or :10420 for all addresses"},
		{"unknown flag", []string{"--bogus"}, "unknown flag --bogus: uma-exporter serve --help lists"},
		{"flag like another", []string{"--web.listen-adress=:1"}, "did you mean --web.listen-address?"},
		{"flag of another verb", []string{"explain", "--once"}, "--once is no flag of explain, but of serve"},
		{"unknown command", []string{"frobnicate"}, `unknown verb "frobnicate": uma-exporter --help lists`},
		{"command like another", []string{"docter"}, `unknown verb "docter": did you mean doctor?`},
		{"log level that is none", []string{"--log.level=loud", "--once"}, "--log.level loud"},
		{"unknown collector", []string{"--collector.nosuch"}, "--collector.nosuch"},
		{"empty proc root", []string{"--path.procfs=" + empty}, "--path.procfs " + empty},
		{"empty proc root, once", []string{"--once", "--path.procfs=" + empty}, "--path.procfs " + empty},
		{"proc root that is none", []string{"--once", "--path.procfs=" + garbage}, "--path.procfs " + garbage},
		{"empty proc root, record", []string{"record", "--path.procfs=" + empty, filepath.Join(empty, "x")}, "--path.procfs " + empty},
		{"record of copied files", []string{"record", "--path.procfs=" + copied, filepath.Join(empty, "x")}, "--path.procfs " + copied},
		{"unwritable recording of a host", []string{"record", filepath.Join(file, "x")}, filepath.Join(file, "x")},
		{"unwritable recording of calls", []string{"--once", "--nvml.record=" + filepath.Join(file, "x")}, "--nvml.record " + filepath.Join(file, "x")},
		{"recording that is not there", []string{"--once", "--nvml.replay=" + filepath.Join(empty, "x")}, "--nvml.replay " + filepath.Join(empty, "x")},
		{"recording that is none", []string{"--once", "--nvml.replay=" + file}, "--nvml.replay " + file},
		{"recording that is a pipe", []string{"--once", "--nvml.replay=" + pipe}, "--nvml.replay " + pipe + ": not a regular file"},
		{"machine that is not there", []string{"--once", "--replay=" + filepath.Join(empty, "x")}, "--replay " + filepath.Join(empty, "x") + ": no such file"},
		{"machine that is none", []string{"explain", "--replay=" + file}, "--replay " + file + ": header"},
		{"machine that is a pipe", []string{"doctor", "--replay=" + pipe}, "--replay " + pipe + ": not a regular file"},
		{"machine that is a folder", []string{"doctor", "--replay=" + empty}, "--replay " + empty + ": not a regular file"},
		{"machine without memory", []string{"--once", "--replay=" + bare}, "--replay " + bare + ": has no meminfo"},
		{"machine beside another", []string{"--once", "--replay=hosts/no-gpu.txtar", "--path.sysfs=/sys"}, "--replay hosts/no-gpu.txtar: is a whole machine, so --path.sysfs cannot be given too"},
		{"machine beside another's GPU", []string{"--once", "--replay=hosts/no-gpu.txtar", "--nvml.replay=" + file}, "so --nvml.replay cannot be given too"},
		{"machine whose engine is given twice", []string{"--once", "--replay=hosts/engines.txtar", "--engine.url=http://127.0.0.1:8080"}, "--replay hosts/engines.txtar: 127.0.0.1:8080/metrics is named twice"},
		{"model that is not there", []string{"fit", "--model=" + filepath.Join(empty, "x")}, "--model " + filepath.Join(empty, "x") + ": no such file or directory: want a folder of this machine with a model's weights, or a GGUF file"},
		{"model that is a file", []string{"fit", "--model=" + file}, "--model " + file + ": is neither a folder nor a .gguf file"},
		{"model without weights", []string{"fit", "--model=" + empty}, "--model " + empty + ": has no weights"},
		{"model whose file is a pipe", []string{"fit", "--model=" + piped}, "--model " + piped + ": model.safetensors: not a regular file"},
		{"model that was not copied whole", []string{"fit", "--model=" + broken}, "--model " + broken + `: "model-2.safetensors", which model.safetensors.index.json lists, is not there`},
		{"type of a cache without a model", []string{"fit", "--kv-cache-dtype=fp8"}, "--kv-cache-dtype: is about a model"},
		{"type of a cache that is none", []string{"fit", "--kv-cache-dtype=int3"}, `--kv-cache-dtype: "int3" is none of auto, bf16`},
		{"GPU that is not there", []string{"fit", "--gpu=7", "--replay=hosts/gb10-idle.txtar"}, "--gpu 7: there is none; the machine has 1"},
		{"reserve that is none", []string{"fit", "--reserve=-1"}, `--reserve: "-1"`},
		{"impossible limit", []string{"--web.max-requests=0"}, `--web.max-requests: "0" is not a whole number of 1 or more`},
		{"impossible duration", []string{"--once", "--collect.timeout=-1s"}, `--collect.timeout: "-1s" is not a duration`},
		{"unknown architecture", []string{"--once", "--gpu.memory-architecture=flat"}, `--gpu.memory-architecture: "flat" is none of discrete`},
		{"path of the working directory", []string{"--once", "--memory.cache-path=models"}, `--memory.cache-path: "models" is not an absolute path`},
		{"path that stands twice", []string{"explain", "--memory.cache-path=/a", "--memory.cache-path=/a"}, `--memory.cache-path: "/a" is given twice`},
		{"impossible path", []string{"--web.telemetry-path=metrics"}, "--web.telemetry-path"},
		{"path that no request can have", []string{"--web.telemetry-path=//metrics"}, "--web.telemetry-path"},
		{"web configuration missing", []string{"--web.listen-address=127.0.0.1:0", "--web.config.file=" + filepath.Join(empty, "x")}, "--web.config.file " + filepath.Join(empty, "x")},
		{"health address that is none", []string{"healthcheck", "--url=foo"}, "--url: not an http or https address"},
		{"health address of another kind", []string{"healthcheck", "--url=ftp://user:s3cret@host"}, "--url: not an http or https address"},
		{"health address that cannot be parsed", []string{"healthcheck", "--url=http://user:s3cret@host:port"}, "--url: not an http or https address"},
		{"recorder without a folder", []string{"--recorder", "--recorder.folder=" + filepath.Join(empty, "x")}, "--recorder.folder " + filepath.Join(empty, "x") + ": no such file"},
		{"recorder in a file", []string{"--recorder", "--recorder.folder=" + file}, "--recorder.folder " + file + ": not a folder"},
		{"recorder of a recording", []string{"--recorder", "--recorder.folder=" + empty, "--replay=hosts/no-gpu.txtar"}, "--recorder: records this machine"},
		{"recorder of one page", []string{"--recorder", "--once"}, "--recorder: records while the exporter serves"},
		{"last boot without a ring", []string{"explain", "--last-boot", "--recorder.folder=" + empty}, "--last-boot: " + empty + ": nothing was recorded there. The flight recorder is off by default: uma-exporter --recorder starts it"},
		{"last boot, again and again", []string{"explain", "--last-boot", "--watch"}, "--watch: has no meaning with --last-boot"},
		{"last boot of a recording", []string{"explain", "--last-boot", "--replay=hosts/no-gpu.txtar"}, "--replay: has no meaning with --last-boot"},
		{"unknown shell", []string{"completion", "tcsh"}, "tcsh"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, stdout, stderr := run(t, test.args...)
			if code != 2 || stdout != "" {
				t.Errorf("exit %d, stdout %q", code, stdout)
			}
			if !strings.HasPrefix(stderr, "uma-exporter: ") || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, test.says) {
				t.Errorf("stderr is not one line that says %q:\n%s", test.says, stderr)
			}
			if strings.Contains(stderr, "s3cret") {
				t.Errorf("stderr tells the password: %s", stderr)
			}
		})
	}
}

func TestCommandsForPeopleExitZeroWhateverIsMissing(t *testing.T) {
	empty := t.TempDir()
	for _, args := range [][]string{
		{"explain"}, {"fit"}, {"fit", "--json"}, {"doctor"}, {"--once"}, {"completion", "bash"}, {"completion", "zsh"}, {"--version"}, {"--help"}, {"serve", "--help"},
		{"explain", "--path.procfs=" + empty, "--path.sysfs=" + empty, "--path.cgroupfs=" + empty},
		{"fit", "--path.procfs=" + empty, "--path.sysfs=" + empty, "--path.cgroupfs=" + empty},
		{"doctor", "--path.procfs=" + empty, "--path.sysfs=" + empty, "--path.cgroupfs=" + empty},
	} {
		code, stdout, stderr := run(t, args...)
		if code != 0 || stdout == "" {
			t.Errorf("%v: exit %d, %d bytes printed, stderr %s", args, code, len(stdout), stderr)
		}
	}
}

func TestOncePrintsOneExposition(t *testing.T) {
	_, stdout, _ := run(t, "--once", "--no-collector.gpu")
	wantIn(t, stdout, "uma_memory_pool_bytes ", `uma_exporter_mode{mode="live"} 1`, `uma_collector_state{collector="memory",state="ok"} 1`)
	wantNotIn(t, stdout, `collector="gpu"`, "go_goroutines")
	_, stdout, _ = run(t, "--once", "--collector.disable-defaults", "--collector.host")
	if strings.Contains(stdout, `collector="memory"`) || !strings.Contains(stdout, `collector="host"`) {
		t.Error("--collector.disable-defaults does not leave only the collectors named")
	}
}

func TestRecordedCallsAreServedAgain(t *testing.T) {
	recording := filepath.Join(t.TempDir(), "nvml.jsonl")
	if code, _, stderr := run(t, "--once", "--nvml.record="+recording); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	code, stdout, stderr := run(t, "--once", "--nvml.replay="+recording)
	if code != 0 || !strings.Contains(stdout, `uma_exporter_mode{mode="replay"} 1`) || !strings.Contains(stdout, `uma_exporter_mode{mode="live"} 0`) {
		t.Errorf("exit %d, page is not labelled replay: %s", code, stderr)
	}
	if strings.Contains(stdout, `line="gpu_process"`) {
		t.Error("the recording of one machine is in the ledger of another")
	}
}

func TestRecordWritesAnArchive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.txtar")
	code, _, stderr := run(t, "record", "--description=a test", path)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	text, err := os.ReadFile(path)
	must(t, err)
	wantIn(t, string(text), "kind: recorded", "a test", "recorded_with: uma-exporter ", "-- proc/meminfo --")
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("%d files left in the folder", len(entries))
	}
}

// serve starts a server on a free port and returns it with the address of its metrics.
func serve(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	c := command(t, append(args, "--web.listen-address=127.0.0.1:0")...)
	stdout, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	must(t, err)
	address, found := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if !found {
		t.Fatalf("prints %q", line)
	}
	return c, address
}

// TestServedPageAndHealthUntilTheSignal also covers the healthcheck command: a healthy server,
// and none.
func TestServedPageAndHealthUntilTheSignal(t *testing.T) {
	c, address := serve(t)
	response, err := http.Get(address)
	must(t, err)
	page, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || !strings.Contains(string(page), "uma_memory_pool_bytes") {
		t.Errorf("page of %d bytes, %v", len(page), err)
	}
	health := strings.TrimSuffix(address, "/metrics") + "/-/healthy"
	if code, _, stderr := run(t, "healthcheck", "--url="+health); code != 0 {
		t.Errorf("healthcheck of a healthy server: exit %d: %s", code, stderr)
	}
	must(t, c.Process.Signal(syscall.SIGINT))
	if err := c.Wait(); err != nil {
		t.Errorf("after SIGINT: %v", err)
	}
	if code, _, stderr := run(t, "healthcheck", "--url="+health); code != 1 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "nothing listens there: start uma-exporter") {
		t.Errorf("healthcheck of no server: exit %d: %s", code, stderr)
	}
}

func TestWatchPrintsAgainUntilTheSignal(t *testing.T) {
	c := command(t, "explain", "--watch", "--direct") // whatever runs at the usual address
	stdout, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	seen := bufio.NewReader(stdout)
	for pages := 0; pages < 2; {
		line, err := seen.ReadString('\n')
		must(t, err)
		if strings.Contains(line, "mode live") {
			pages++
		}
	}
	must(t, c.Process.Signal(os.Interrupt))
	go io.Copy(io.Discard, seen)
	if err := c.Wait(); err != nil {
		t.Errorf("after SIGINT: %v", err)
	}
}

// unpack writes an archive as files, the way a host's own proc, sys and cgroup trees look.
func unpack(t *testing.T, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("hosts", name+".txtar"))
	must(t, err)
	root := t.TempDir()
	for _, file := range archive.Files {
		place, target, isLink := strings.Cut(file.Name, " -> ")
		path := filepath.Join(root, filepath.FromSlash(place))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if isLink {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, file.Data, 0o600)
		}
		must(t, err)
	}
	return root
}

func TestRecordingWithItsOwnFilesIsTheWholeHost(t *testing.T) {
	root := unpack(t, "gb10-load")
	code, stdout, stderr := run(t, "--once", "--nvml.replay="+filepath.Join(root, "nvml.jsonl"),
		"--path.procfs="+filepath.Join(root, "proc"), "--path.sysfs="+filepath.Join(root, "sys"), "--path.cgroupfs="+filepath.Join(root, "sys/fs/cgroup"))
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	wantIn(t, stdout,
		`uma_exporter_mode{mode="replay"} 1`,
		`uma_memory_ledger_bytes{line="gpu_process"} 1.00968431616e+11`, // 100739842048 + 228589568
		`comm="VLLM::EngineCor"`,
		`uma_collector_state{collector="gpu",state="ok"} 1`, `uma_collector_state{collector="memory",state="ok"} 1`, `uma_collector_state{collector="nvme",state="ok"} 1`,
	)
}

func TestRecordedGPUStaysOutOfTheLedgerOfTheLiveHost(t *testing.T) {
	root := unpack(t, "gb10-load")
	elsewhere := filepath.Join(t.TempDir(), "proc") // as a container has the host's procfs
	must(t, os.Symlink("/proc", elsewhere))
	for _, proc := range []string{"/proc", "/proc/", elsewhere} {
		code, stdout, stderr := run(t, "--once", "--nvml.replay="+filepath.Join(root, "nvml.jsonl"), "--path.procfs="+proc)
		if code != 0 {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		wantIn(t, stdout, `uma_exporter_mode{mode="replay"} 1`, `name="NVIDIA GB10"`, `uma_gpu_process_memory_bytes{cgroup="",comm="",pid="6330"`)
		wantNotIn(t, stdout, `line="gpu_process"`, "uma_memory_cuda_free_bytes", "uma_gpu_process_list_trusted{")
	}
}

func TestRecordedFilesWithTheLiveDriverAreLabelledAndGetNoneOfItsMemory(t *testing.T) {
	root := unpack(t, "gb10-load")
	code, stdout, stderr := run(t, "--once", "--path.procfs="+filepath.Join(root, "proc"), "--path.sysfs="+filepath.Join(root, "sys"), "--path.cgroupfs="+filepath.Join(root, "sys/fs/cgroup"))
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	wantIn(t, stdout, `uma_exporter_mode{mode="live"} 0`, `uma_exporter_mode{mode="replay"} 1`, "uma_memory_pool_bytes 1.30663165952e+11", `memory_architecture="unknown"`)
}
