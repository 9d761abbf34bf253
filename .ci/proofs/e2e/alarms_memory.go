package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

func warned(host string) who { return who{memoryLow, "warning", host} }

// memoryWarned follows the warnings about memory. Both machines have little available memory, and one of them has an
// active run, which mutes its warning.
func (a *alarms) memoryWarned(ctx context.Context) (string, error) {
	told, err := a.inbox.awaits(ctx, toTest, warned(oven), "firing", 3*time.Minute)
	if err != nil {
		return "", err
	}
	if err := a.complete(told); err != nil {
		return "", err
	}
	return warned(spark).String() + " was muted by the run", a.muted(ctx, warned(spark), who{runs, "none", spark}, time.Minute)
}

// memoryCritical leaves hardly any available memory to the machine with the run. No alert mutes the critical one.
func (a *alarms) memoryCritical(ctx context.Context) (_ string, err error) {
	if _, err = a.squeeze(ctx, spark, a.hog, hardlyAny); err != nil {
		return "", err
	}
	told, err := a.inbox.awaits(ctx, toTest, critical(), "firing", 2*time.Minute)
	if err != nil {
		return "", err
	}
	return told.Annotations["description"], a.complete(told)
}

func critical() who { return who{memoryLow, "critical", spark} }

// memoryEnds ends the run, so that only the critical alert mutes the warning of its machine, and not the warning of the
// other one. Then it frees the memory and waits for a resolved notice of every alert that was sent.
//
// The muted alert was never sent as firing. Its end may be sent together with that of the alert that muted it, which
// has the same group: Alertmanager evaluates inhibitions now, and no source fires any more.
func (a *alarms) memoryEnds(ctx context.Context) (string, error) {
	if err := a.endLongRun(ctx); err != nil {
		return "", err
	}
	if err := a.muted(ctx, warned(spark), critical(), time.Minute); err != nil {
		return "", err
	}
	if err := a.unmuted(ctx, warned(oven)); err != nil {
		return "", err
	}
	a.hog.Stop()
	a.smallHog.Stop()
	for _, w := range []who{warned(oven), critical()} {
		if _, err := a.inbox.awaits(ctx, toTest, w, "resolved", 2*time.Minute); err != nil {
			return "", err
		}
	}
	for _, n := range a.inbox.all(toTest) {
		if warned(spark).is(n.Labels) && n.Status == "firing" {
			return "", fmt.Errorf("%s was muted and was told of all the same: %v", warned(spark), n)
		}
	}
	return "", nil
}

// unmuted returns an error unless Alertmanager has an alert that is not muted.
func (s *stage) unmuted(ctx context.Context, w who) error {
	all, err := s.alertmanager(ctx)
	if err != nil {
		return err
	}
	for _, a := range all {
		if w.is(a.Labels) {
			if a.Status.State != "active" {
				return fmt.Errorf("%s is %s, by %v", w, a.Status.State, a.Status.InhibitedBy)
			}
			return nil
		}
	}
	return fmt.Errorf("%s is not there", w)
}

// people checks the notices at the address of people, which the project's own routes lead to. All hosts here are
// simulated except one: a target that has never answered has no mode, and people must receive its alert. They must
// receive no alert of a simulated host, while the test's own address has received many.
func (a *alarms) people(ctx context.Context) (string, error) {
	if _, err := a.inbox.awaits(ctx, toPeople, who{exporterDown, "critical", nobody}, "firing", 4*time.Minute); err != nil {
		return "", err
	}
	var problems []error
	for _, n := range a.inbox.all(toPeople) {
		if n.Labels["mode"] == metric.ModeSimulated || n.Labels["host"] != nobody {
			problems = append(problems, fmt.Errorf("people were told of %v", n.Labels))
		}
	}
	simulated := 0
	for _, n := range a.inbox.all(toTest) {
		if n.Labels["mode"] == metric.ModeSimulated {
			simulated++
		}
	}
	if simulated == 0 {
		problems = append(problems, errors.New("the test was told of nothing simulated either, so this proves nothing"))
	}
	return fmt.Sprintf("people: %d notices, test: %d of simulated machines", len(a.inbox.all(toPeople)), simulated), errors.Join(problems...)
}
