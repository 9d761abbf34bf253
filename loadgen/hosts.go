package loadgen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/hosts"
	"github.com/umascope/umascope/loadgen/rundir"
)

const hostsHelp = `Find Sparks on the local networks, by multicast DNS.

  uma-load hosts                                 # what is there, how to reach it
  uma-load hosts --match 'spark-*' --interface enp1s0f0np0
  uma-load hosts --format mpi --write hosts.mpi  # a hostfile for mpirun
  uma-load hosts --format prometheus \
      --write compose/prometheus/targets/exporter-found.yml

Every interface that is up is asked, ConnectX first, for who announces ssh. Only private addresses of the network that they were heard on are taken, and only plain host names. Whoever is on that network can claim any name: ssh shows you the key of a machine before you trust it. --write replaces its own files and no others, and nothing is written if nobody was found.

Exit codes: 1 if nobody was found, 2 if nobody could be asked or the file is not ours.`

// usualNames returns the factory host names of Spark machines by NVIDIA and ASUS.
func usualNames() []string { return []string{"spark*", "gx10*"} }

// hostsLine holds the flags of the verb hosts.
type hostsLine struct {
	match            []hosts.Pattern
	interfaces       []string
	timeout          time.Duration
	format           hosts.Format
	write            string
	slots, port      int
	user             string
	probe            bool
	withSelf, forget bool
}

func hostsVerb(app *kingpin.Application) verb {
	clause := app.Command("hosts", hostsHelp)
	l := hostsFlags(clause)
	return verb{clause, func(ctx context.Context, p Program) error {
		n, err := localNetwork()
		if err != nil {
			return usage(err)
		}
		return l.run(ctx, n, p.Stdout, p.Stderr)
	}}
}

func hostsFlags(clause *kingpin.CmdClause) *hostsLine {
	l := &hostsLine{}
	terminal.Flags(clause, "match", "Names that are meant, without .local: a glob, or a regular expression between slashes; may be repeated. Default: "+strings.Join(usualNames(), " and ")+".", &l.match, hosts.ParsePattern, terminal.AsGiven).PlaceHolder("PATTERN")
	clause.Flag("interface", "Ask on this interface alone; may be repeated.").PlaceHolder("NAME").StringsVar(&l.interfaces)
	terminal.Flag(clause, "timeout", "How long to listen.", "3s", &l.timeout, terminal.PositiveDuration)
	terminal.Flag(clause, "format", "What to print: "+terminal.Join(hosts.Formats())+".", string(hosts.Table), &l.format, terminal.OneOf(hosts.Formats()...))
	terminal.Flag(clause, "write", "Write it to this file, of --format mpi or prometheus, instead of printing it.", "", &l.write, terminal.Text).PlaceHolder("FILE")
	terminal.Flag(clause, "slots", "Ranks that each host of the hostfile takes.", "1", &l.slots, terminal.Between(1, 1024))
	terminal.Flag(clause, "port", "Port of the exporters.", "10420", &l.port, terminal.Between(1, 65535))
	terminal.Flag(clause, "user", "User on the hosts, for the ssh-copy-id lines. Default: your own name.", "", &l.user, parseUser).PlaceHolder("NAME")
	clause.Flag("probe", "Look for an exporter on each host.").Default("true").BoolVar(&l.probe)
	clause.Flag("self", "Give Prometheus this machine too: the stack has it among its own targets.").BoolVar(&l.withSelf)
	clause.Flag("forget", "Drop the targets of --write that do not answer now; without it they stay, so that what is off is missed.").BoolVar(&l.forget)
	return l
}

