//go:build proof

package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// atOnce is how many machines are there at the same time. They mostly wait, for their engines and for samples; of many
// more, samples come too late even on a computer that does nothing else.
const atOnce = 16

// seedsSetting is the environment variable that says how many machines of each kind are looked at. Fifty take a quarter of
// an hour on two cores, since runs take the time that they take.
const seedsSetting = "UMASCOPE_TRUTH_SEEDS"

func truthSeeds(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv(seedsSetting)
	if text == "" {
		return usualSeeds
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		t.Fatalf("%s=%s: want a number of machines from 1 on", seedsSetting, text)
	}
	return n
}

// patience is how long a run may take on a computer that is busy with something else.
const patience = 2 * time.Minute

// specimen is a simulated machine that runs are made on, and the folder of those runs.
type specimen struct {
	*stage
	seed                uint64
	engineURL, pagesURL string
	folder              string
	made                int
	// interval is that of the telemetry. A page has nine tenths of it to come, and a run rests that long before its load and after.
	interval time.Duration
	// readBefore is what the engine's processes had read of the drive when the last run began.
	readBefore uint64
}

// specimens lends machines, a few at a time.
type specimens struct {
	folder string
	seeds  uint64
	room   chan struct{}
}

// newSpecimens keeps the folders of runs in memory where there is such a place: a run waits for its disk.
func newSpecimens(t *testing.T) *specimens {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "truth")
	if err != nil {
		folder = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return &specimens{folder: folder, seeds: truthSeeds(t), room: make(chan struct{}, atOnce)}
}

// each does something with a machine of every seed, on which somebody is at work meanwhile. Its runs are gone afterwards.
func (all *specimens) each(t *testing.T, name string, do func(ctx context.Context, s *specimen) error) {
	t.Helper()
	var running sync.WaitGroup
	for seed := range all.seeds {
		running.Go(func() {
			all.room <- struct{}{}
			defer func() { <-all.room }()
			folder := filepath.Join(all.folder, name, fmt.Sprint(seed))
			defer os.RemoveAll(folder)
			if err := withSpecimen(t.Context(), seed, folder, do); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		})
	}
	running.Wait()
}

func withSpecimen(ctx context.Context, seed uint64, folder string, do func(context.Context, *specimen) error) error {
	var pages servers
	defer pages.close()
	ctx, stop := context.WithCancel(ctx)
	m, err := openMachineHere(ctx, truthHost, stageSettings{seed: seed, weights: weightBytes, factor: timeFactor}, &pages)
	if err != nil {
		stop()
		return err
	}
	s := &specimen{seed: seed, folder: folder, stage: m.stage, engineURL: m.engineURL(), pagesURL: m.exporterURL()}
	defer s.close()
	defer stop() // before the machine ends, whoever works at it goes
	return do(ctx, s)
}

// truthHost is the name of the machine in its runs.
const truthHost = "spark"

// measure starts an engine in an arm, and makes a run of it as uma-load makes any. Labels are NAME=VALUE.
func (s *specimen) measure(ctx context.Context, a arm, o engineOptions, labels []string, flags ...string) (summary.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.made++
	o.seed = s.seed*100 + uint64(s.made)
	if err := s.begin(ctx, a, o); err != nil {
		return summary.Run{}, err
	}
	if err := s.served(ctx); err != nil {
		return summary.Run{}, err
	}
	s.readBefore = s.inference.process.Status().ReadBytes
	id := fmt.Sprintf("run-%03d", s.made)
	args := []string{
		"run", "--url", s.engineURL, "--engine", "vllm", "--telemetry", truthHost + "=" + s.pagesURL,
		"--label", "arm=" + a.name, "--label", "host=" + truthHost, "--out", s.folder, "--run-id", id,
		"--web.listen-address", "127.0.0.1:0", "--log.level", "error", "--warmup", "0", "--ignore-eos",
		// Dozens of clients on one computer are late by themselves. How late is no question here.
		"--validity", "client_lag=off", "--validity", "client_stall=off", "--validity", "stream_buffered=off",
		// What is asked for here is sampled at the borders of phases. Of the samples between them any may be missing.
		"--telemetry-interval", s.interval.String(), "--validity", "telemetry_lost=90%",
	}
	for _, label := range labels {
		args = append(args, "--label", label)
	}
	var complaints bytes.Buffer
	code := loadgen.Run(ctx, append(args, flags...), io.Discard, &complaints)
	if code != exitDone && code != exitInvalid {
		return summary.Run{}, fmt.Errorf("%s: exit %d: %s", id, code, strings.TrimSpace(complaints.String()))
	}
	return summary.Open(filepath.Join(s.folder, id))
}

// tries is how often a run is made, at most, until it is one. A computer that is busy with something else takes long for a page:
// such a run is invalid, or does not begin, and is repeated in its place as in a campaign, with twice the time for pages. A page
// that came in time, but without the engine, makes none invalid; that run has no figure of the KV cache, and it is taken away.
const tries = 6

// sampling is the interval of the telemetry of a try, from 0 on.
func sampling(try int) time.Duration { return min(time.Second<<try, telemetry.MaxInterval) }

// measured is measure until there is a run with nothing amiss, and the account of its engine.
func (s *specimen) measured(ctx context.Context, a arm, labels []string, flags ...string) (account, error) {
	why := ""
	for n := range tries {
		s.interval = sampling(n)
		run, err := s.measure(ctx, a, engineOptions{}, labels, flags...)
		switch {
		case ctx.Err() != nil:
			return account{}, ctx.Err()
		case err != nil:
			why = err.Error()
			continue
		case !run.Summary.Valid:
			why = reasons(run.Summary)
			continue
		case run.Summary.Memory == nil || run.Summary.Memory.OccupiedWithoutKV == nil:
			why = "the memory without the KV cache is not known"
			if err := os.RemoveAll(string(run.Folder)); err != nil {
				return account{}, err
			}
			continue
		}
		all := s.accounts()
		return all[len(all)-1], nil
	}
	return account{}, fmt.Errorf("no run in %d tries: %s", tries, why)
}

// served waits until the engine has loaded.
func (s *specimen) served(ctx context.Context) error {
	for {
		w := httptest.NewRecorder()
		s.engineHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/health", nil))
		if w.Code == http.StatusOK {
			return nil
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("the engine does not serve: %w", err)
		}
	}
}

// compared are the runs of the machine as uma-load compares them.
func (s *specimen) compared(ctx context.Context, by, baseline string) (compare.Comparison, error) {
	var out, complaints bytes.Buffer
	var c compare.Comparison
	// What decides here is memory: it is said before any run is made, so it is not one of many.
	args := []string{"compare", s.folder, "--by", by, "--baseline", baseline, "--primary", compare.MemoryOccupiedWithoutKV, "--json"}
	code := loadgen.Run(ctx, args, &out, &complaints)
	if code != exitDone {
		return c, fmt.Errorf("compare: exit %d: %s", code, strings.TrimSpace(complaints.String()))
	}
	return c, json.Unmarshal(out.Bytes(), &c)
}

// row is a metric of the only pair of a comparison.
func row(c compare.Comparison, name string) (compare.Metrics, error) {
	if len(c.Strata) != 1 || len(c.Strata[0].Pairs) != 1 {
		return compare.Metrics{}, fmt.Errorf("%d strata, want one with one pair", len(c.Strata))
	}
	for _, m := range c.Strata[0].Pairs[0].Metrics {
		if m.Name == name {
			return m, nil
		}
	}
	return compare.Metrics{}, fmt.Errorf("no %s is compared", name)
}
