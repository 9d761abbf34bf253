package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

func defaultProfile() profile {
	return profile{"default", []string{"alertmanager", "exporter", "grafana", "prometheus", "results"}}
}

func exporterProfile() profile { return profile{"exporter", []string{"exporter"}} }

// exporterURL is the address of the exporter of this machine.
const exporterURL = "http://127.0.0.1:10420"

// measured runs the stack over this machine as it is, without a GPU.
func (p *proof) measured(ctx context.Context, c checkout) {
	in, err := openInbox()
	if !p.do(ctx, "default: a receiver of alerts, and the routes that are shipped", func(context.Context) (string, error) {
		return "", errors.Join(err, c.restore(p.files.checkout, "alerts", "alertmanager.yml"), os.RemoveAll(c.compose(".env")))
	}) {
		return
	}
	p.inbox = in
	defer func() {
		in.close()
		p.inbox = nil
	}()
	p.docker = p.docker.with("UMA_ALERT_URL=" + in.url())
	of := defaultProfile()
	if p.do(ctx, "default: one command, and all is healthy", func(ctx context.Context) (string, error) { return p.up(ctx, c, of) }) {
		p.do(ctx, "default: every container is held by the kernel as compose.yaml says", func(ctx context.Context) (string, error) {
			return p.confined(ctx, nil)
		})
		p.do(ctx, "default: nothing listens where other machines come from", func(context.Context) (string, error) { return nothingEverywhere() })
		p.do(ctx, "default: every target answers", p.targetsAnswer)
		p.do(ctx, "default: the exporter tells of this machine", p.tellsOfThisMachine)
		p.do(ctx, "load: a run against an engine on this machine, kept and shown", func(ctx context.Context) (string, error) { return p.load(ctx, c) })
		p.do(ctx, "default: people are told of what is live, and not of what is simulated", p.peopleAreTold)
		p.restarts(ctx, c, of)
		p.do(ctx, "privileged: what the exporter has by it is what PRIVILEGES.md says", func(ctx context.Context) (string, error) { return p.privileged(ctx, c) })
	}
	p.do(ctx, "default: down leaves nothing", func(ctx context.Context) (string, error) { return p.down(ctx, c, of) })
	p.do(ctx, "default: what people own is still there", func(context.Context) (string, error) { return c.peoplesOwn() })
	p.do(ctx, "bad input: one line, the exit code of bad input, and nothing started", func(ctx context.Context) (string, error) { return p.refuses(ctx, c) })
	p.alone(ctx, c)
}

// alone runs the profile of a machine that a hub scrapes.
func (p *proof) alone(ctx context.Context, c checkout) {
	of := exporterProfile()
	address := strings.TrimSuffix(inboxAddress, ":8080")
	p.docker = p.docker.with("UMASCOPE_EXPORTER_ADDRESS=" + address)
	p.do(ctx, "exporter alone: one command, and it is healthy", func(ctx context.Context) (string, error) { return p.up(ctx, c, of) })
	p.do(ctx, "exporter alone: it listens at the stated address and the loopback", func(ctx context.Context) (string, error) {
		if _, err := ask(ctx, http.MethodGet, "http://"+address+":10420/metrics", nil, nil); err != nil {
			return "", err
		}
		return nothingEverywhere()
	})
	p.do(ctx, "exporter alone: down leaves nothing", func(ctx context.Context) (string, error) { return p.down(ctx, c, of) })
}

// tellsOfThisMachine compares the figures in Prometheus with those of the kernel, and the label host with the name of
// the machine.
func (p *proof) tellsOfThisMachine(ctx context.Context) (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", err
	}
	live, err := some(ctx, fmt.Sprintf(`%s{host=%q,mode="live"} == 1`, metric.ExporterMode.Def().Name, name))
	if err != nil {
		return "", err
	}
	total, err := number(ctx, metric.MemoryPoolBytes.Def().Name)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "", err
	}
	var kib float64
	if _, err := fmt.Sscanf(string(text), "MemTotal: %f kB", &kib); err != nil {
		return "", err
	}
	if kib*1024 != total {
		return "", fmt.Errorf("the kernel says %.0f bytes of memory, Prometheus has %.0f", kib*1024, total)
	}
	states, err := query(ctx, metric.CollectorState.Def().Name+" == 1")
	if err != nil {
		return "", err
	}
	note := fmt.Sprintf("host %s, live, %.1f GiB of memory; collectors:", live[0].Metric["host"], total/(1<<30))
	for _, s := range states {
		note += fmt.Sprintf(" %s %s,", s.Metric["collector"], s.Metric["state"])
		if s.Metric["state"] == "failed" {
			err = errors.Join(err, fmt.Errorf("the collector %s has failed", s.Metric["collector"]))
		}
	}
	return strings.TrimSuffix(note, ","), err
}

