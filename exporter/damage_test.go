package exporter

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// damage is what may have happened to a file.
type damage struct {
	name string
	of   func([]byte) ([]byte, error)
}

func damages() []damage {
	fails := func(why syscall.Errno) func([]byte) ([]byte, error) {
		return func([]byte) ([]byte, error) { return nil, why }
	}
	return []damage{
		{"gone", fails(syscall.ENOENT)},
		{"no permission", fails(syscall.EACCES)},
		{"input/output error", fails(syscall.EIO)},
		{"would block", fails(syscall.EAGAIN)},
		{"empty", func([]byte) ([]byte, error) { return nil, nil }},
		{"cut in half", func(content []byte) ([]byte, error) { return content[:len(content)/2], nil }},
		{"garbage", func([]byte) ([]byte, error) {
			return []byte("\x00\xff<script>\x1b[31m|=cmd 99999999999999999999999\n-1\n"), nil
		}},
		{"huge", func([]byte) ([]byte, error) { return bytes.Repeat([]byte("1 2 3 4 5 6 7 8\n"), 2<<20/16), nil }},
	}
}

// probe notes which files and directories of a host are read, and damages one of them.
type probe struct {
	damaged string // with the name of its file system before it, "" for none
	how     damage

	mu   sync.Mutex
	read map[string]bool // true for a file that has content
}

// at puts the probe into a directory of a host, until the function that it returns; the name identifies the directory.
func (p *probe) at(t *testing.T, dirName string, dir hostfs.Dir) (probed hostfs.Dir, restore func()) {
	t.Helper()
	restore = func() {}
	_, refusal := p.apply(nil)
	name, mine := strings.CutPrefix(p.damaged, dirName+"/")
	if info, err := dir.Lstat(name); mine && refusal == nil && err == nil && info.Mode().IsRegular() {
		edit(t, dir, name, func(content []byte) []byte {
			restore = func() { put(t, dir, name, content) }
			damaged, _ := p.how.of(content)
			return damaged
		})
	}
	plain := dir
	dir.Refuse = func(name string) error {
		info, err := plain.Stat(name)
		p.note(dirName+"/"+name, err == nil && info.Mode().IsRegular() && info.Size() > 0)
		if dirName+"/"+name != p.damaged {
			return nil
		}
		return refusal
	}
	return dir, restore
}

func (p *probe) note(name string, hasContent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read[name] = p.read[name] || hasContent
}

func (p *probe) apply(content []byte) ([]byte, error) {
	if p.damaged == "" {
		return content, nil
	}
	return p.how.of(content)
}

// scrapeDamaged makes a page of a host whose file at path is damaged meanwhile, "" for none, and returns the files that
// were read for it.
func scrapeDamaged(t *testing.T, host collector.Host, options collector.Options, path string, how damage, collectors ...string) (*collector.Scrape, map[string]bool) {
	t.Helper()
	p := &probe{damaged: path, how: how, read: map[string]bool{}}
	for name, dir := range map[string]*hostfs.Dir{"proc": &host.Proc, "sys": &host.Sys, "cgroup": &host.Cgroup} {
		probed, restore := p.at(t, name, *dir)
		defer restore()
		*dir = probed
	}
	e, err := New(host, Settings{Options: options, HideOwnMetrics: true})
	must(t, err)
	scrape, err := e.runner.Scrape(t.Context(), collectors...)
	must(t, err)
	return scrape, p.read
}

