package hosts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
)

// Search is what to look for, and what to do with what is found.
type Search struct {
	// Match are the names that are meant; UsualNames if empty.
	Match []Pattern
	// Interfaces are those to ask on; all if empty. Timeout is how long to listen.
	Interfaces []string
	Timeout    time.Duration
	Format     Format
	// Write is the path of the file to write in place of printing; empty prints.
	Write string
	// Slots are the ranks that each host of a hostfile takes, Port is the port of exporters.
	Slots, Port int
	// User is the user on the hosts, in the commands that are printed.
	User string
	// Probe looks for an exporter on each host. WithSelf gives Prometheus this machine too. Forget drops the targets of
	// the file that do not answer now.
	Probe, WithSelf, Forget bool
}

// UsualNames returns the factory host names of Spark machines by NVIDIA and ASUS.
func UsualNames() []string { return []string{"spark*", "gx10*"} }

// Network is the network that hosts are searched on.
type Network struct {
	Links  []Link
	Browse func(context.Context, Link) ([]Heard, error)
	// Probe asks each host for an exporter at the port.
	Probe func(ctx context.Context, found []Host, port int)
}

// LocalNetwork returns the network of this machine.
func LocalNetwork() (Network, error) {
	interfaces, err := System()
	return Network{Links(os.DirFS("/sys"), interfaces), Browse, Probe}, err
}

// InputError is an error of what was asked for, or of the machine: nobody was searched for.
type InputError struct{ error }

func (e InputError) Unwrap() error { return e.error }

func printable(text string) string { return openai.Printable(text, openai.LongestForeign) }

var errNothingWritten = errors.New("interrupted: nothing was written")

// Run searches a network, and prints or writes what it found.
func (s Search) Run(ctx context.Context, n Network, stdout, stderr io.Writer) error {
	if s.Write != "" && s.Format != MPI && s.Format != Prometheus {
		return InputError{errors.New("--write: add --format mpi or --format prometheus too")}
	}
	if len(s.Match) == 0 {
		for _, name := range UsualNames() {
			p, err := ParsePattern(name)
			if err != nil {
				return err
			}
			s.Match = append(s.Match, p)
		}
	}
	chosen, err := choose(n.Links, s.Interfaces)
	if err != nil && len(s.Interfaces) > 0 {
		return InputError{fmt.Errorf("--interface: %w", err)}
	}
	if err != nil {
		return InputError{err}
	}
	file, err := s.open()
	if err != nil {
		return InputError{fmt.Errorf("--write: %w", err)}
	}
	f := finding{links: n.Links, answers: askOn(ctx, chosen, s.Timeout, n.Browse)}
	if ctx.Err() != nil {
		return errNothingWritten
	}
	var heard []Heard
	for _, a := range f.answers {
		heard = append(heard, a.Heard...)
	}
	f.hosts, f.refused = gather(heard, n.Links, s.Match)
	if s.Probe {
		n.Probe(ctx, f.hosts, s.Port)
		if ctx.Err() != nil {
			return errNothingWritten
		}
	}
	f.note(stderr, s)
	switch {
	case f.unasked():
		return InputError{errors.New("no interface could be asked")}
	case len(f.hosts) == 0 && s.Format == JSON:
		return errors.Join(f.print(stdout, s), f.notFound(s))
	case len(f.hosts) == 0:
		return f.notFound(s)
	case s.Write != "":
		return s.replace(stdout, stderr, file, f)
	}
	return f.print(stdout, s)
}