// load makes a run, as the first line of the README's section does, against the simulated engine on the host's loopback.
func (p *proof) load(ctx context.Context, c checkout) (note string, err error) {
	const engine = "umascope-proof-engine"
	if err := p.docker.quiet(ctx, "run", "--detach", "--name", engine, "--network=host", "umascope/uma-demo:dev", "simulate", "--every=1h",
		"--exporter.listen-address=127.0.0.1:11420", "--load.listen-address=127.0.0.1:11421", "--runs=/runs"); err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, p.docker.quiet(context.WithoutCancel(ctx), "rm", "--force", "--volumes", engine))
	}()
	if err := until(ctx, time.Minute, func(ctx context.Context) error {
		_, err := ask(ctx, http.MethodGet, "http://127.0.0.1:8000/v1/models", nil, nil)
		return err
	}); err != nil {
		return "", err
	}
	out, stderr, err := p.docker.in(c.compose()).output(ctx, "docker", "compose", "run", "--rm", "load", "run", "--url", "http://127.0.0.1:8000",
		"--requests=8", "--output-tokens=16", "--label", "arm=proof")
	// A machine that also builds and serves all this may stall the client: the run is then finished and INVALID.
	if code := exitCode(err); err != nil && code != 3 {
		return strings.TrimSpace(stderr), err
	}
	verdict := "valid"
	if err != nil {
		verdict = "INVALID, as it says"
	}
	entries, err := filepath.Glob(c.compose("runs", "*", "summary.json"))
	if err != nil || len(entries) != 1 {
		return out, fmt.Errorf("finished run folders are %q, and should be one: %w", entries, err)
	}
	run := filepath.Base(filepath.Dir(entries[0]))
	err = until(ctx, 90*time.Second, func(ctx context.Context) error {
		names, err := finishedRuns(ctx)
		if err == nil && !slices.Contains(names, run) {
			err = fmt.Errorf("of runs, %q are in Prometheus, without %s", names, run)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	simulated, err := number(ctx, fmt.Sprintf("%s{run=%q}", metric.RunSimulated.Def().Name, run))
	if err == nil && simulated != 1 {
		err = errors.New("it does not say that the engine is simulated")
	}
	about, e := os.Stat(filepath.Dir(entries[0]))
	if e != nil {
		return "", e
	}
	return fmt.Sprintf("%s, %s%s, %s; Prometheus has it, and that its engine is simulated", run, verdict, invalidFor(ctx), about.Mode()), err
}

// peopleAreTold posts alerts to Alertmanager as Prometheus does, and checks which of them the shipped routes send to
// the address in the secret.
func (p *proof) peopleAreTold(ctx context.Context) (string, error) {
	p.inbox.empty()
	var alerts []map[string]any
	for _, mode := range []string{"simulated", "live"} {
		alerts = append(alerts, map[string]any{"labels": map[string]string{"alertname": "MemoryAvailableLow", "severity": "critical", "host": "proof", "mode": mode}})
	}
	if _, err := ask(ctx, http.MethodPost, alertmanagerURL+"/api/v2/alerts", alerts, nil); err != nil {
		return "", err
	}
	of := func(mode string) func(notice) bool {
		return func(n notice) bool { return n.Labels["host"] == "proof" && n.Labels["mode"] == mode }
	}
	if _, err := p.inbox.awaits(ctx, time.Minute, of("live")); err != nil {
		return "", err
	}
	if slices.ContainsFunc(p.inbox.all(), of("simulated")) {
		return "", errors.New("people were told of something simulated")
	}
	return "told of the live one, at the address in the secret; not of the simulated one", nil
}

// peoplesOwn checks for files that belong to users and not to the stack: settings, secrets, runs.
func (c checkout) peoplesOwn() (string, error) {
	for _, path := range []string{".env", "secrets/grafana-password", "secrets/alert-receiver", "prometheus/targets/exporter.yml"} {
		if about, err := os.Stat(c.compose(path)); err != nil || about.Size() == 0 {
			return "", fmt.Errorf("%s is gone or empty: %w", path, err)
		}
	}
	runs, err := filepath.Glob(c.compose("runs", "*", "summary.json"))
	if err == nil && len(runs) == 0 {
		err = errors.New("no run is left")
	}
	return fmt.Sprintf("settings, secrets, targets, %d runs", len(runs)), err
}
