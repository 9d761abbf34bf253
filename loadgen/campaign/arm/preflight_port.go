package arm

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// port checks that the address of a ready probe is free.
func (c *checker) port(ctx context.Context, process, host string, probe plan.Probe) {
	address := addressOf(host, probe)
	if address == "" || c.addresses[address] {
		return
	}
	c.addresses[address] = true
	check := "port " + address
	if c.needs.LeftOver {
		c.add(process, check, Unchecked, whyLeftOver)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	err := dial(ctx, address)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		c.add(process, check, Passes, "free")
	case err != nil:
		c.add(process, check, Unchecked, inner(err).Error())
	case probe.URL != "" && askURL(ctx, probe.URL) != nil: // a proxy in front of the process listens there
		c.add(process, check, Unchecked, "something listens there and is not ready")
	default:
		c.add(process, check, Fails, "something else answers there")
	}
}

// server checks an address that the load is sent to. It never fails a plan: a router may answer before the arm
// starts, and a server may start before the first run.
func (c *checker) server(ctx context.Context, url string, started bool) {
	address := addressOf("", plan.Probe{URL: url})
	if address == "" || c.addresses[address] {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	err := dial(ctx, address)
	check := "server " + address
	switch {
	case err == nil && started:
		c.add("", check, Unchecked, "something answers there before the arm is started")
	case err == nil:
		c.add("", check, Passes, "answers")
	case started:
		c.add("", check, Passes, "does not answer yet")
	default:
		c.add("", check, Unchecked, "does not answer, and the arm starts none: "+inner(err).Error())
	}
}

func dial(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// addressOf returns the host and port that a probe uses, or "" if it uses none.
func addressOf(host string, probe plan.Probe) string {
	if probe.URL == "" {
		if probe.Port == 0 {
			return ""
		}
		host = host[strings.LastIndexByte(host, '@')+1:] // without the user
		return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), strconv.Itoa(probe.Port))
	}
	u, err := url.Parse(probe.URL)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80"))
}
