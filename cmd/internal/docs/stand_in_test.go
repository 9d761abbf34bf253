//go:build proof

package docs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A stand-in is a program in the reader's PATH. Those of the project start the real one; foreign ones check their
// arguments as the real one would, and do the simulated equivalent. The accepted arguments are in testdata/foreign.
type program struct {
	foreign bool
	run     func(ctx context.Context, args []string) error
}

func standIns() map[string]program {
	return map[string]program{
		"go":           {true, goTool},
		"uma-load":     {false, umaLoad},
		"uma-exporter": {false, umaExporter},
		"uma-gen":      {false, real("uma-gen")},
		"uma-demo":     {false, real("uma-demo")},
		"trtllm-serve": {true, trtllmServe},
		"vllm":         {true, vllm},
		"llama-server": {true, llamaServer},
		"ollama":       {true, ollama},
		"python3":      {true, python},
		"docker":       {true, docker},
		"sudo":         {true, sudo},
		"chroot":       {true, chroot},
		"hf":           {true, huggingFace},
		"ldconfig":     {true, ldconfig},
		"git":          {true, git},
	}
}

func standInNames() []string { return slices.Sorted(maps.Keys(standIns())) }

// exitError ends a stand-in with a code.
type exitError int

func (e exitError) Error() string { return "exit " + strconv.Itoa(int(e)) }