// plainUser matches user names that are safe in a command that people copy.
var plainUser = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,31}$`)

func parseUser(name string) (string, error) {
	if !plainUser.MatchString(name) {
		return "", fmt.Errorf("%+q is not the name of a user", name)
	}
	return name, nil
}

// check fills in defaults and refuses flags that contradict each other.
func (l *hostsLine) check() error {
	if l.write != "" && l.format != hosts.MPI && l.format != hosts.Prometheus {
		return errors.New("--write: say --format mpi or --format prometheus too")
	}
	if len(l.match) == 0 {
		for _, name := range usualNames() {
			p, err := hosts.ParsePattern(name)
			if err != nil {
				return err
			}
			l.match = append(l.match, p)
		}
	}
	if l.user == "" {
		l.user = "USER"
		if me, err := user.Current(); err == nil && plainUser.MatchString(me.Username) {
			l.user = me.Username
		}
	}
	return nil
}

// network is the network that hosts are searched on.
type network struct {
	links  []hosts.Link
	browse func(context.Context, hosts.Link) ([]hosts.Heard, error)
	// probe asks each host for an exporter at the port.
	probe func(ctx context.Context, found []hosts.Host, port int)
}

// localNetwork returns the network of this machine.
func localNetwork() (network, error) {
	interfaces, err := hosts.System()
	return network{hosts.Links(os.DirFS("/sys"), interfaces), hosts.Browse, hosts.Probe}, err
}

var errNothingWritten = errors.New("interrupted: nothing was written")

// run carries out the verb hosts on a network.
func (l *hostsLine) run(ctx context.Context, n network, stdout, stderr io.Writer) error {
	if err := l.check(); err != nil {
		return usage(err)
	}
	chosen, err := hosts.Choose(n.links, l.interfaces)
	if err != nil && len(l.interfaces) > 0 {
		return usage(fmt.Errorf("--interface: %w", err))
	}
	if err != nil {
		return usage(err)
	}
	file, err := l.open()
	if err != nil {
		return usage(fmt.Errorf("--write: %w", err))
	}
	f := finding{links: n.links, answers: hosts.Ask(ctx, chosen, l.timeout, n.browse)}
	if ctx.Err() != nil {
		return errNothingWritten
	}
	var heard []hosts.Heard
	for _, a := range f.answers {
		heard = append(heard, a.Heard...)
	}
	f.hosts, f.refused = hosts.Gather(heard, n.links, l.match)
	if l.probe {
		n.probe(ctx, f.hosts, l.port)
		if ctx.Err() != nil {
			return errNothingWritten
		}
	}
	f.note(stderr, l)
	switch {
	case f.unasked():
		return usage(errors.New("no interface could be asked"))
	case len(f.hosts) == 0 && l.format == hosts.JSON:
		return errors.Join(f.print(stdout, l), f.nobody(l))
	case len(f.hosts) == 0:
		return f.nobody(l)
	case l.write != "":
		return l.replace(stdout, stderr, file, f)
	}
	return f.print(stdout, l)
}

// largestFile is the largest target file that is read, in bytes.
const largestFile = 1 << 20

// writtenFile is the file that --write names, as it was before.
type writtenFile struct {
	text    []byte
	targets []hosts.Target // targets for Prometheus that uma-load wrote
}

// open reads the file before any host is asked, so that a file of another program is refused at once.
func (l *hostsLine) open() (writtenFile, error) {
	if l.write == "" {
		return writtenFile{}, nil
	}
	info, err := os.Lstat(l.write)
	if errors.Is(err, os.ErrNotExist) {
		return writtenFile{}, nil
	}
	if err != nil {
		return writtenFile{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > largestFile {
		return writtenFile{}, fmt.Errorf("%s is not a small plain file and is left as it is", l.write)
	}
	var file writtenFile
	if file.text, err = os.ReadFile(l.write); err != nil {
		return writtenFile{}, err
	}
	if !hosts.Ours(file.text, l.format) {
		return writtenFile{}, fmt.Errorf("%s %w", l.write, hosts.ErrForeign)
	}
	if l.format == hosts.Prometheus {
		if file.targets, err = hosts.ParseDiscovery(file.text); err != nil {
			return writtenFile{}, fmt.Errorf("%s cannot be read and is left as it is: %w", l.write, err)
		}
	}
	return file, nil
}

// replace replaces the file atomically, if its content changes.
func (l *hostsLine) replace(stdout, stderr io.Writer, file writtenFile, f finding) error {
	text, kept := f.render(l, file.targets)
	for _, t := range kept {
		fmt.Fprintf(stderr, "%s at %s was not found now and stays in the file; --forget drops it\n", t.Host, t.At)
	}
	if text == nil {
		return fmt.Errorf("%w: %s is left as it is", f.useless(), l.write)
	}
	if string(text) == string(file.text) {
		fmt.Fprintf(stdout, "%s says so already\n", l.write)
		return nil
	}
	err := rundir.WriteFile(l.write, 0o644, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return fmt.Errorf("--write: %w", err)
	}
	fmt.Fprintf(stdout, "wrote %s\n", l.write)
	return nil
}

// hostsSchema is the schema name of --format json.
const hostsSchema = "umascope.hosts/1"

// asJSON is the output of --format json.
type asJSON struct {
	Schema     string          `json:"schema"`
	Hosts      []hosts.Host    `json:"hosts"`
	Refused    []hosts.Refusal `json:"refused"`
	Interfaces []linkJSON      `json:"interfaces"`
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
	out := asJSON{hostsSchema, append([]hosts.Host{}, f.hosts...), append([]hosts.Refusal{}, f.refused...), []linkJSON{}}
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
