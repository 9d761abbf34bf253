package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

func warned(host string) who { return who{memoryLow, "warning", host} }

// memoryWarned follows the warnings about memory. Both machines have little left, and on one of them a run goes
// on, which mutes the warning about it.
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

// memoryCritical leaves hardly any memory to the machine with the run, which mutes the alert about that no more
// than anything else does.
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

// memoryEnds ends the run, so that it is the critical alert alone that mutes the warning of its machine, and not that
// of the other one. Then it gives the memory back and waits until everybody who was told of it is told of its end.
//
// Nobody was told that the muted alert fires. Its end may be told beside that of the one that muted it, which has
// the same group: Alertmanager looks at what mutes an alert now, and nothing does any more.
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

// unmuted is an error unless Alertmanager has an alert and nothing keeps it back.
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

// people looks at what has come to the address of people, which the project's own routes lead to. Everything here
// is simulated but one: a target where nobody has ever answered is of no mode, and people must know of it. Of what is
// simulated they must hear nothing, and the test has heard a lot.
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
