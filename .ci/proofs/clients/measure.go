package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// outcome is one run of one client.
type outcome struct {
	client   client
	load     load
	folder   string
	reported []stream
	truth    []served // of the streams that are reported; without IDs not in the same order
	usage    usage
}

// usage is the cost of a client under steady load; ok reports whether the load was ever steady.
type usage struct {
	ok               bool
	wall, cpu        time.Duration
	events, requests int64
	bytes            int64
}

func (u usage) perEvent() float64   { return u.cpu.Seconds() * 1e6 / float64(u.events) }
func (u usage) perRequest() float64 { return u.cpu.Seconds() * 1e6 / float64(u.requests) }

// longestRun ends a client that hangs.
const longestRun = 3 * time.Minute

// measure runs one client against a server of its own.
func (l *lab) measure(ctx context.Context, name string, round int, c client, s serving, w load) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	o := outcome{client: c, load: w, folder: filepath.Join(l.out, fmt.Sprintf("%s-%s-%d", name, strings.ReplaceAll(c.name, " ", "-"), round))}
	if err := os.MkdirAll(o.folder, 0o755); err != nil {
		return o, err
	}
	server, err := l.startServer(ctx, o.folder, s)
	if err != nil {
		return o, err
	}
	command, err := c.command(l, server.url, o.folder, w)
	if err != nil {
		return o, err
	}
	cores := l.clientCore
	if c.many {
		cores = l.manyCores
	}
	client, err := start(ctx, cores, command, filepath.Join(o.folder, "client.log"))
	if err != nil {
		return o, err
	}
	watched := make(chan usage, 1)
	watching, over := context.WithCancel(ctx)
	go func() { watched <- l.watch(watching, client, server, s, w) }()
	err = client.wait(c.fine...)
	over()
	o.usage = <-watched
	truth, stopErr := server.stop()
	if err := errors.Join(err, stopErr); err != nil {
		return o, fmt.Errorf("%w; see %s", err, o.folder)
	}
	if o.reported, err = c.report(o.folder); err != nil {
		return o, err
	}
	if o.truth, err = pair(o.reported, truth); err != nil {
		return o, err
	}
	o.reported, o.truth = afterRamp(o.reported, o.truth, w.ramp)
	return o, nil
}

// watch waits for a steady load and measures the client for the time of the window.
func (l *lab) watch(ctx context.Context, client *process, server *endpoint, s serving, w load) usage {
	for {
		if sleep(ctx, 50*time.Millisecond) != nil {
			return usage{}
		}
		now, err := server.state()
		if err == nil && steady(now, s, w) {
			break
		}
	}
	before, err := client.spent()
	if err != nil {
		return usage{}
	}
	begun, first, err := look(server)
	if err != nil || sleep(ctx, l.window) != nil {
		return usage{}
	}
	after, err := client.spent()
	if err != nil {
		return usage{}
	}
	ended, last, err := look(server)
	return usage{
		ok: err == nil && steady(last, s, w), wall: ended.Sub(begun), cpu: after.cpu - before.cpu,
		events: last.Events - first.Events, requests: last.Requests - first.Requests, bytes: after.bytes,
	}
}

func look(server *endpoint) (time.Time, state, error) {
	now, err := server.state()
	return time.Now(), now, err
}

// steady reports whether the load is the intended one: most streams are open, or, if streams take no time, some
// requests were sent.
func steady(now state, s serving, w load) bool {
	if s.lasts() > 0 {
		return float64(now.Open) >= 0.95*float64(w.streams)
	}
	return now.Requests > int64(w.streams/2)
}
