package hosts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/umascope/umascope/loadgen/render"
)

// finding is the result of the verb hosts.
type finding struct {
	links   []Link
	answers []Answer
	hosts   []Host
	refused []Refusal
}

// unasked reports whether the search failed on every interface.
func (f finding) unasked() bool {
	for _, a := range f.answers {
		if a.Err == nil {
			return false
		}
	}
	return true
}

// notFound returns why no host was found.
func (f finding) notFound(s Search) error {
	var names []string
	for _, a := range f.answers {
		names = append(names, a.Link.String())
	}
	why := fmt.Sprintf("no host found in %s on %s", s.Timeout, strings.Join(names, ", "))
	if len(f.refused) > 0 {
		return fmt.Errorf("%s, only what is named above; --match says which are meant", why)
	}
	return errors.New(why + ": no machine announces ssh there; is avahi-daemon running on the others, and does a firewall let UDP 5353 in?")
}

// note prints what was not found, and why.
func (f finding) note(w io.Writer, s Search) {
	for _, link := range f.links {
		if link.Idle != "" && !link.Minor && len(s.Interfaces) == 0 {
			fmt.Fprintf(w, "%s was not asked: %s\n", link, link.Idle)
		}
	}
	for _, a := range f.answers {
		switch {
		case a.Err != nil:
			fmt.Fprintf(w, "%s could not be asked: %s\n", a.Link, printable(a.Err.Error()))
		case len(a.Heard) == 0:
			fmt.Fprintf(w, "%s: nobody answered\n", a.Link)
		}
	}
	var others []string // in an office network many machines announce ssh
	for _, r := range f.refused {
		if r.Why == NotMeant {
			others = append(others, r.Name)
			continue
		}
		fmt.Fprintf(w, "left out %s: %s\n", printable(r.Name), printable(r.Why))
	}
	if len(others) > 0 {
		fmt.Fprintf(w, "left out, as %s: %s\n", NotMeant, printable(strings.Join(others, ", ")))
	}
	self := false
	for _, h := range f.hosts {
		self = self || h.Self
		if _, is := h.MPI(); !is {
			fmt.Fprintf(w, "%s has link-local IPv6 addresses alone, which a hostfile or Prometheus cannot use\n", h.Name)
		}
		switch {
		case h.Exporter == nil || h.Exporter.Found && h.Exporter.Mode == "live":
		case h.Exporter.Found:
			fmt.Fprintf(w, "%s: its exporter reports that its figures are %s\n", h.Name, cmp.Or(h.Exporter.Mode, "of no known mode"))
		default:
			fmt.Fprintf(w, "%s: no exporter: %s\n", h.Name, h.Exporter.Why)
		}
	}
	switch {
	case s.Format == Prometheus && self && !s.WithSelf && len(f.hosts) > 1:
		fmt.Fprintln(w, "this machine is left out, which the stack has among its own targets; --self puts it in")
	case s.Format == MPI && !self && len(f.hosts) > 0:
		fmt.Fprintln(w, "this machine is not among them: it does not announce ssh by a name that is meant")
	}
}

// print prints the hosts in the format that was asked for.
func (f finding) print(w io.Writer, s Search) error {
	var text []byte
	var err error
	switch s.Format {
	case JSON:
		text, err = f.json()
	case Table:
		return f.table(w, s)
	default:
		if text, _ = f.render(s, nil); text == nil {
			err = f.noTarget()
		}
	}
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// render returns the text of the file and the targets of the old file that it keeps. The text is nil if the file would
// hold no host.
func (f finding) render(s Search, written []Target) (text []byte, kept []Target) {
	if s.Format == MPI {
		for _, h := range f.hosts {
			if _, is := h.MPI(); is {
				return hostfile(f.hosts, s.Slots), nil
			}
		}
		return nil, nil
	}
	var others []Host
	for _, h := range f.hosts {
		if !h.Self || s.WithSelf {
			others = append(others, h)
		}
	}
	targets := targetsOf(others, s.Port)
	if !s.Forget {
		targets, kept = keepWritten(targets, written)
	}
	if len(targets) == 0 {
		return nil, nil
	}
	return discovery(targets), kept
}

// noTarget returns why none of the hosts that were found is written.
func (f finding) noTarget() error {
	for _, h := range f.hosts {
		if _, is := h.Target(); is {
			return errors.New("only this machine was found, which the stack has among its own targets; --self puts it in")
		}
	}
	return errors.New("no host has an address that other programs can use")
}

// table prints the hosts as a table, with the next commands to run.
func (f finding) table(w io.Writer, s Search) error {
	t := render.Table{Header: []string{"HOST", "ADDRESS", "INTERFACE", "EXPORTER"}}
	for _, h := range f.hosts {
		name := h.Name
		if h.Self {
			name += " (this machine)"
		}
		for _, a := range h.Addresses {
			link := a.Link
			if a.Fabric {
				link += " (fabric)"
			}
			exporter := "-"
			if h.Exporter != nil && h.Exporter.Found && h.Exporter.Addr == a.Addr {
				exporter = fmt.Sprintf(":%d %s", s.Port, cmp.Or(h.Exporter.Mode, "of no known mode"))
			}
			t.Add(name, a.Addr.String(), link, exporter)
			name = ""
		}
	}
	if err := render.TextTable(w, t); err != nil {
		return err
	}
	lines := loginLines(f.hosts, s.User)
	if len(lines) > 0 {
		lines = append([]string{"", "To log in without a password, as mpirun must, on each machine:"}, lines...)
	}
	_, err := fmt.Fprint(w, strings.Join(lines, "\n")+strings.Repeat("\n", min(len(lines), 1)))
	return err
}

// Schema is the schema name of --format json.
const Schema = "umascope.hosts/1"

// document is the output of --format json.
type document struct {
	Schema     string     `json:"schema"`
	Hosts      []Host     `json:"hosts"`
	Refused    []Refusal  `json:"refused"`
	Interfaces []linkJSON `json:"interfaces"`
}

// linkJSON is one interface: whether it was asked and, if not, why.
type linkJSON struct {
	Name   string   `json:"name"`
	Driver string   `json:"driver,omitempty"`
	RDMA   []string `json:"rdma,omitempty"`
	Asked  bool     `json:"asked"`
	Why    string   `json:"why,omitempty"`
}

// json encodes the finding. Empty lists are [] and not null.
func (f finding) json() ([]byte, error) {
	out := document{Schema, append([]Host{}, f.hosts...), append([]Refusal{}, f.refused...), []linkJSON{}}
	for _, link := range f.links {
		one := linkJSON{Name: link.Name, Driver: link.Driver, RDMA: link.RDMA, Why: link.Idle}
		for _, a := range f.answers {
			if a.Link.Name == link.Name {
				one.Asked = a.Err == nil
				if a.Err != nil {
					one.Why = printable(a.Err.Error())
				}
			}
		}
		out.Interfaces = append(out.Interfaces, one)
	}
	text, err := json.MarshalIndent(out, "", "  ")
	return append(text, '\n'), err
}
