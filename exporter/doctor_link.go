package exporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/link"
)

// linkDuration is how long streams last.
const linkDuration = 5 * time.Second

// doctorLink measures the path to another machine, or lets another machine measure the path to this one.
func (l *commandLine) doctorLink(ctx context.Context, stdout io.Writer) error {
	switch {
	case l.linkTo != "" && l.linkListen != "":
		return badInput("--link and --link-listen: give one here, the other on the other machine")
	case l.replay != "" || l.nvmlReplay != "":
		return badInput("--link: a path is measured on a machine, not in a recording")
	case l.linkListen != "":
		return l.listenForStreams(ctx, stdout)
	}
	host, port, err := splitHost(l.linkTo)
	if err != nil {
		return badInput("--link %q: %w", l.linkTo, err)
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(addresses) == 0 {
		return badInput("--link %q: no address is found for %s", l.linkTo, host)
	}
	return measureLink(ctx, stdout, hostfs.Dir{Path: l.mounts.sys}, host, addresses[0].Unmap(), port)
}

// splitHost splits an address whose port may be missing.
func splitHost(text string) (string, uint16, error) {
	if address, err := netip.ParseAddr(text); err == nil { // IPv6 has colons of its own
		return address.String(), link.DefaultPort, nil
	}
	host, number, err := net.SplitHostPort(text)
	if err != nil {
		host, number = text, strconv.Itoa(link.DefaultPort)
	}
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil || port == 0 || host == "" {
		return "", 0, errors.New("not HOST or HOST:PORT")
	}
	return host, uint16(port), nil
}

func measureLink(ctx context.Context, stdout io.Writer, sys hostfs.Dir, host string, to netip.Addr, port uint16) error {
	path, err := link.Find(sys, to)
	if err != nil {
		return badInput("--link %s: %w", host, err)
	}
	fmt.Fprintf(stdout, "Path to %s (%s), port %d\n", printable(host), to, port)
	printInterfaces(stdout, path)
	failed := path.Measure(ctx, sys, port, linkDuration)
	for _, rate := range path.Rates {
		printRate(stdout, rate)
	}
	printVerdict(stdout, path.Judge())
	if failed != nil {
		return fmt.Errorf("--link %s: not measured: %w", host, failed)
	}
	return nil
}

func printInterfaces(w io.Writer, path link.Path) {
	fmt.Fprintf(w, "  leaves by   %s\n", printable(path.By.Describe()))
	for _, other := range path.Fabric {
		fmt.Fprintf(w, "  also up     %s\n", printable(other.Describe()))
	}
}

func printRate(w io.Writer, r link.Rate) {
	unit := "streams"
	if r.Streams == 1 {
		unit = "stream "
	}
	fmt.Fprintf(w, "  %d %s   %s, %.1f CPUs here, packets of %d bytes, round trip %v, %d of %d segments sent again\n",
		r.Streams, unit, link.Gigabits(r.BytesPerSecond), r.CPUs, r.PathMTU, r.RoundTrip, r.Repeated, r.Segments)
}

func printVerdict(w io.Writer, v link.Verdict) {
	fmt.Fprintf(w, "\nVerdict: %s\n", v.Text)
	for _, finding := range v.Findings {
		kind := "note "
		if finding.Cause {
			kind = "cause"
		}
		fmt.Fprintf(w, "  %s  %s\n  fix    %s\n", kind, printable(finding.Text), printable(finding.Fix))
	}
}

// listenForStreams prints, for each machine that measures, the path back to it: its cause may be on this side.
func (l *commandLine) listenForStreams(ctx context.Context, stdout io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", l.linkListen)
	if err != nil {
		return badInput("--link-listen: %w", err)
	}
	limits := link.DefaultLimits()
	fmt.Fprintf(stdout, "Listening at %s for %v. On the other machine: uma-exporter doctor --link=HOST:%d\n",
		listener.Addr(), limits.Time, listener.Addr().(*net.TCPAddr).Port)
	var printing sync.Mutex
	return link.Serve(ctx, listener, limits, func(peer netip.Addr) {
		printing.Lock()
		defer printing.Unlock()
		path, err := link.Find(hostfs.Dir{Path: l.mounts.sys}, peer)
		if err != nil {
			fmt.Fprintf(stdout, "Streams of %s: %s\n", peer, oneLine(err.Error()))
			return
		}
		fmt.Fprintf(stdout, "Streams of %s; the path back\n", peer)
		printInterfaces(stdout, path)
		printVerdict(stdout, path.Judge())
	})
}
