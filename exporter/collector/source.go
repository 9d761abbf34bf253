package collector

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/engine/spec"
)

// MaxSources is the maximum number of sources, logs included: each is read in every collection.
const MaxSources = 20

// SourceOptions are the addresses where engines and KV block managers publish their metrics, and values that those
// pages lack.
type SourceOptions struct {
	// Known are the engines that can be read and found.
	Known spec.Engines
	// Targets are the fixed sources.
	Targets
	// NoDiscovery leaves only the sources that are named. Otherwise the engines of the machine are looked for.
	NoDiscovery bool
	// TargetsFile lists further sources in file_sd form and is read in every collection, so that another engine needs
	// no restart; "" is none.
	TargetsFile string
	// BytesPerBlock is the size of a KV block of a source, in bytes, for sources that do not report it; by source
	// label, "" is the default for all others.
	BytesPerBlock map[string]uint64
	// IterationStats asks engines for statistics that they serve to one reader only.
	IterationStats bool
}

// Targets are sources by their collector.
type Targets struct {
	// KVBM and Engines are pages of metrics.
	KVBM, Engines []*engine.Endpoint
	// KVBMLogs are paths of logs of engines with KVBM, which hold what its metrics lack.
	KVBMLogs []string
}

// Check returns why these sources cannot be read together, nil if they can. The same page may belong to an engine and
// to KVBM: where they share a process, older releases have both on one page.
func (t Targets) Check() error {
	if n := t.count(); n > MaxSources {
		return fmt.Errorf("%d sources; at most %d are read", n, MaxSources)
	}
	for _, names := range [][]string{sourcesOf(t.KVBM), sourcesOf(t.Engines), t.KVBMLogs} {
		slices.Sort(names)
		for i := 1; i < len(names); i++ {
			if names[i] == names[i-1] {
				return fmt.Errorf("%s is named twice", names[i])
			}
		}
	}
	return nil
}

// with joins two lists of sources; neither is changed.
func (t Targets) with(more Targets) Targets {
	return Targets{
		KVBM:     slices.Concat(t.KVBM, more.KVBM),
		Engines:  slices.Concat(t.Engines, more.Engines),
		KVBMLogs: slices.Concat(t.KVBMLogs, more.KVBMLogs),
	}
}

// adding joins the pages that were found, those named first, as far as there is room. A page that is named already
// counts once.
func (t Targets) adding(found Targets) Targets {
	all := t.with(Targets{})
	for _, kind := range []struct {
		list *[]*engine.Endpoint
		more []*engine.Endpoint
	}{{&all.KVBM, found.KVBM}, {&all.Engines, found.Engines}} {
		for _, page := range kind.more {
			if all.count() < MaxSources && !slices.Contains(sourcesOf(*kind.list), page.Source) {
				*kind.list = append(*kind.list, page)
			}
		}
	}
	return all
}

func (t Targets) count() int { return len(t.KVBM) + len(t.Engines) + len(t.KVBMLogs) }

func sourcesOf(endpoints []*engine.Endpoint) []string {
	names := make([]string, len(endpoints))
	for i, e := range endpoints {
		names[i] = e.Source
	}
	return names
}

// ErrNoSources is wrapped by the error of a collector without sources. The engines themselves may run all the same.
var ErrNoSources = errors.New("no page is read")

// answer is the answer of one source.
type answer[T any] struct {
	Source string
	Value  T
	Err    error
}

// Sources get this share of the remaining time, at most longestAnswer: the rest is for the collector's other reads. A
// source that hangs costs its own series and no more than that time.
const longestAnswer = 5 * time.Second

func sourceDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	wait := longestAnswer
	if end, bounded := ctx.Deadline(); bounded {
		wait = min(wait, time.Until(end)*3/4)
	}
	return context.WithTimeout(ctx, wait)
}

// readSources asks all sources at once and returns their answers in the same order. It returns when all have answered
// or their time is up, so that a source has at most one request at a time. A panic becomes that source's error.
func readSources[T any](ctx context.Context, endpoints []*engine.Endpoint, read func(context.Context, *engine.Endpoint) (T, error)) []answer[T] {
	ctx, cancel := sourceDeadline(ctx)
	defer cancel()
	answers := make([]answer[T], len(endpoints))
	var all sync.WaitGroup
	for i, e := range endpoints {
		all.Go(func() {
			one := &answers[i]
			one.Source = e.Source
			defer func() {
				if cause := recover(); cause != nil {
					one.Err = &panicError{cause, debug.Stack()}
				}
			}()
			one.Value, one.Err = read(ctx, e)
		})
	}
	all.Wait()
	return answers
}

// sourcesOutcome is the error of a collector of sources. A source that refuses connections may come and go: if no
// source answers, the collector is absent. A wrong answer is a failure; the answers of the others are served all the
// same. The parameter what names the sources in the plural, flag is the flag that configures them.
func sourcesOutcome[T any](what, flag string, looked discovered, answers []answer[T]) error {
	var failed []error
	var unreachable []string
	for _, a := range answers {
		switch {
		case errors.Is(a.Err, engine.ErrUnreachable):
			unreachable = append(unreachable, a.Source)
		case a.Err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", a.Source, a.Err))
		}
	}
	switch {
	case len(failed) > 0:
		return errors.Join(failed...)
	case len(answers) == 0 && looked.hidden:
		return fmt.Errorf("%w: %w: %s were not found among the processes of this user, those of others are hidden (uma-exporter doctor), and neither %s nor --targets.file names any", ErrAbsent, ErrNoSources, what, flag)
	case len(answers) == 0 && looked.on:
		return fmt.Errorf("%w: %w: %s were not found, and neither %s nor --targets.file names any", ErrAbsent, ErrNoSources, what, flag)
	case len(answers) == 0:
		return fmt.Errorf("%w: %w: neither %s nor --targets.file names %s", ErrAbsent, ErrNoSources, flag, what)
	case len(unreachable) == len(answers):
		return fmt.Errorf("%w: nothing listens at %s", ErrAbsent, strings.Join(unreachable, ", "))
	}
	return nil
}