// pageSeries gathers a scrape through the client library, which checks types, labels and duplicates.
// The first key is the family. What is never the same twice is left out.
func pageSeries(t *testing.T, scrape *collector.Scrape) map[string]map[string]float64 {
	t.Helper()
	varying := []string{metric.CollectorDurationSeconds.Def().Name, metric.CollectorLastSuccessTimestampSeconds.Def().Name}
	families, err := prometheus.Gatherers{scrape}.Gather()
	must(t, err)
	page := map[string]map[string]float64{}
	for _, family := range families {
		if slices.Contains(varying, family.GetName()) {
			continue
		}
		series := map[string]float64{}
		for _, m := range family.GetMetric() {
			series[labelsOf(m)] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
		page[family.GetName()] = series
	}
	return page
}

func labelsOf(m *dto.Metric) string {
	var text strings.Builder
	for _, pair := range m.GetLabel() {
		fmt.Fprintf(&text, "%s=%q,", pair.GetName(), pair.GetValue())
	}
	return text.String()
}

// readersOf returns the collectors that read each file of a host.
func readersOf(t *testing.T, host collector.Host, options collector.Options) map[string][]string {
	t.Helper()
	readers := map[string][]string{}
	for _, spec := range collector.All() {
		_, read := scrapeDamaged(t, host, options, "", damage{}, spec.Name)
		for path := range read {
			readers[path] = append(readers[path], spec.Name)
		}
	}
	return readers
}

// kindOfFile is a path without the parts that identify one process, device or cgroup.
func kindOfFile(path string) string {
	if strings.HasPrefix(path, "cgroup/") && strings.Count(path, "/") > 1 {
		path = "cgroup/any/" + filepath.Base(path)
	}
	return regexp.MustCompile(`[0-9a-f]{12,}|[0-9]+`).ReplaceAllString(path, "#")
}

// spares are files whose reader does as well without them, with what makes up for each.
func spares() map[string]string {
	return map[string]string{
		"cgroup/any/cgroup.procs": "processes beside those that hold GPU memory; in most cgroups there are none",
		"proc/#/cgroup":           "the same of a process beside those",
	}
}

// TestDamagedFileCostsOnlyTheCollectorsThatReadIt damages files and directories of every kind, on two hosts
// each, in every way, one at a time.
func TestDamagedFileCostsOnlyTheCollectorsThatReadIt(t *testing.T) {
	type kind struct {
		name    string
		present bool
	}
	damaged := map[kind]int{}
	eachHost(t, func(t *testing.T, name string) {
		host, err := openHost(name)
		must(t, err)
		defer host.Close()
		options := hostOptions(name)
		scrapeDamaged(t, host, options, "", damage{}) // the first page of a driver that loses its GPU then differs from all others
		whole, present := scrapeDamaged(t, host, options, "", damage{})
		want := pageSeries(t, whole)
		readers := readersOf(t, host, options)
		done := map[kind]bool{}
		for _, path := range slices.Sorted(maps.Keys(readers)) {
			kind := kind{kindOfFile(path), present[path]}
			if done[kind] || damaged[kind] == 2 {
				continue
			}
			done[kind] = true
			damaged[kind]++
			for _, how := range damages() {
				scrape, _ := scrapeDamaged(t, host, options, path, how)
				got := pageSeries(t, scrape)
				if how.name == "input/output error" && present[path] && spares()[kind.name] == "" && maps.EqualFunc(got, want, maps.Equal[map[string]float64]) {
					t.Errorf("%s %s: the page is the same", path, how.name)
				}
				for _, outcome := range scrape.Outcomes {
					checkOutcome(t, path+" "+how.name, outcome)
					if slices.Contains(readers[path], outcome.Spec.Name) {
						continue
					}
					for _, definer := range outcome.Spec.Metrics {
						name := definer.Def().Name
						if !maps.Equal(got[name], want[name]) {
							t.Errorf("%s %s: %s of collector %s, which does not read it, changed", path, how.name, name, outcome.Spec.Name)
						}
					}
				}
			}
		}
	})
}

// checkOutcome checks that a collector has coped: it has not panicked, its values are valid on a page, and its state
// matches its error.
func checkOutcome(t *testing.T, where string, o collector.Outcome) {
	t.Helper()
	switch reason := o.Reason(); {
	case strings.HasPrefix(reason, "panic:"), strings.HasPrefix(reason, "refused:"):
		t.Errorf("%s: collector %s: %s", where, o.Spec.Name, reason)
	case len(reason) > 16<<10:
		t.Errorf("%s: collector %s gives a reason of %d bytes: %.200s", where, o.Spec.Name, len(reason), reason)
	case (o.State == collector.OK) != (o.Err == nil):
		t.Errorf("%s: collector %s is %s with error %v", where, o.Spec.Name, o.State, o.Err)
	}
}
