package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// driver holds one server while it is driven.
type driver struct {
	server   server
	folder   string
	programs string
	rows     []row
}

// drive makes all calls to the server and writes result.json; with a repository, also the pages that it has for tests.
// It fails if a count differs unexpectedly.
func drive(ctx context.Context, s server, folder, programs, repository string) error {
	start := time.Now()
	d := &driver{server: s, folder: folder, programs: programs}
	exporter, err := d.startExporter(ctx)
	if err != nil {
		return err
	}
	defer exporter.stop()
	if err := d.check(ctx); err != nil {
		return err
	}
	for i, a := range asks(s) {
		if err := d.load(ctx, i, a); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	w, err := d.readExporter(ctx)
	if err != nil {
		return err
	}
	if s.title == nil {
		s.title = s.version
	}
	r := result{
		Server: s.name, Software: s.software, Version: s.title(w), Date: start.UTC().Format(time.DateOnly),
		Seconds: int(time.Since(start).Seconds()), Rows: d.rows,
	}
	r.explain(s.why)
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "result.json"), text, 0o644); err != nil {
		return err
	}
	if repository != "" {
		if err := record(repository, s, w); err != nil {
			return err
		}
	}
	fmt.Print(r.table())
	if n := r.wrong(); n > 0 {
		return fmt.Errorf("%s: %d figures differ", s.name, n)
	}
	return nil
}

// exporterURL is the default address at which uma-load looks for telemetry.
const exporterURL = "http://127.0.0.1:10420/metrics"

type process struct{ command *exec.Cmd }

func (p process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = p.command.Wait()
}

// startExporter starts uma-exporter over the server's pages and waits until it answers.
func (d *driver) startExporter(ctx context.Context) (process, error) {
	args := []string{}
	for _, page := range d.server.pages {
		args = append(args, "--engine.url="+page)
	}
	command := exec.CommandContext(ctx, filepath.Join(d.programs, "uma-exporter"), args...)
	log, err := os.Create(filepath.Join(d.folder, "uma-exporter.log"))
	if err != nil {
		return process{}, err
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return process{}, err
	}
	p := process{command}
	for range 100 {
		if _, err = get(ctx, exporterURL); err == nil {
			return p, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.stop()
	return process{}, err
}

// umaLoad runs uma-load and returns its output and exit code. Its log goes to a file.
func (d *driver) umaLoad(ctx context.Context, name string, args ...string) (string, int, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(d.programs, "uma-load"), args...)
	var out, log bytes.Buffer
	command.Stdout, command.Stderr = &out, &log
	err := command.Run()
	kept := os.WriteFile(filepath.Join(d.folder, name+".txt"), slices.Concat(out.Bytes(), log.Bytes()), 0o644)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		err = nil
	}
	return out.String(), command.ProcessState.ExitCode(), errors.Join(err, kept)
}

// to begins a command line.
func (d *driver) to(verb string) []string {
	args := []string{verb, "--url", d.server.url}
	if d.server.model != "" {
		args = append(args, "--model", d.server.model)
	}
	return args
}

// check compares what uma-load detects of the server with what the server reports about itself.
func (d *driver) check(ctx context.Context) error {
	w, err := look(ctx, d.server, d.folder)
	if err != nil {
		return err
	}
	out, code, err := d.umaLoad(ctx, "check", append(d.to("check"), "--json")...)
	if err != nil {
		return err
	}
	var found struct {
		Engine, Version string
		Usable          bool
		Findings        []struct{ Name, Detail string }
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		return fmt.Errorf("check: exit %d: %w", code, err)
	}
	var longest, gateway string
	for _, f := range found.Findings {
		if f.Name == "engine" {
			gateway = find(f.Detail, `gateway (.+?)[ ,(]`)
		}
		if f.Name == "longest prompt with answer" {
			longest = find(f.Detail, `^([\d,]+) tokens`)
		}
	}
	d.row("check", "exit code", strconv.Itoa(code), "0")
	d.row("check", "engine", found.Engine, d.server.engine)
	d.row("check", "gateway", gateway, d.server.gateway)
	d.row("check", "version", found.Version, d.server.version(w))
	d.row("check", "context", longest, d.server.context(w))
	return nil
}

// answered is the result of a grade of evidence. Between proven and consistent the time to first token decides, which
// is not judged here.
var answered = map[string]string{"proven": "yes", "consistent": "yes", "contradicted": "no", "not_observable": "not observable"}

// load sends one load with uma-load, and compares its records with the server's counts before and after.
func (d *driver) load(ctx context.Context, number int, a ask) error {
	out := filepath.Join(d.folder, "runs", strconv.Itoa(number))
	state := fmt.Sprintf("sleep 1; '%s' state -server %s -work '%s'", filepath.Join(d.programs, "engines"), d.server.name, d.folder)
	args := slices.Concat(d.to(a.verb), []string{
		"--out", out, "--seed", strconv.Itoa(1000 + number), "--capture", "theirs=" + state,
		"--validity", "client_lag=off", "--validity", "client_stall=off", "--validity", "stream_buffered=off", "--save-outputs",
	}, a.flags)
	_, code, err := d.umaLoad(ctx, a.verb+"-"+strconv.Itoa(number), args...)
	if err != nil {
		return err
	}
	runs, err := findRuns(out)
	if err != nil {
		return err
	}
	d.row(a.name, "exit code", strconv.Itoa(code), "0")
	ours, theirs := counts{}, counts{}
	var invalid []string
	for _, run := range runs {
		one, err := readRun(run)
		if err != nil {
			return err
		}
		ours.add(one.ours)
		theirs.add(one.theirs)
		invalid = append(invalid, one.invalid...)
		if grade, ok := d.server.grades[a.scenario]; ok {
			d.row(a.name, "answered from a cache", answered[one.reuse], grade)
		}
	}
	for _, figure := range []string{requests, tokensIn, tokensOut, cached} {
		if !slices.Contains(d.server.uncounted, figure) {
			d.row(a.name, figure, ours.text(figure), theirs.text(figure))
		}
	}
	if len(runs) > 0 {
		d.row(a.name, "valid", cmp.Or(strings.Join(invalid, " "), "yes"), "yes")
	}
	return nil
}

// readExporter compares the exporter's page with the server's own, when no request is under way.
func (d *driver) readExporter(ctx context.Context) (world, error) {
	time.Sleep(time.Second)
	w, err := look(ctx, d.server, d.folder)
	if err != nil {
		return w, err
	}
	text, err := get(ctx, exporterURL)
	if err != nil {
		return w, err
	}
	ours := page(text)
	theirs := d.server.machine(w)
	for _, e := range exported {
		got := counts{}
		if value, ok := ours.sum(e.metric, e.label); ok {
			got[e.figure] = value
		}
		d.row("exporter", e.figure, got.text(e.figure), theirs.text(e.figure))
	}
	return w, nil
}
