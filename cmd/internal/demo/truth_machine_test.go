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
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/cmd/internal/memnet"
	"github.com/umascope/umascope/loadgen"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// meeting is where a simulated machine and the uma-load that measures it meet.
type meeting struct {
	network runner.Network
	// listen opens a page of the machine; live is the address of the live page of runs.
	listen func(page int) (listener, error)
	live   string
	// rules are flags of uma-load for a clock on which programs are late; tries is how often a run is made until it is valid,
	// and patience how long one may take.
	rules    []string
	tries    int
	patience time.Duration
}

// inMemory is for a virtual clock, on which no program is ever late.
func inMemory() meeting {
	n := &memnet.Network{}
	return meeting{
		network: runner.Network{Dial: n.Dial, Listen: n.Listen}, live: "192.0.2.2:10421", tries: 1, patience: time.Hour,
		listen: func(page int) (listener, error) {
			open, err := n.Listen("tcp", fmt.Sprintf("192.0.2.1:%d", 8000+page))
			if err != nil {
				return listener{}, err
			}
			return listening(open)
		},
	}
}

// onLoopback is for the wall clock. A computer that is busy with something else takes long for a page: such a run is
// invalid, or does not begin, and is repeated in its place as in a campaign, with twice the time for pages.
func onLoopback() meeting {
	return meeting{
		live: "127.0.0.1:0", tries: 4, patience: 2 * time.Minute, listen: func(int) (listener, error) { return listenHere() },
		rules: []string{
			"--validity", "client_lag=off", "--validity", "client_stall=off", "--validity", "stream_buffered=off",
			// What is asked for here is sampled at the borders of phases. Of the samples between them any may be missing.
			"--validity", "telemetry_lost=90%",
		},
	}
}

// specimen is a simulated machine that runs are made on, and the folder of those runs.
type specimen struct {
	*stage
	meeting
	seed                uint64
	engineURL, pagesURL string
	folder              string
	made                int
	// interval is that of the telemetry. A page has nine tenths of it to come, and a run rests that long before its load and after.
	interval time.Duration
	// readBefore is what the engine's processes had read of the drive when the last run began.
	readBefore uint64
}

// eachSeed does something with a machine of every seed, on which somebody is at work meanwhile, each on a virtual clock of its own.
func eachSeed(t *testing.T, seeds []uint64, do func(ctx context.Context, s *specimen) error) {
	t.Helper()
	t.Run("seeds", func(t *testing.T) { // returns when all of them have
		for _, seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					if err := withSpecimen(t.Context(), seed, t.TempDir(), inMemory(), do); err != nil {
						t.Error(err)
					}
				})
			})
		}
	})
}

func withSpecimen(ctx context.Context, seed uint64, folder string, at meeting, do func(context.Context, *specimen) error) error {
	var pages servers
	defer pages.close()
	m, err := openMachine(truthHost, stageSettings{seed: seed, weights: weightBytes, factor: timeFactor, dial: at.network.Dial}, at.listen)
	if err != nil {
		return err
	}
	s := &specimen{meeting: at, seed: seed, folder: folder, stage: m.stage, engineURL: m.engineURL(), pagesURL: m.exporterURL(), interval: time.Second}
	defer s.close()
	ctx, stop := context.WithCancel(ctx)
	defer stop() // before the machine ends, whoever works at it goes
	m.serve(&pages, m.stage.exporterHandler())
	if err := m.stage.lively(ctx, seed); err != nil {
		return err
	}
	return do(ctx, s)
}

// truthHost is the name of the machine in its runs.
const truthHost = "spark"

// measure starts an engine in an arm, and makes a run of it as uma-load makes any. Labels are NAME=VALUE.
func (s *specimen) measure(ctx context.Context, a arm, o engineOptions, labels []string, flags ...string) (summary.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
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
		"--web.listen-address", s.live, "--log.level", "error", "--warmup", "0", "--ignore-eos", "--telemetry-interval", s.interval.String(),
	}
	args = append(args, s.rules...)
	for _, label := range labels {
		args = append(args, "--label", label)
	}
	var complaints bytes.Buffer
	program := loadgen.Program{Stdout: io.Discard, Stderr: &complaints, Network: s.network}
	code := program.Run(ctx, append(args, flags...))
	if code != exitDone && code != exitInvalid {
		return summary.Run{}, fmt.Errorf("%s: exit %d: %s", id, code, strings.TrimSpace(complaints.String()))
	}
	return summary.Open(filepath.Join(s.folder, id))
}

// measured is measure until there is a run with nothing amiss, and the account of its engine.
func (s *specimen) measured(ctx context.Context, a arm, labels []string, flags ...string) (account, summary.Run, error) {
	why := ""
	for n := range s.tries {
		s.interval = min(time.Second<<n, telemetry.MaxInterval)
		run, err := s.measure(ctx, a, engineOptions{}, labels, flags...)
		switch {
		case ctx.Err() != nil:
			return account{}, run, ctx.Err()
		case err != nil:
			why = err.Error()
			continue
		case !run.Summary.Valid:
			why = reasons(run.Summary)
			continue
		case !complete(run):
			why = "samples are missing at the borders of phases, or pages came without the engine"
			if err := os.RemoveAll(string(run.Folder)); err != nil {
				return account{}, run, err
			}
			continue
		}
		all := s.accounts()
		return all[len(all)-1], run, nil
	}
	return account{}, summary.Run{}, fmt.Errorf("no run in %d tries: %s", s.tries, why)
}

// complete reports whether a run has a sample of each page at each border of a phase, with the engine.
func complete(run summary.Run) bool {
	for _, source := range run.Manifest.Telemetry.Sources {
		if len(source.MissingBorders) > 0 {
			return false
		}
	}
	return run.Summary.Memory != nil && run.Summary.Memory.OccupiedWithoutKV != nil
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
	args := []string{"compare", s.folder, "--by", by, "--baseline", baseline, "--primary", figure.MemoryOccupiedWithoutKV, "--json"}
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
