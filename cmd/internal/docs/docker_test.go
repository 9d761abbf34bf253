//go:build proof

package docs

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// docker replaces the client and its daemon: a container is a process of the reader's shell, in a cgroup of its own on
// the simulated machine.
func docker(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("nothing is asked")
	}
	switch verb, rest := args[0], args[1:]; verb {
	case "run":
		return dockerRun(ctx, rest)
	case "exec":
		return dockerExec(rest)
	case "stop", "rm":
		return dockerStop(ctx, rest)
	case "inspect", "image":
		return dockerInspect(args)
	case "logs":
		return dockerLogs(rest)
	case "ps":
		all, err := containersNow()
		for name, c := range all {
			fmt.Printf("%.12s %s %s\n", c.ID, c.Image, name)
		}
		return err
	case "pull":
		if len(rest) != 1 || !imageName.MatchString(rest[0]) {
			return fmt.Errorf("pull %q: no image", rest)
		}
		fmt.Println("Status: Image is up to date for " + rest[0])
		return nil
	case "create":
		return dockerCreate(rest)
	case "export":
		return dockerExport(rest)
	}
	return fmt.Errorf("%s is not stood in for", args[0])
}

var imageName = regexp.MustCompile(`^[a-z0-9.-]+(/[a-z0-9._-]+)*(:[\w.-]+)?$`)

func idOf(text string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}

// started is a container as its command line has it.
func started(args []string) (c containerFacts, command []string, detached bool, err error) {
	g, err := look("docker-run", args, true)
	if err != nil {
		return c, nil, false, err
	}
	if len(g.rest) < 2 || !imageName.MatchString(g.rest[0]) {
		return c, nil, false, fmt.Errorf("want an image and a command, not %q", g.rest)
	}
	command = g.rest[1:]
	if own := g.last("", "--entrypoint"); own != "" {
		command = slices.Insert(command, 0, own)
	} else if strings.HasPrefix(g.rest[0], "vllm/vllm-openai:") { // ENTRYPOINT of its Dockerfile
		command = slices.Insert(command, 0, "vllm", "serve")
	}
	c = containerFacts{
		Name: g.last(fmt.Sprintf("unnamed%d", os.Getpid()), "--name"), Image: g.rest[0], Env: g.all("--env", "-e"), Mounts: map[string]string{},
		HostNetwork: g.last("", "--network") == "host" || len(g.all("-p", "--publish")) > 0, GPUs: g.last("", "--gpus") != "",
	}
	c.ID = idOf(c.Name + time.Now().String())
	for _, volume := range g.all("--volume", "-v") {
		parts := strings.Split(volume, ":")
		if len(parts) < 2 || !filepath.IsAbs(parts[0]) || !filepath.IsAbs(parts[1]) {
			return c, nil, false, fmt.Errorf("volume %s: want PATH:PATH", volume)
		}
		c.Mounts[parts[1]] = parts[0]
	}
	return c, command, len(g.all("-d", "--detach")) > 0, nil
}

// dockerRun is there for as long as the container's first process.
func dockerRun(ctx context.Context, args []string) error {
	c, words, detached, err := started(args)
	if err != nil {
		return err
	}
	c.Log = filepath.Join(os.TempDir(), "container-"+c.Name+".log")
	if detached {
		return dockerDetach(ctx, c, args)
	}
	log, err := os.Create(c.Log)
	if err != nil {
		return err
	}
	defer log.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 5 * time.Second
	command.Stdout, command.Stderr = io.MultiWriter(os.Stdout, log), io.MultiWriter(os.Stderr, log)
	command.Env = slices.Concat(os.Environ(), c.Env, []string{inContainer + "=" + c.Name})
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	running, refused := make(chan struct{}), make(chan error, 1)
	go func() {
		refused <- post(ctx, "/container", c, func(string) { close(running) })
		stop() // it was stopped
	}()
	select {
	case <-running:
	case err := <-refused:
		return err
	}
	err = command.Run()
	if ctx.Err() != nil { // it received a signal
		return nil
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return exitError(max(ended.ExitCode(), 0))
	}
	return err
}

