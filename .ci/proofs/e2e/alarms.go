package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/sim"
)

// The names of the alerts that are provoked.
const (
	gpuHot       = "GPUHot"
	memoryLow    = "MemoryAvailableLow"
	oomKill      = "OOMKill"
	exporterDown = "ExporterDown"
	runs         = "RunInProgress"
)

// roomCelsius is the ambient temperature of oven. With its CPUs busy it is warm then without load on its GPU, and under
// GPU load even the slowest clock cannot keep it below 92 degrees.
const roomCelsius = 60

// alarms provokes alerts and follows them to the webhook.
type alarms struct {
	*stage
	hot, hog, smallHog *sim.Process
}

func newAlarms(s *stage) *alarms { return &alarms{stage: s} }

// soak warms oven before the first scrape.
func (s *stage) soak(h *sim.Host) error {
	process, err := h.Start(sim.Program{Comm: "stress", Cgroup: "/user.slice/user-1000.slice/session-7.scope", Threads: 20})
	if err != nil {
		return err
	}
	process.Demand(sim.Demand{CPUs: 18})
	s.warmer = process
	return nil
}

// provokeEarly makes oven hot, makes the kernel kill a process of victim, and stops victim's exporter.
func (a *alarms) provokeEarly(ctx context.Context) (_ string, err error) {
	before := fmt.Sprintf(`%s{host=%q} == 0`, metric.VmstatOOMKillsTotal.Def().Name, victim)
	if _, err := a.prometheus.eventually(ctx, time.Minute, before); err != nil {
		return "", err // an increase needs a sample before it
	}
	a.hot, err = a.machines[oven].process("furnace", "/user.slice/user-1000.slice/session-8.scope", 4, sim.Demand{DeviceBytes: 2 * gib, BusyRatio: 1, CPUs: 2})
	if err != nil {
		return "", err
	}
	if _, err := a.machines[victim].process("glutton", "/user.slice/user-1000.slice/session-9.scope", 4, sim.Demand{AnonBytes: 200 * gib}); err != nil {
		return "", err
	}
	killed := who{oomKill, "critical", victim}
	if _, err := a.inbox.awaits(ctx, toTest, killed, "firing", time.Minute); err != nil {
		return "", err
	}
	a.machines[victim].down()
	return killed.String() + " delivered; its exporter is down now", nil
}

// GiB of available memory that are between the floors of a pool of 119.7 GiB, 7.18 and 3.59, and below both.
const (
	little     = 5.4
	hardlyAny  = 2.6
	toleranceG = 0.5
)

// provokeMemory leaves little memory to spark and oven.
func (a *alarms) provokeMemory(ctx context.Context) (_ string, err error) {
	if a.hog, err = a.squeeze(ctx, spark, nil, little); err != nil {
		return "", err
	}
	a.smallHog, err = a.squeeze(ctx, oven, nil, little)
	return fmt.Sprintf("%v GiB available of each", little), err
}

// squeeze makes a process take memory until so many GiB are available.
func (a *alarms) squeeze(ctx context.Context, host string, hog *sim.Process, leave float64) (_ *sim.Process, err error) {
	if hog == nil {
		if hog, err = a.machines[host].process("hog", "/user.slice/user-1000.slice/session-11.scope", 2, sim.Demand{}); err != nil {
			return nil, err
		}
	}
	query := fmt.Sprintf(`%s{host=%q} / 2^30`, metric.MemoryAvailableBytes.Def().Name, host)
	var taken time.Time
	return hog, until(ctx, time.Minute, func(ctx context.Context) error {
		found, err := a.prometheus.some(ctx, query)
		if err != nil {
			return err
		}
		now, _ := found[0].number()
		if now > leave-toleranceG && now < leave+toleranceG {
			return nil
		}
		if time.Since(taken) > 5*time.Second { // the last allocation has been scraped
			hog.Demand(sim.Demand{AnonBytes: max(0, hog.Status().AnonBytes+int64((now-leave)*gib))})
			taken = time.Now()
		}
		return fmt.Errorf("%.1f GiB are available of %s, and the hog holds %.1f", now, host, float64(hog.Status().AnonBytes)/gib)
	})
}

// heat follows the alert about oven's GPU from its start to its end.
func (a *alarms) heat(ctx context.Context) (string, error) {
	hot := who{gpuHot, "critical", oven}
	told, err := a.inbox.awaits(ctx, toTest, hot, "firing", 3*time.Minute)
	if err != nil {
		return "", a.temperature(ctx, err)
	}
	if err := a.complete(told); err != nil {
		return "", err
	}
	a.hot.Stop()
	a.warmer.Stop()
	if err := a.machines[oven].host.SetAmbient(20); err != nil {
		return "", err
	}
	if _, err := a.inbox.awaits(ctx, toTest, hot, "resolved", 2*time.Minute); err != nil {
		return "", a.temperature(ctx, err)
	}
	return told.Annotations["description"], nil
}

// temperature adds the temperature of oven to an error.
func (a *alarms) temperature(ctx context.Context, err error) error {
	found, asked := a.prometheus.some(ctx, fmt.Sprintf(`%s{host=%q}`, metric.GPUTemperatureCelsius.Def().Name, oven))
	if asked != nil {
		return errors.Join(err, asked)
	}
	degrees, _ := found[0].number()
	return fmt.Errorf("%w; the GPU has %v degrees", err, degrees)
}

// complete checks that a notice has every part that a person needs.
func (a *alarms) complete(n notice) error {
	const pages = "https://github.com/umascope/umascope/blob/main/alerts/runbooks.md#"
	anchor, ours := strings.CutPrefix(n.Annotations["runbook_url"], pages)
	runbook, err := os.ReadFile(filepath.Join(a.files.checkout, "alerts", "runbooks.md"))
	switch {
	case err != nil:
		return err
	case !ours || anchor != strings.ToLower(n.Labels["alertname"]) || !strings.Contains(string(runbook), "# "+n.Labels["alertname"]+"\n"):
		return fmt.Errorf("%v: runbook %q leads nowhere", n.Labels, n.Annotations["runbook_url"])
	case n.Annotations["summary"] == "" || !strings.HasPrefix(n.Annotations["description"], n.Labels["host"]):
		return fmt.Errorf("%v says %v", n.Labels, n.Annotations)
	case n.Labels["mode"] != metric.ModeSimulated || !strings.Contains(n.Annotations["description"], metric.ModeSimulated):
		return fmt.Errorf("%v does not say that it is simulated: %v", n.Labels, n.Annotations)
	case n.Labels["instance"] != "" || n.Labels["job"] != "":
		return fmt.Errorf("%v depends on where the exporter is", n.Labels)
	}
	return nil
}

// down follows the alert about victim's exporter, and that about its killed process, which keeps firing and is muted.
func (a *alarms) down(ctx context.Context) (string, error) {
	gone, killed := who{exporterDown, "critical", victim}, who{oomKill, "critical", victim}
	told, err := a.inbox.awaits(ctx, toTest, gone, "firing", 4*time.Minute)
	if err != nil {
		return "", err
	}
	if err := a.complete(told); err != nil {
		return "", err
	}
	if err := a.muted(ctx, killed, gone, time.Minute); err != nil {
		return "", err
	}
	if err := a.machines[victim].up(); err != nil {
		return "", err
	}
	_, err = a.inbox.awaits(ctx, toTest, gone, "resolved", 2*time.Minute)
	return killed.String() + " was muted", err
}
