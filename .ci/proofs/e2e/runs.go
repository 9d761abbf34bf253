package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/sim"
)

// Exit codes of uma-load that are no failure here: a busy machine makes runs invalid or slow, and the run reports it.
const (
	exitInvalid = 3
	exitSLO     = 4
)

// longest is how long the run may last that is active during the other steps; it is ended before.
const longest = 5 * time.Minute

// command is a run of an arm.
func (s *stage) command(arm, name string, duration time.Duration) []string {
	return []string{
		s.files.umaLoad, "run", "--url", "http://" + s.inference.address, "--engine", "vllm", "--wait-ready", "30s", "--ready-consecutive", "1",
		"--scenario", "multi_turn", "--clients", "6", "--active-conversations", "12", "--max-turns", "4",
		"--input-tokens", "200", "--output-tokens", "24", "--ignore-eos", "--duration", duration.String(), "--warmup", "2",
		"--slo", "ttft=500ms,tpot=100ms", "--telemetry", spark + "=" + s.machines[spark].url(),
		// This machine is busy with all other programs: the figures of runs are ignored, their success is checked.
		"--validity", "client_lag=off", "--validity", "client_stall=off", "--validity", "telemetry_lost=off",
		"--label", "arm=" + arm, "--label", "host=" + spark, "--label", "engine=vllm", "--out", s.path("runs"), "--run-id", name,
		"--web.listen-address", s.loadAddress,
	}
}

// The arms, by the convention of the project, with the cgroup of each.
func arms() map[string]string {
	return map[string]string{
		"native":    "/user.slice/user-1000.slice/session-3.scope",
		"container": containerScope,
	}
}

// order is that of the runs: one arm after the other, which compare will report.
func order() []string { return []string{"native", "container", "container", "native"} }

const runDuration = 8 * time.Second

// others is the memory that other processes than the engine take on the machine, by run: without a difference between
// the runs of an arm there is no interval.
func others() []int64 { return []int64{3 * gib / 2, 3 * gib, 2 * gib, 5 * gib / 2} }

