package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
)

// page is the content of a page of the exporter: the names of its series, and its privileges.
type page struct {
	names []string
	has   map[string]bool // by collector and what it needs
}

func readPage(ctx context.Context) (page, error) {
	text, err := ask(ctx, http.MethodGet, exporterURL+"/metrics", nil, nil)
	if err != nil {
		return page{}, err
	}
	p := page{has: map[string]bool{}}
	privilege := regexp.MustCompile(`^uma_collector_privilege\{collector="(\w+)",needs="(\w+)"\} ([01])$`)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		p.names = append(p.names, strings.FieldsFunc(line, func(r rune) bool { return r == '{' || r == ' ' })[0])
		if found := privilege.FindStringSubmatch(line); found != nil {
			p.has[found[1]+" "+found[2]] = found[3] == "1"
		}
	}
	slices.Sort(p.names)
	p.names = slices.Compact(p.names)
	if len(p.has) == 0 {
		return p, errors.New("the page tells of no privilege")
	}
	return p, nil
}

// privileged starts the exporter again with the privileges of privileged.yaml, and compares the series that the default
// lacks with the table of exporter/PRIVILEGES.md. It leaves it running; the next step is down.
func (p *proof) privileged(ctx context.Context, c checkout) (string, error) {
	after, err := readPage(ctx) // without them
	if err != nil {
		return "", err
	}
	d := p.docker.in(c.compose()).with("COMPOSE_FILE=compose.yaml:no-gpu.yaml:privileged.yaml")
	if err := d.quiet(ctx, "compose", "--profile", "default", "up", "--detach", "--wait", "exporter"); err != nil {
		return "", err
	}
	if _, err := p.confined(ctx, map[string]uint64{"exporter": capSysPtrace | capDACReadSearch}); err != nil {
		return "", err
	}
	before, err := readPage(ctx) // with them
	if err != nil {
		return "", err
	}
	table, err := os.ReadFile(c.path("exporter", "PRIVILEGES.md"))
	if err != nil {
		return "", err
	}
	row := regexp.MustCompile("(?m)^\\| (\\w+) \\| `ptrace` \\|")
	var said, lost, gone []string
	for _, found := range row.FindAllStringSubmatch(string(table), -1) {
		said = append(said, found[1]+" ptrace")
	}
	for what, had := range before.has {
		if had && !after.has[what] {
			lost = append(lost, what)
		}
	}
	for _, name := range before.names {
		if !slices.Contains(after.names, name) {
			gone = append(gone, name)
		}
	}
	slices.Sort(said)
	slices.Sort(lost)
	note := fmt.Sprintf("privileges that are lost: %s; names that are gone on this machine: %s", strings.Join(lost, ", "), strings.Join(gone, ", "))
	if !slices.Equal(said, lost) {
		err = fmt.Errorf("PRIVILEGES.md says that these need ptrace: %s", strings.Join(said, ", "))
	}
	return note, err
}

// refuses calls compose/up with input that it must reject.
func (p *proof) refuses(ctx context.Context, c checkout) (string, error) {
	taken, err := net.Listen("tcp", "127.0.0.1:3000")
	if err != nil {
		return "", err
	}
	defer taken.Close()
	const overlapping = "umascope-proof-overlapping"
	var notes []string
	var problems []error
	refused := func(what, wanted string, d docker, arguments ...string) {
		_, stderr, err := d.in(c.compose()).output(ctx, append([]string{"./up"}, arguments...)...)
		lines := strings.Split(strings.TrimSpace(stderr), "\n")
		last := lines[len(lines)-1]
		notes = append(notes, last)
		if code := exitCode(err); code != 2 || !strings.HasPrefix(last, "up: ") || !strings.Contains(last, wanted) {
			problems = append(problems, fmt.Errorf("%s: ends with %d: %q", what, code, last))
		}
	}
	refused("a port that is taken", "3000", p.docker, "sim")
	refused("a profile that there is not", "nonsense", p.docker, "nonsense")
	if err := p.docker.quiet(ctx, "network", "create", "--subnet=172.30.0.0/16", overlapping); err != nil {
		return "", err
	}
	taken.Close()
	refused("a network that is taken", "172.30.104", p.docker, "default")
	if err := p.docker.quiet(ctx, "network", "rm", overlapping); err != nil {
		return "", err
	}
	left, err := p.docker.everything(ctx)
	if err != nil {
		return "", err
	}
	if len(left) > 0 {
		problems = append(problems, fmt.Errorf("started was %s", strings.Join(left, ", ")))
	}
	return strings.Join(notes, "\n"), errors.Join(problems...)
}
