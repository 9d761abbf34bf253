package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

// simulatedHost is the machine that the profile sim simulates.
const simulatedHost = "sim-spark"

func simProfile() profile {
	return profile{"sim", []string{"sim", "sim-alertmanager", "sim-grafana", "sim-prometheus", "sim-results"}}
}

// simulation runs the profile sim, which needs no preparation.
func (p *proof) simulation(ctx context.Context, c checkout) {
	in, err := openInbox()
	if !p.do(ctx, "sim: a receiver of alerts, and routes that tell of what is simulated", func(context.Context) (string, error) {
		if err != nil {
			return "", err
		}
		return c.tellSimulated(in.url())
	}) {
		return
	}
	p.inbox = in
	defer func() {
		in.close()
		p.inbox = nil
	}()
	of := simProfile()
	if p.do(ctx, "sim: one command, and all is healthy", func(ctx context.Context) (string, error) { return p.up(ctx, c, of) }) {
		p.do(ctx, "sim: every container is held by the kernel as compose.yaml says", func(ctx context.Context) (string, error) { return p.confined(ctx, nil) })
		p.do(ctx, "sim: nothing listens where other machines come from", func(context.Context) (string, error) { return nothingEverywhere() })
		p.do(ctx, "sim: every target answers", p.targetsAnswer)
		p.do(ctx, "sim: a run finishes, and Prometheus has it from the results", p.runFinishes)
		p.do(ctx, "sim: an alert is delivered", p.alertDelivered)
		p.do(ctx, "sim: all of it says that it is simulated", p.saysSimulated)
		p.do(ctx, "sim: provisioning, and every query of every dashboard", p.dashboards)
		p.do(ctx, "sim: rules are evaluated without a failure", p.rulesHealthy)
		before, err := finishedRuns(ctx)
		p.restarts(ctx, c, of)
		p.do(ctx, "sim: runs go on after the restarts", func(ctx context.Context) (string, error) {
			if err != nil {
				return "", err
			}
			return p.runsGoOn(ctx, len(before))
		})
	}
	p.do(ctx, "sim: down leaves nothing", func(ctx context.Context) (string, error) { return p.down(ctx, c, of) })
}

// targetsAnswer waits until every target is up. The target of live runs is up during a run only.
func (p *proof) targetsAnswer(ctx context.Context) (note string, err error) {
	err = until(ctx, time.Minute, func(ctx context.Context) error {
		note = ""
		all, err := targets(ctx)
		if err == nil && len(all) < 4 {
			err = fmt.Errorf("there are only %d targets", len(all))
		}
		for _, t := range all {
			note += fmt.Sprintf("%s %s %s %s\n", t.Labels["job"], t.ScrapeURL, t.Health, t.LastError)
			if t.Health != "up" && t.Labels["job"] != metric.JobLoad {
				err = errors.Join(err, fmt.Errorf("%s is %s: %s", t.ScrapeURL, t.Health, t.LastError))
			}
		}
		return err
	})
	return strings.TrimSpace(note), err
}

// finishedRuns returns the names of the runs that Prometheus has from the results.
func finishedRuns(ctx context.Context) ([]string, error) {
	all, err := query(ctx, fmt.Sprintf("group by (%s) (%s)", metric.LabelRun, metric.RunInfo.Def().Name))
	var names []string
	for _, s := range all {
		names = append(names, s.Metric[string(metric.LabelRun)])
	}
	slices.Sort(names)
	return names, err
}

// atLeast waits for so many finished runs.
func atLeast(ctx context.Context, n int, most time.Duration) (names []string, err error) {
	err = until(ctx, most, func(ctx context.Context) error {
		names, err = finishedRuns(ctx)
		if err == nil && len(names) < n {
			err = fmt.Errorf("finished are %d runs and not %d", len(names), n)
		}
		return err
	})
	return names, err
}

func (p *proof) runFinishes(ctx context.Context) (string, error) {
	names, err := atLeast(ctx, 1, 4*time.Minute)
	if err != nil {
		return "", err
	}
	info, err := some(ctx, metric.RunInfo.Def().Name)
	if err != nil {
		return "", err
	}
	valid, err := number(ctx, "sum("+metric.RunValid.Def().Name+")")
	if err != nil {
		return "", err
	}
	// While it went on its live page answered.
	live, err := number(ctx, fmt.Sprintf(`max(max_over_time(up{job=%q}[10m]))`, metric.JobLoad))
	if err == nil && live != 1 {
		err = errors.New("no live page of a run was ever read")
	}
	about := info[0].Metric
	return fmt.Sprintf("%s, arm %s, scenario %s, model %s; valid: %.0f of %d%s", strings.Join(names, ", "), about["arm"], about["scenario"], about["model"],
		valid, len(names), invalidFor(ctx)), err
}

// invalidFor returns why runs are not valid: on a busy machine a client may stall, and a run reports it.
func invalidFor(ctx context.Context) string {
	all, err := query(ctx, fmt.Sprintf("group by (%s) (%s == 1)", metric.LabelCode, metric.RunInvalidReason.Def().Name))
	if err != nil {
		return ", " + err.Error()
	}
	var reasons []string
	for _, s := range all {
		reasons = append(reasons, s.Metric[string(metric.LabelCode)])
	}
	if len(reasons) == 0 {
		return ""
	}
	slices.Sort(reasons)
	return ", invalid for " + strings.Join(reasons, ", ")
}