// runs makes the runs, each with its own start of the engine, and compares them.
func (s *stage) runs(ctx context.Context) (string, error) {
	desktop, err := s.machines[spark].process("desktop", "/user.slice/user-1000.slice/session-2.scope", 8, sim.Demand{})
	if err != nil {
		return "", err
	}
	for i, arm := range order() {
		desktop.Demand(sim.Demand{AnonBytes: others()[i]})
		if err := s.restart(ctx, arm); err != nil {
			return "", err
		}
		name := fmt.Sprintf("%s-%d", arm, i)
		run, err := launch(s.path(name+".log"), s.command(arm, name, runDuration)...)
		if err != nil {
			return "", err
		}
		if err := run.wait(ctx, exitInvalid, exitSLO); err != nil {
			return "", err
		}
	}
	compare, err := launch(s.path("compare.log"), s.files.umaLoad, "compare", s.path("runs"), "--by", "arm", "--baseline", "native", "--save")
	if err != nil {
		return "", err
	}
	if err := compare.wait(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d runs of %v", len(order()), runDuration), nil
}

// restart starts the engine anew in the cgroup of the arm.
func (s *stage) restart(ctx context.Context, arm string) error {
	s.inference.finish()
	if err := s.inference.begin(arms()[arm]); err != nil {
		return err
	}
	return until(ctx, time.Minute, func(ctx context.Context) error { return s.answers(ctx, "http://"+s.inference.address+"/health") })
}

// beginLongRun starts a run that goes on until it is ended, and waits until Prometheus has scraped it.
func (s *stage) beginLongRun(ctx context.Context) (string, error) {
	if err := s.restart(ctx, "container"); err != nil {
		return "", err
	}
	run, err := launch(s.path("long.log"), s.command("container", "long", longest)...)
	if err != nil {
		return "", err
	}
	s.longRun = run
	measuring := metric.RunPhase.Def().Name + `{run="long",phase="measure"} == 1`
	if _, err := s.prometheus.eventually(ctx, time.Minute, measuring); err != nil {
		return "", errors.Join(err, run.running())
	}
	good := fmt.Sprintf(`rate(%s{run="long"}[1m]) > 0`, metric.LoadRequestsTotal.Def().Name)
	_, err = s.prometheus.eventually(ctx, time.Minute, good)
	return "", err
}

// endLongRun interrupts it with a signal.
func (s *stage) endLongRun(ctx context.Context) error {
	if err := s.longRun.command.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return s.longRun.wait(ctx, 1, exitInvalid, exitSLO) // 1: it was interrupted
}

// targetsAnswer waits until every target of Prometheus is up, except the host that never answers and uma-load, which is
// up during a run only.
func (s *stage) targetsAnswer(ctx context.Context) (note string, err error) {
	expected := map[string]bool{nobody: true, clients: true}
	var last error // the awaited target, if any
	err = until(ctx, time.Minute, func(ctx context.Context) (problem error) {
		defer func() { last = cmp.Or(problem, last) }()
		var answer struct {
			ActiveTargets []struct {
				Labels            map[string]string
				Health, LastError string
			}
			DroppedTargets []any
		}
		if _, err := s.prometheus.get(ctx, "/api/v1/targets", nil, &answer); err != nil {
			return err
		}
		up := 0
		for _, t := range answer.ActiveTargets {
			if t.Health == "up" {
				up++
			} else if !expected[t.Labels["host"]] {
				return fmt.Errorf("%v is %s: %s", t.Labels, t.Health, t.LastError)
			}
		}
		if want := len(s.machines) + 3; up < want { // and serve, the engine, and Prometheus
			return fmt.Errorf("%d targets are up, want %d", up, want)
		}
		note = fmt.Sprintf("%d up, %d down on purpose; waited for: %v", up, len(answer.ActiveTargets)-up, last)
		return nil
	})
	return note, err
}

// joined queries host series during the active run, as dashboards do. uma-load is scraped at another address and as
// another host than the machine: the join is by its own label host.
func (s *stage) joined(ctx context.Context) (string, error) {
	run := fmt.Sprintf(`max by (host, run, arm) (%s == 1)`, metric.RunActive.Def().Name)
	host := []metric.Definer{metric.GPUPowerWatts, metric.MemoryAvailableBytes, metric.GPUTemperatureCelsius, metric.KVBMUp}
	for _, d := range host {
		query := fmt.Sprintf("%s * on (host) group_left (run, arm) %s", d.Def().Name, run)
		found, err := s.prometheus.some(ctx, query)
		if err != nil {
			return "", err
		}
		for _, one := range found {
			if one.Metric["host"] != spark || one.Metric["run"] != "long" || one.Metric["arm"] != "container" {
				return "", fmt.Errorf("%s gives %v", query, one.Metric)
			}
		}
	}
	up, err := s.prometheus.some(ctx, `up{job="`+metric.JobLoad+`"} == 1`)
	if err == nil && up[0].Metric["host"] != clients {
		err = fmt.Errorf("uma-load is scraped as %v: the join would prove nothing", up[0].Metric)
	}
	return fmt.Sprintf("%d joins", len(host)), err
}

// nativeHistograms checks for native histograms among the values, which classic buckets are not.
func (s *stage) nativeHistograms(ctx context.Context) (string, error) {
	families := 0
	for _, d := range metric.All() {
		name := d.Def().Name
		if _, histogram := d.(metric.Histogram); !histogram || !strings.HasPrefix(name, "uma_load_") {
			continue
		}
		families++
		found, err := s.prometheus.some(ctx, name+`{run="long"}`)
		if err != nil {
			return "", err
		}
		for _, one := range found {
			if len(one.Histogram) != 2 {
				return "", fmt.Errorf("%v is no native histogram", one.Metric)
			}
		}
		classic := url.Values{"match[]": {name + "_bucket"}}
		var kept []map[string]string
		if _, err := s.prometheus.get(ctx, "/api/v1/series", classic, &kept); err != nil || len(kept) > 0 {
			return "", fmt.Errorf("%s_bucket is kept too, %d series: %v", name, len(kept), err)
		}
	}
	if families == 0 {
		return "", errors.New("no histograms are defined")
	}
	return fmt.Sprintf("%d families", families), nil
}

// results waits for the finished runs and the saved comparison.
func (s *stage) results(ctx context.Context) (string, error) {
	of := fmt.Sprintf(`%s{host=%q,job=%q}`, metric.RunInfo.Def().Name, spark, metric.JobResults)
	var runs []sample
	err := until(ctx, time.Minute, func(ctx context.Context) (err error) {
		runs, err = s.prometheus.some(ctx, of)
		if err == nil && len(runs) != len(order()) {
			err = fmt.Errorf("%d finished runs", len(runs))
		}
		return err
	})
	if err != nil {
		return "", err
	}
	for _, query := range []string{
		metric.RunKVCapacityTokens.Def().Name + " * on (run) group_left (arm) " + of,
		metric.RunGPUPowerWatts.Def().Name + " * on (run) group_left (arm) " + of,
		metric.ComparisonVerdict.Def().Name + ` == 1`,
		metric.ComparisonSimulated.Def().Name + ` == 1`,
		metric.RunSimulated.Def().Name + ` == 1`,
	} {
		if _, err := s.prometheus.some(ctx, query); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d runs", len(runs)), nil
}
