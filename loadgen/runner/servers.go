package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/workload"
)

// targets returns the servers that share the load, in the order of --url.
func (l Load) targets() []server.Target {
	all := []server.Target{l.Target}
	for _, url := range l.Replicas {
		t := l.Target
		t.URL = url
		all = append(all, t)
	}
	return all
}

// addresses returns the URLs of the servers that share the load.
func (l Load) addresses() []string { return append([]string{l.Target.URL}, l.Replicas...) }

// serverName returns the name of the page and of the process of the server with this number: server, server_2 and so
// on.
func serverName(number int) string {
	if number == 0 {
		return serverProcess
	}
	return fmt.Sprintf("%s_%d", serverProcess, number+1)
}

// subjects are the servers that share the load, in the order of --url; most often one.
type subjects []*subject

// newSubjects asks each server what it serves. The model of the first is that of all. It calls look with the number of
// a server once that has answered.
func newSubjects(ctx context.Context, m *measurement, look func(number int, served server.Served) error) (subjects, error) {
	var all subjects
	for i, t := range m.load.targets() {
		if i > 0 {
			t.Model = all[0].served.Model.ID
		}
		s, err := newSubject(ctx, m, t, func(served server.Served) error {
			if i > 0 && served.Engine != all[0].served.Engine {
				return fmt.Errorf("it looks like %s and %s like %s: servers that share a load get the same requests; --engine names the fields for all", served.Engine, all[0].target.URL, all[0].served.Engine)
			}
			return look(i, served)
		})
		if err == nil {
			all = append(all, s)
			err = all.sameModel()
		}
		if err != nil {
			all.close()
			return nil, m.load.ofServer(t.URL, err)
		}
	}
	return all, nil
}

// ofServer adds the server's URL to an error that lacks it, if there are several servers.
func (l Load) ofServer(url string, err error) error {
	if len(l.Replicas) == 0 || errors.Is(err, ErrInterrupted) || strings.Contains(err.Error(), url+":") {
		return err
	}
	return inputOf("--url: "+url, err)
}

// sameModel refuses the last server if it has another model than the first.
func (all subjects) sameModel() error {
	first, last := all[0], all[len(all)-1]
	if why := first.identity.Unlike(last.identity); why != "" {
		return input(fmt.Errorf("%q is another model there than at %s: %s", last.served.Model.ID, first.target.URL, why))
	}
	return nil
}

// several reports whether more than one server shares the load.
func (all subjects) several() bool { return len(all) > 1 }

// close closes the connections.
func (all subjects) close() {
	for _, s := range all {
		s.close()
	}
}

