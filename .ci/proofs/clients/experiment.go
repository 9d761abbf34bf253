package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// streaming is the server of most experiments: 20 tokens a second, streams of about 5 s.
func streaming() serving {
	return serving{first: 100 * time.Millisecond, gap: 50 * time.Millisecond, tokens: 100}
}

// instant is a server that writes its whole answer at once.
func instant() serving { return serving{tokens: 8} }

// steadyLoad keeps about so many streams open by sending at constant intervals: if all were sent at once, every token
// of every stream would be in the same millisecond.
func steadyLoad(s serving, streams int, measured time.Duration) load {
	rate, ramp := float64(streams)/s.lasts().Seconds(), s.lasts()+time.Second
	return load{
		arrival: "constant", rate: rate, streams: streams, tokens: s.tokens,
		ramp: int(rate * ramp.Seconds()), requests: int(rate * (ramp + measured).Seconds()),
	}
}

// accuracy is the comparison with the bare reader: CPU time of an event, memory, errors.
func accuracy(ctx context.Context, l *lab) error {
	s := streaming()
	w := steadyLoad(s, l.streams, l.window+4*time.Second)
	outcomes, err := l.repeat(ctx, "streams", l.ours(), s, w)
	if err != nil {
		return err
	}
	l.print(costTable(outcomes), accuracyTable(outcomes))
	return nil
}

// truthOfAll makes every installed client measure the same server, with few streams and with many.
func truthOfAll(ctx context.Context, l *lab) error {
	for _, streams := range slices.Compact([]int{min(64, l.streams), l.streams}) {
		s := streaming()
		w := steadyLoad(s, streams, l.window+4*time.Second)
		w.ramp = 0 // some clients report no request IDs
		var all []outcome
		for _, c := range append(l.ours(), l.inPython(ctx)...) {
			closed := w
			if c.name == multiTurnName {
				if streams > mostProcesses {
					continue
				}
				closed.arrival = "closed"
			}
			o, err := l.measure(ctx, fmt.Sprintf("truth-%d", streams), 0, c, s, closed)
			if err != nil {
				l.print(fmt.Sprintf("%s, %d streams: %v\n", c.name, streams, err))
				continue
			}
			all = append(all, o)
		}
		l.print(truthTable(streams, all))
	}
	return nil
}

// definitions shows which event clients call first token and gap: the role comes before the first token, the end after
// the last.
func definitions(ctx context.Context, l *lab) error {
	s := streaming()
	s.role, s.end = 60*time.Millisecond, 100*time.Millisecond
	w := steadyLoad(s, min(16, l.streams), l.window)
	w.ramp = 0
	var all []outcome
	for _, c := range append(l.ours(), l.inPython(ctx)...) {
		own := w
		if c.name == multiTurnName {
			own.arrival = "closed"
		}
		o, err := l.measure(ctx, "definitions", 0, c, s, own)
		if err != nil {
			l.print(fmt.Sprintf("%s: %v\n", c.name, err))
			continue
		}
		all = append(all, o)
	}
	l.print(fmt.Sprintf("role %v before the first token, end %v after the last\n\n", s.first-s.role, s.end), truthTable(min(16, l.streams), all))
	return nil
}

// openLoop sends 2,000 requests a second to an instant server.
func openLoop(ctx context.Context, l *lab) error {
	const rate = 2000
	w := load{arrival: "constant", rate: rate, streams: rate, warmup: rate, requests: rate * int((l.window + 2*time.Second).Seconds()), tokens: instant().tokens}
	outcomes, err := l.repeat(ctx, "open", append(l.ours(), plainVegeta()), instant(), w)
	if err != nil {
		return err
	}
	if l.umaLoad != "" {
		w.arrival = "poisson"
		more, err := l.repeat(ctx, "open-poisson", []client{umaLoad("uma-load, poisson")}, instant(), w)
		if err != nil {
			return err
		}
		outcomes = append(outcomes, more...)
	}
	l.print(openTable(outcomes))
	return nil
}

// closedLoop keeps 32 requests in flight, with connections that stay open and with new ones.
func closedLoop(ctx context.Context, l *lab) error {
	for _, s := range []serving{instant(), {tokens: instant().tokens, hangUp: true}} {
		w := load{arrival: "closed", streams: 32, tokens: s.tokens}
		clients := []client{plainVegeta()}
		if l.umaLoad != "" {
			clients = append(clients, umaLoad("uma-load"))
		}
		outcomes, err := l.repeat(ctx, fmt.Sprintf("closed-%v", s.hangUp), clients, s, w)
		if err != nil {
			return err
		}
		l.print(closedTable(s.hangUp, outcomes))
	}
	return nil
}

// burst sends all requests at the same moment, over open connections.
func burst(ctx context.Context, l *lab) error {
	s := serving{first: time.Second, gap: 50 * time.Millisecond, tokens: 2}
	w := load{arrival: "closed", streams: l.streams, warmup: l.streams, requests: l.streams, tokens: s.tokens}
	clients := l.ours()
	if l.python != "" && versionOf(ctx, l.python, "aiperf") != "" {
		clients = append(clients, aiperf())
	}
	outcomes, err := l.repeat(ctx, "burst", clients, s, w)
	if err != nil {
		return err
	}
	l.print(burstTable(outcomes))
	return nil
}

// sampler measures the cost of the telemetry of a run, with an exporter of this machine.
func sampler(ctx context.Context, l *lab) error {
	if l.umaLoad == "" || l.umaExporter == "" {
		return fmt.Errorf("needs -uma-load and -uma-exporter")
	}
	const address = "127.0.0.1:18401"
	exporter, err := start(ctx, l.manyCores, []string{l.umaExporter, "--web.listen-address=" + address}, filepath.Join(l.out, "exporter.log"))
	if err != nil {
		return err
	}
	defer exporter.command.Process.Kill()
	if err := sleep(ctx, 2*time.Second); err != nil {
		return err
	}
	s := streaming()
	w := steadyLoad(s, min(64, l.streams), 30*time.Second)
	c := umaLoad("uma-load, telemetry", "--telemetry", "here=http://"+address+"/metrics", "--telemetry-interval", "1s")
	var shares []float64
	for i := range l.repeats {
		o, err := l.measure(ctx, "sampler", i, c, s, w)
		if err != nil {
			return err
		}
		share, err := samplerShare(o.folder)
		if err != nil {
			return err
		}
		shares = append(shares, share*100)
	}
	l.print(fmt.Sprintf("telemetry sampler at 1 Hz: %s %% of a core\n", spreadOf(shares, "%.2f")))
	return nil
}

// ours are the bare reader and uma-load.
func (l *lab) ours() []client {
	clients := []client{bare()}
	if l.umaLoad != "" {
		clients = append(clients, umaLoad("uma-load"))
	}
	return clients
}

// repeat measures each client several times, in an order that changes.
func (l *lab) repeat(ctx context.Context, name string, clients []client, s serving, w load) ([]outcome, error) {
	var all []outcome
	for i := range l.repeats {
		for _, c := range rand.Perm(len(clients)) {
			o, err := l.measure(ctx, name, i, clients[c], s, w)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", clients[c].name, err)
			}
			all = append(all, o)
		}
	}
	return all, nil
}

// print writes to the terminal and to the file of results.
func (l *lab) print(texts ...string) {
	file, err := os.OpenFile(filepath.Join(l.out, "results.md"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer file.Close()
	for _, text := range texts {
		fmt.Println(text)
		fmt.Fprintln(file, text)
	}
}
