package hosts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Answer is the outcome of asking a link.
type Answer struct {
	Link  Link
	Heard []Heard
	Err   error
}

// choose returns the links to ask: the named ones, or all that lead to other machines. A named interface that cannot be
// asked is an error.
func choose(links []Link, names []string) ([]Link, error) {
	var chosen []Link
	for _, l := range links {
		if l.Idle == "" && (len(names) == 0 || slices.Contains(names, l.Name)) {
			chosen = append(chosen, l)
		}
	}
	for _, name := range names {
		i := slices.IndexFunc(links, func(l Link) bool { return l.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("%+q: this machine has no such interface, only %s", name, strings.Join(namesOf(links), ", "))
		}
		if links[i].Idle != "" {
			return nil, fmt.Errorf("%s cannot be asked: %s", links[i], links[i].Idle)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no interface can be asked: %s", strings.Join(idleOf(links), "; "))
	}
	return chosen, nil
}

func namesOf(links []Link) []string {
	var names []string
	for _, l := range links {
		names = append(names, l.Name)
	}
	return names
}

func idleOf(links []Link) []string {
	var why []string
	for _, l := range links {
		why = append(why, l.String()+" is "+l.Idle)
	}
	return why
}

// askOn asks all links at once for the given time, and returns the answers of each in their order.
func askOn(ctx context.Context, links []Link, how time.Duration, browse func(context.Context, Link) ([]Heard, error)) []Answer {
	ctx, cancel := context.WithTimeout(ctx, how)
	defer cancel()
	answers := make([]Answer, len(links))
	var all sync.WaitGroup
	for i, l := range links {
		all.Go(func() {
			heard, err := browse(ctx, l)
			answers[i] = Answer{l, heard, err}
		})
	}
	all.Wait()
	return answers
}
