package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"regexp"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/hosts"
)

const hostsHelp = `Find Sparks on the local networks by multicast DNS.

  uma-load hosts                                 # what is there, how to reach it
  uma-load hosts --match 'spark-*' --interface enp1s0f0np0
  uma-load hosts --format mpi --write hosts.mpi  # a hostfile for mpirun
  uma-load hosts --format prometheus \
      --write compose/prometheus/targets/exporter-found.yml

Every interface that is up is asked, ConnectX first, for who announces ssh. Only private addresses of the network that they were heard on are taken, and only plain host names. Whoever is on that network can claim any name: ssh shows you the key of a machine before you trust it. --write replaces its own files and no others, and nothing is written if nobody was found.

Exit codes: 1 if nobody was found, 2 if nobody could be asked or the file is not ours.`

func hostsVerb(app *kingpin.Application) verb {
	clause := app.Command("hosts", hostsHelp)
	s := hostsFlags(clause)
	return verb{clause, func(ctx context.Context, p Program) error {
		n, err := hosts.LocalNetwork()
		if err != nil {
			return usage(err)
		}
		return findHosts(ctx, s, n, p.Stdout, p.Stderr)
	}}
}

// findHosts carries out the verb hosts on a network.
func findHosts(ctx context.Context, s *hosts.Search, n hosts.Network, stdout, stderr io.Writer) error {
	if s.User == "" {
		s.User = "USER"
		if me, err := user.Current(); err == nil && plainUser.MatchString(me.Username) {
			s.User = me.Username
		}
	}
	err := s.Run(ctx, n, stdout, stderr)
	if _, is := errors.AsType[hosts.InputError](err); is {
		return usage(err)
	}
	return err
}

func hostsFlags(clause *kingpin.CmdClause) *hosts.Search {
	s := &hosts.Search{}
	terminal.Flags(clause, "match", "Names that are meant, without .local: a glob, or a regular expression between slashes; may be repeated. Default: "+strings.Join(hosts.UsualNames(), " and ")+".", &s.Match, hosts.ParsePattern, terminal.AsGiven).PlaceHolder("PATTERN")
	clause.Flag("interface", "Ask on this interface alone; may be repeated.").PlaceHolder("NAME").StringsVar(&s.Interfaces)
	terminal.Flag(clause, "timeout", "How long to listen.", "3s", &s.Timeout, terminal.PositiveDuration)
	terminal.Flag(clause, "format", "What to print: "+terminal.Join(hosts.Formats())+".", string(hosts.Table), &s.Format, terminal.OneOf(hosts.Formats()...))
	terminal.Flag(clause, "write", "Write it to this file, of --format mpi or prometheus, instead of printing it.", "", &s.Write, terminal.Text).PlaceHolder("FILE")
	terminal.Flag(clause, "slots", "Ranks that each host of the hostfile takes.", "1", &s.Slots, terminal.Between(1, 1024))
	terminal.Flag(clause, "port", "Port of the exporters.", "10420", &s.Port, terminal.Between(1, 65535))
	terminal.Flag(clause, "user", "User on the hosts, for the ssh-copy-id lines. Default: your own name.", "", &s.User, parseUser).PlaceHolder("NAME")
	clause.Flag("probe", "Look for an exporter on each host.").Default("true").BoolVar(&s.Probe)
	clause.Flag("self", "Give Prometheus this machine too: the stack has it among its own targets.").BoolVar(&s.WithSelf)
	clause.Flag("forget", "Drop the targets of --write that do not answer now; without it they stay, so that what is off is missed.").BoolVar(&s.Forget)
	return s
}

// plainUser matches user names that are safe in a command that people copy.
var plainUser = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,31}$`)

func parseUser(name string) (string, error) {
	if !plainUser.MatchString(name) {
		return "", fmt.Errorf("%+q is not the name of a user", name)
	}
	return name, nil
}