// dockerDetach starts this program again, in a session of its own, and returns when the container runs.
func dockerDetach(ctx context.Context, c containerFacts, args []string) error {
	self, err := exec.LookPath("docker")
	if err != nil {
		return err
	}
	attached := []string{"run"}
	for _, arg := range args {
		if arg != "-d" && arg != "--detach" {
			attached = append(attached, arg)
		}
	}
	command := exec.Command(self, attached...)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for {
		all, err := containersNow()
		if err != nil {
			return err
		}
		if now, runs := all[c.Name]; runs {
			fmt.Println(now.ID)
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("the container ended: %w", err)
		default:
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// dockerExec runs a command in a container.
func dockerExec(args []string) error {
	detached, environment := false, []string{}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-d":
			detached = true
		case "-i", "-t", "-it":
		case "-e":
			environment = append(environment, args[1])
			args = args[1:]
		default:
			return fmt.Errorf("exec %s is not stood in for", args[0])
		}
		args = args[1:]
	}
	all, err := containersNow()
	if err != nil {
		return err
	}
	if len(args) < 2 {
		return fmt.Errorf("exec: want a container and a command, not %q", args)
	}
	c, runs := all[args[0]]
	if !runs {
		fmt.Fprintln(os.Stderr, "Error response from daemon: No such container: "+args[0])
		return exitError(1)
	}
	command := inherited(args[1], args[2:]...)
	command.Env = slices.Concat(os.Environ(), c.Env, environment, []string{inContainer + "=" + args[0]})
	if detached {
		command.Stdin, command.Stdout, command.Stderr = nil, nil, nil
		command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return command.Start()
	}
	return child(command)
}

// dockerStop ends containers, and returns when they are gone.
func dockerStop(ctx context.Context, args []string) error {
	for i := 0; i < len(args); i++ {
		if args[i] == "-t" || args[i] == "--time" {
			i++
			continue
		}
		if args[i] == "-f" {
			continue
		}
		if created := filepath.Join(os.TempDir(), "created-"+args[i]); os.Remove(created) == nil {
			fmt.Println(args[i])
			continue
		}
		if err := post(ctx, "/stop?name="+url.QueryEscape(args[i]), nil, nil); err != nil {
			fmt.Fprintln(os.Stderr, "Error response from daemon: "+err.Error())
			return exitError(1)
		}
		for {
			all, err := containersNow()
			if err != nil {
				return err
			}
			if _, runs := all[args[i]]; !runs {
				break
			}
			if err := pause(ctx); err != nil {
				return err
			}
		}
		fmt.Println(args[i])
	}
	return nil
}

// dockerInspect describes a container or its image as the real one does, as far as somebody asks.
func dockerInspect(args []string) error {
	name := args[len(args)-1]
	if args[0] == "image" {
		return json.NewEncoder(os.Stdout).Encode([]map[string]any{{"Id": name, "RepoDigests": []string{"simulated@sha256:" + strings.Repeat("0", 64)}}})
	}
	all, err := containersNow()
	if err != nil {
		return err
	}
	c, runs := all[name]
	if !runs {
		fmt.Fprintln(os.Stderr, "Error: No such container: "+name)
		return exitError(1)
	}
	if slices.Contains(args, "{{.State.Running}}") {
		fmt.Println("true")
		return nil
	}
	return json.NewEncoder(os.Stdout).Encode([]map[string]any{{
		"Id": c.ID, "Image": "sha256:" + idOf(c.Image), "State": map[string]any{"Running": true, "StartedAt": c.Created.UTC()},
		"Config": map[string]any{"Image": c.Image}, "HostConfig": map[string]any{"Memory": 0, "NetworkMode": "host"},
	}})
}

// dockerLogs prints what the first process of a container has printed, unless a time is asked for that ends before it begins.
func dockerLogs(args []string) error {
	g, err := look("docker-logs", args, false)
	if err != nil {
		return err
	}
	if since, until := g.last("", "--since"), g.last("", "--until"); until != "" && until < since { // in UTC, as we ask
		return nil
	}
	text, err := os.ReadFile(filepath.Join(os.TempDir(), "container-"+args[len(args)-1]+".log"))
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}

// dockerCreate makes a container that is never started, to have its files.
func dockerCreate(args []string) error {
	if len(args) != 3 || args[0] != "--name" || !imageName.MatchString(args[2]) {
		return fmt.Errorf("create %q is not stood in for", args)
	}
	if err := os.WriteFile(filepath.Join(os.TempDir(), "created-"+args[1]), []byte(args[2]), 0o644); err != nil {
		return err
	}
	fmt.Println(idOf(args[1]))
	return nil
}

// dockerExport writes the files of an image, of which a few stand for all.
func dockerExport(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("export %q: want a container", args)
	}
	if _, err := os.Stat(filepath.Join(os.TempDir(), "created-"+args[0])); err != nil {
		return err
	}
	archive := tar.NewWriter(os.Stdout)
	for _, folder := range []string{"proc/", "sys/", "dev/", "srv/", "usr/", "usr/lib/", "usr/lib/aarch64-linux-gnu/", "usr/local/", "usr/local/bin/"} {
		if err := archive.WriteHeader(&tar.Header{Name: folder, Mode: 0o755, Typeflag: tar.TypeDir}); err != nil {
			return err
		}
	}
	if err := archive.WriteHeader(&tar.Header{Name: "usr/local/bin/trtllm-serve", Mode: 0o755, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	return archive.Close()
}