// maxTokens returns the longest prompt with its answer that all servers take; 0 is unknown.
func (all subjects) maxTokens() int {
	least := 0
	for _, s := range all {
		if n := s.served.Model.MaxTokens; n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// fields returns the vendor's fields that all servers take; nil means the vendor's documented ones.
func (all subjects) fields() []openai.Field {
	var common []openai.Field
	for _, s := range all {
		switch own := s.served.Fields; {
		case own == nil:
		case common == nil:
			common = slices.Clone(own)
		default:
			common = slices.DeleteFunc(common, func(f openai.Field) bool { return !slices.Contains(own, f) })
		}
	}
	return common
}

// omit returns the fields of OpenAI's own that one of the servers refuses.
func (all subjects) omit() []openai.Field {
	var union []openai.Field
	for _, s := range all {
		for _, field := range s.served.Omit {
			if !slices.Contains(union, field) {
				union = append(union, field)
			}
		}
	}
	return union
}

// simulated reports whether any of the engines reports that it is simulated.
func (all subjects) simulated() bool {
	return slices.ContainsFunc(all, func(s *subject) bool { return s.served.Model.Simulated() })
}

// resetPrefixCaches empties the prefix cache of every engine, if the run asks for it.
func (all subjects) resetPrefixCaches(ctx context.Context, m *measurement) error {
	for _, s := range all {
		if err := s.resetPrefixCache(ctx, m); err != nil {
			return m.load.ofServer(s.target.URL, err)
		}
	}
	return nil
}

// send sends the request of a job to its server.
func (all subjects) send(ctx context.Context, j *workload.Job, clock openai.Clock, onPayload func()) openai.Result {
	return all[j.Server].client.Do(ctx, j.Request, clock, onPayload)
}

// name returns the server of a request for its record; empty if there is only one.
func (all subjects) name(j workload.Job) string {
	if !all.several() {
		return ""
	}
	return all[j.Server].target.URL
}

// watch begins to examine failures of every server.
func (all subjects) watch(ctx context.Context, halt context.CancelCauseFunc) {
	for _, s := range all {
		s.identity.Watch(ctx, halt)
	}
}

// hold is the Hold of a workload.Loop: it waits for every server, since the order of the requests is that of the
// schedule.
func (all subjects) hold(ctx context.Context) (waited bool, err error) {
	for _, s := range all {
		held, err := s.identity.Hold(ctx)
		if waited = waited || held; err != nil {
			return waited, err
		}
	}
	return waited, nil
}

// again takes the fingerprints once more.
func (all subjects) again(ctx context.Context) {
	for _, s := range all {
		s.identity.Again(ctx)
	}
}

// stopped reports whether a guard has stopped the load.
func (all subjects) stopped() bool {
	return slices.ContainsFunc(all, func(s *subject) bool { return s.identity.Stopped() })
}

// stampsPackets reports whether the kernel stamps arrivals on all connections.
func (all subjects) stampsPackets() bool {
	return !slices.ContainsFunc(all, func(s *subject) bool { return !s.client.StampsPackets() })
}

// findings returns the model that answers, fingerprints and failures of all servers show. With several servers, each
// fault names its own.
func (all subjects) findings(a *answers) rundir.ModelFindings {
	sum := all[0].findings(a, 0)
	if !all.several() {
		return sum
	}
	faults := func(f *rundir.ModelFindings) []*string {
		return []*string{&f.Mismatch, &f.Changed, &f.Dropped, &f.PromptLimit}
	}
	found := make([][]string, len(faults(&sum)))
	for i, s := range all {
		one := s.findings(a, i)
		sum.Checked, sum.Compared, sum.Guarded = sum.Checked && one.Checked, sum.Compared && one.Compared, sum.Guarded && one.Guarded
		for k, fault := range faults(&one) {
			if *fault != "" {
				found[k] = append(found[k], s.target.URL+": "+*fault)
			}
		}
	}
	for k, fault := range faults(&sum) {
		*fault = strings.Join(found[k], "; ")
	}
	return sum
}

// warnings returns what is known of the servers and makes no run invalid.
func (all subjects) warnings() []string {
	var warnings []string
	for _, s := range all {
		for _, warning := range slices.Concat(s.identity.Warnings(), s.resetWarnings(), s.wentOn()) {
			if all.several() {
				warning = s.target.URL + ": " + warning
			}
			warnings = append(warnings, warning)
		}
	}
	return append(warnings, all.differences()...)
}

// differences warns of servers whose engines are not of one version, or do not take prompts of the same length.
func (all subjects) differences() []string {
	var warnings []string
	for what, of := range map[string]func(*subject) string{
		"versions of the engine":        func(s *subject) string { return s.served.Version },
		"limits of tokens of a request": func(s *subject) string { return fmt.Sprint(s.served.Model.MaxTokens) },
	} {
		var parts []string
		for _, s := range all {
			parts = append(parts, s.target.URL+" "+of(s))
		}
		if slices.ContainsFunc(all, func(s *subject) bool { return of(s) != of(all[0]) }) {
			warnings = append(warnings, fmt.Sprintf("the servers have different %s: %s", what, strings.Join(parts, ", ")))
		}
	}
	slices.Sort(warnings)
	return warnings
}
