package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// engine is a Docker engine with data, socket and configuration of its own.
type engine struct {
	folder  string
	data    string
	command *exec.Cmd // nil until it has started
	ended   chan struct{}
}

func newEngine(folder, data string) *engine {
	return &engine{folder: folder, data: cmp.Or(data, filepath.Join(folder, "data"))}
}

func (e *engine) socket() string { return "unix://" + filepath.Join(e.folder, "docker.sock") }
func (e *engine) log() string    { return filepath.Join(e.folder, "dockerd.log") }

// start starts it and waits until it answers.
func (e *engine) start(ctx context.Context) error {
	log, err := os.Create(e.log())
	if err != nil {
		return err
	}
	defer log.Close()
	config := filepath.Join(e.folder, "daemon.json") // and not the machine's
	if err := os.WriteFile(config, []byte("{}\n"), 0o600); err != nil {
		return err
	}
	e.command = exec.Command("dockerd", "--config-file="+config, "--host="+e.socket(),
		"--data-root="+e.data, "--exec-root="+filepath.Join(e.folder, "exec"), "--pidfile="+filepath.Join(e.folder, "dockerd.pid"))
	e.command.Stdout, e.command.Stderr = log, log
	// A signal that ends this program must not reach the engine too: containers are ended first.
	e.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := e.command.Start(); err != nil {
		e.command = nil
		return err
	}
	e.ended = make(chan struct{})
	go func() {
		_ = e.command.Wait() // an early end shows in the log
		close(e.ended)
	}()
	err = until(ctx, time.Minute, func(ctx context.Context) error {
		select {
		case <-e.ended:
			return nil // it is reported below
		default:
			return e.client("").quiet(ctx, "version")
		}
	})
	select {
	case <-e.ended:
		return fmt.Errorf("dockerd has ended: %s", lastLines(e.log(), 3))
	default:
		return err
	}
}

// stop asks the engine to end, which ends every container, and waits for it.
func (e *engine) stop() error {
	if e.command == nil {
		return nil
	}
	_ = e.command.Process.Signal(syscall.SIGTERM) // it may have ended
	var err error
	select {
	case <-e.ended:
	case <-time.After(time.Minute):
		_ = e.command.Process.Kill()
		<-e.ended
		err = errors.New("dockerd did not end within a minute and was killed")
	}
	// The network of host containers stays mounted, and a folder in use cannot be removed.
	if unmount := syscall.Unmount(filepath.Join(e.folder, "exec", "netns", "default"), syscall.MNT_DETACH); unmount != nil &&
		!errors.Is(unmount, syscall.EINVAL) && !errors.Is(unmount, syscall.ENOENT) {
		err = errors.Join(err, unmount)
	}
	return err
}

// engineRuns is the first step.
func (p *proof) engineRuns(ctx context.Context) (string, error) {
	if err := p.engine.start(ctx); err != nil {
		return "", err
	}
	version, err := p.docker.say(ctx, "version", "--format", "engine {{.Server.Version}}")
	if err != nil {
		return "", err
	}
	info, err := p.docker.say(ctx, "info", "--format", "{{.Driver}}, cgroup v{{.CgroupVersion}}, {{.OperatingSystem}}, kernel {{.KernelVersion}}, {{.NCPU}} CPUs")
	if err != nil {
		return "", err
	}
	compose, err := p.docker.say(ctx, "compose", "version", "--short")
	if err != nil {
		return "", err
	}
	left, err := p.docker.everything(ctx)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("a new engine has %s", strings.Join(left, ", "))
	}
	return version + ", compose " + compose + ", " + info, err
}

// lastLines is the end of a file, in one line.
func lastLines(path string, n int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}

// path is a file of this pass.
func (p *proof) path(names ...string) string {
	return filepath.Join(append([]string{p.folder}, names...)...)
}