// alertDelivered waits for an alert that is for people, about the simulated machine.
func (p *proof) alertDelivered(ctx context.Context) (string, error) {
	found, err := p.inbox.awaits(ctx, 4*time.Minute, func(n notice) bool {
		return n.Status == "firing" && n.Labels["host"] == simulatedHost && (n.Labels["severity"] == "critical" || n.Labels["severity"] == "warning")
	})
	if err != nil {
		return "", err
	}
	for _, n := range p.inbox.all() {
		if n.Labels["host"] != "" && n.Labels["mode"] != "simulated" {
			err = fmt.Errorf("an alert does not say that it is of something simulated: %v", n.Labels)
		}
	}
	return fmt.Sprintf("%s, %s, of %s, mode %s", found.Labels["alertname"], found.Labels["severity"], found.Labels["host"], found.Labels["mode"]), err
}

// saysSimulated checks that no series can be taken for one of a real machine.
func (p *proof) saysSimulated(ctx context.Context) (string, error) {
	var problems []error
	modes, err := some(ctx, fmt.Sprintf("group by (mode) (%s == 1)", metric.ExporterMode.Def().Name))
	if err != nil {
		return "", err
	}
	if len(modes) != 1 || modes[0].Metric["mode"] != "simulated" {
		problems = append(problems, fmt.Errorf("modes of exporters are %v", modes))
	}
	real, err := query(ctx, metric.RunSimulated.Def().Name+" != 1")
	if err != nil {
		return "", err
	}
	if len(real) > 0 {
		problems = append(problems, fmt.Errorf("runs that do not say it: %v", real))
	}
	others, err := query(ctx, fmt.Sprintf(`group by (host) ({__name__=~"uma_.+",host!~%q})`, simulatedHost+"|"))
	if err != nil {
		return "", err
	}
	if len(others) > 0 {
		problems = append(problems, fmt.Errorf("there are other hosts: %v", others))
	}
	version, err := some(ctx, metric.ExporterBuildInfo.Def().Name)
	if err != nil {
		return "", err
	}
	if got := version[0].Metric["version"]; got != provenVersion {
		problems = append(problems, fmt.Errorf("the version on its page is %q", got))
	}
	// Simulated and live services share no network and no volume.
	left, err := p.docker.everything(ctx)
	if err != nil {
		return "", err
	}
	for _, one := range left {
		if !strings.HasPrefix(one, "container ") && !strings.Contains(one, "simulation") {
			problems = append(problems, fmt.Errorf("the simulation has %s", one))
		}
	}
	return fmt.Sprintf("one mode, %s; one host, %s; every run; its networks and volumes are its own", modes[0].Metric["mode"], simulatedHost), errors.Join(problems...)
}

// shown is the answer of the stand-in of Grafana.
type shown struct {
	User, Datasource                       string
	Dashboards, Variables, Queries, Filled int
	Starts                                 int
	Empty                                  map[string]int // queries without data, by dashboard
	Problems                               []string
}

// dashboards makes the stand-in send every query through the provisioned datasource.
func (p *proof) dashboards(ctx context.Context) (string, error) {
	var s shown
	if _, err := ask(ctx, http.MethodPost, grafanaURL+"/stand-in/ask", nil, &s); err != nil {
		return "", err
	}
	note := fmt.Sprintf("as user %s, datasource %s: %d dashboards, %d variables, %d queries, %d of them with data; without, by dashboard: %v",
		s.User, s.Datasource, s.Dashboards, s.Variables, s.Queries, s.Filled, s.Empty)
	var problems []error
	for _, text := range s.Problems {
		problems = append(problems, errors.New(text))
	}
	if s.Dashboards < 8 || s.Queries < 100 {
		problems = append(problems, errors.New("dashboards or queries are missing"))
	}
	// Some need time: a comparison, a drive's week, an alert. Most must have data after minutes.
	if s.Filled*2 < s.Queries {
		problems = append(problems, errors.New("most queries have no data"))
	}
	return note, errors.Join(problems...)
}

// rulesHealthy checks whether a rule failed.
func (p *proof) rulesHealthy(ctx context.Context) (string, error) {
	evaluated, err := number(ctx, "sum(prometheus_rule_evaluations_total)")
	if err != nil {
		return "", err
	}
	failed, err := number(ctx, "sum(prometheus_rule_evaluation_failures_total)")
	if err == nil && (failed != 0 || evaluated == 0) {
		err = fmt.Errorf("of %.0f evaluations %.0f failed", evaluated, failed)
	}
	return fmt.Sprintf("%.0f evaluations", evaluated), err
}

// runsGoOn waits for one more run than there were before the restarts.
func (p *proof) runsGoOn(ctx context.Context, before int) (string, error) {
	after, err := atLeast(ctx, before+1, 5*time.Minute)
	return fmt.Sprintf("%d, then %d", before, len(after)), err
}