// standIn is the main of all of them.
func standIn(name string, args []string) int {
	p, known := standIns()[name]
	if !known {
		fmt.Fprintln(os.Stderr, name+": nobody stands in for it")
		return 127
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if p.foreign {
		if err := post(ctx, "/used?name="+name, nil, nil); err != nil {
			fmt.Fprintln(os.Stderr, name+": the simulated machine: "+err.Error())
			return 1
		}
	}
	err := p.run(ctx, args)
	code := 0
	var exit exitError
	switch {
	case errors.As(err, &exit):
		code = int(exit)
	case err != nil:
		fmt.Fprintln(os.Stderr, name+" (stand-in): "+err.Error())
		code = 125
	}
	if !p.foreign {
		if err := remember(code, name, args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// remember records the exit code of a program of the project: in a pipeline the shell hides it.
func remember(code int, name string, args []string) error {
	file, err := os.OpenFile(os.Getenv("UMASCOPE_DOCS_EXITS"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%d %s %s\n", code, name, strings.ReplaceAll(strings.Join(args, " "), "\n", " "))
	return errors.Join(err, file.Close())
}

// child starts a program and passes signals on to it: one from a terminal reaches a group, and it has one of its own, so that it
// comes once.
func child(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := command.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	for {
		select {
		case s := <-signals:
			if err := command.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return err
			}
		case err := <-done:
			var ended *exec.ExitError
			if errors.As(err, &ended) {
				if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
					return exitError(128 + int(status.Signal()))
				}
				return exitError(ended.ExitCode())
			}
			return err
		}
	}
}

// inherited is a command with the three streams of this one.
func inherited(name string, args ...string) *exec.Cmd {
	command := exec.Command(name, args...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	return command
}

func programPath(name string) string {
	return filepath.Join(os.Getenv("UMASCOPE_DOCS_PROGRAMS"), name)
}

// real is the program as it was built.
func real(name string) func(context.Context, []string) error {
	return func(_ context.Context, args []string) error { return child(inherited(programPath(name), args...)) }
}

// umaLoad is the real one; where it measures, the rules are off that a machine breaks which runs client, engine and all other
// pages at once, and the machine is looked at twice a second, as each phase waits for a look.
func umaLoad(_ context.Context, args []string) error {
	if len(args) > 0 && (args[0] == "run" || args[0] == "sweep") {
		args = append(slices.Clone(args), "--validity=client_lag=off", "--validity=client_stall=off", "--validity=stream_buffered=off", "--validity=telemetry_lost=off", "--telemetry-interval=500ms")
	}
	return child(inherited(programPath("uma-load"), args...))
}

// umaExporter has its flags looked at by the real one, and shows the simulated machine.
func umaExporter(ctx context.Context, args []string) error {
	request := exporterRequest{Verb: "serve", Address: exporterAddress}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		request.Verb = args[0]
	}
	switch request.Verb {
	case "serve", "explain", "fit", "doctor":
	default:
		return child(inherited(programPath("uma-exporter"), args...))
	}
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "--kvbm.url":
			request.KVBM = append(request.KVBM, value)
		case "--engine.url":
			request.Engines = append(request.Engines, value)
		case "--kvbm.bytes-per-block":
			size, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return err
			}
			request.BytesPerBlock = size
		case "--web.listen-address":
			request.Address = value
		case "--once":
			request.TelemetryAtOnce = true
		}
	}
	if len(request.Engines)+len(request.KVBM) == 0 { // what discovery would find on the simulated machine, once they listen
		request.Engines, request.KVBM = []string{"http://127.0.0.1:8000/metrics"}, []string{"http://127.0.0.1:6880/metrics"}
	}
	looked := slices.Clone(args)
	if request.Verb == "serve" && !request.TelemetryAtOnce {
		looked = append(looked, "--once")
	}
	command := exec.CommandContext(ctx, programPath("uma-exporter"), looked...)
	var output strings.Builder
	command.Stderr = &output
	if err := command.Run(); err != nil {
		_, _ = io.WriteString(os.Stderr, output.String())
		return exitError(command.ProcessState.ExitCode())
	}
	return post(ctx, "/exporter", request, func(line string) { fmt.Println(line) })
}

const exporterAddress = "127.0.0.1:10420"

// goTool stands in for go, as the programs are built: run starts one, build and install put them where they would be.
func goTool(_ context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("nothing is asked")
	}
	switch args[0] {
	case "run":
		if len(args) < 2 {
			return errors.New("run: what?")
		}
		name, ours := strings.CutPrefix(args[1], "./cmd/")
		if _, err := os.Stat(programPath(name)); err != nil || !ours {
			return fmt.Errorf("run %s: no program of the project", args[1])
		}
		err := child(inherited(filepath.Join(os.Getenv("UMASCOPE_DOCS_BIN"), name), args[2:]...))
		var exit exitError
		if errors.As(err, &exit) { // as go run does
			fmt.Fprintf(os.Stderr, "exit status %d\n", int(exit))
			return exitError(1)
		}
		return err
	case "build":
		if len(args) != 4 || args[1] != "-o" || args[3] != "./cmd/..." {
			return fmt.Errorf("build: want -o FOLDER/ ./cmd/..., not %q", args[1:])
		}
		if err := os.MkdirAll(args[2], 0o755); err != nil {
			return err
		}
		for _, name := range []string{"uma-load", "uma-exporter", "uma-gen", "uma-demo"} {
			link := filepath.Join(args[2], name)
			if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			if err := os.Symlink(filepath.Join(os.Getenv("UMASCOPE_DOCS_BIN"), name), link); err != nil {
				return err
			}
		}
		return nil
	case "version":
		fmt.Println("go version go1.26.0 linux/arm64")
		return nil
	}
	return fmt.Errorf("%s is not stood in for", args[0])
}

// git clones what the real one has of the repository: a page begins in such a folder, or makes it. All else the real one answers.
func git(_ context.Context, args []string) error {
	if len(args) > 0 && args[0] != "clone" {
		path, err := realProgram("git")
		if err != nil {
			return err
		}
		return child(inherited(path, args...))
	}
	if len(args) < 2 || args[0] != "clone" || args[1] != "https://github.com/umascope/umascope" {
		return fmt.Errorf("want clone https://github.com/umascope/umascope, not %q", args)
	}
	return checkout("umascope", os.Getenv("UMASCOPE_DOCS_ROOT"))
}

// sudo asks for no password here.
func sudo(_ context.Context, args []string) error {
	for len(args) > 0 && (args[0] == "-n" || args[0] == "-E") {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return fmt.Errorf("want a command, not %q", args)
	}
	return child(inherited(args[0], args[1:]...))
}
