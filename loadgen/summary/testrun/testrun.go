// Package testrun has run folders, requests and telemetry for the tests of code that computes or shows figures of runs.
package testrun

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runfile"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// GiB is in bytes.
const GiB = float64(1 << 30)

// Page describes the page of a GB10 exporter after a time under load.
type Page struct {
	Mode string
	// Rest is the unattributed remainder of the ledger, in bytes.
	Rest func(seconds float64) float64
	// Extra is appended unchanged.
	Extra string
	// Per returns text that is appended at that time.
	Per func(seconds float64) string
	// Replace alters the page.
	Replace *strings.Replacer
	// Raw replaces the whole page.
	Raw string
	// Silent reports whether the exporter does not answer at that time.
	Silent func(seconds float64) bool
}

func (p Page) text(at float64) string {
	if p.Raw != "" {
		return p.Raw
	}
	var b strings.Builder
	put := func(family metric.Definer, labels string, v float64) {
		fmt.Fprintf(&b, "%s%s %g\n", family.Def().Name, labels, v)
	}
	put(metric.ExporterMode, fmt.Sprintf("{mode=%q}", p.Mode), 1)
	put(metric.GPUInfo, `{uuid="GPU-1",gpu="0",name="NVIDIA GB10",driver_version="580",cuda_version="13.0",vbios="x",pci_bus_id="y",memory_architecture="integrated"}`, 1)
	load := 1 - math.Exp(-max(0, at-5)/8)
	gpu, anon, cache, kernel := (70+24*load)*GiB, (6+load)*GiB, (9-3*load)*GiB, 1.4*GiB
	rest := p.Rest(at)
	pool := 119.7 * GiB
	free := pool - gpu - anon - cache - kernel - rest
	for line, v := range map[string]float64{"gpu_process": gpu, "anon": anon, "page_cache": cache, "slab_unreclaimable": kernel, "unattributed": rest, "free": free} {
		put(metric.MemoryLedgerBytes, fmt.Sprintf("{line=%q}", line), v)
	}
	put(metric.MemoryPoolBytes, "", pool)
	put(metric.MemoryAvailableBytes, "", free+cache*.9)
	put(metric.MemoryCUDAFreeBytes, "", free)
	put(metric.GPUMemoryHeldBytes, `{uuid="GPU-1"}`, gpu)
	put(metric.GPUTemperatureCelsius, `{uuid="GPU-1"}`, math.Round(45+25*load))
	put(metric.GPUPowerWatts, `{uuid="GPU-1"}`, 12+38*load)
	put(metric.GPUUtilizationRatio, `{uuid="GPU-1"}`, math.Round(100*math.Min(.96, load*1.3))/100)
	put(metric.GPUSMClockHertz, `{uuid="GPU-1"}`, 2.4e9)
	put(metric.GPUEnergyJoulesTotal, `{uuid="GPU-1"}`, 1000+40*at)
	put(metric.GPUClockEventSecondsTotal, `{uuid="GPU-1",reason="sw_power_cap"}`, at/3)
	put(metric.GPUClockEventSecondsTotal, `{uuid="GPU-1",reason="hw_thermal"}`, 0)
	put(metric.VmstatSwappedInBytesTotal, "", 4096)
	b.WriteString(p.Extra)
	if p.Per != nil {
		b.WriteString(p.Per(at))
	}
	if p.Replace != nil {
		return p.Replace.Replace(b.String())
	}
	return b.String()
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Sampled runs the real sampler on pages, on a virtual clock, in phases that begin at their given times.
func Sampled(t *testing.T, pages map[string]Page, phases []telemetry.Phase, total time.Duration) *telemetry.Log {
	t.Helper()
	path, _ := sample(t, pages, phases, total, slices.Sorted(maps.Keys(pages))...)
	log, err := telemetry.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	log.Engines = supported.Engines()
	return log
}

// sample writes a telemetry file, with the sources in that order.
func sample(t *testing.T, pages map[string]Page, phases []telemetry.Phase, total time.Duration, order ...string) (path string, stats runfile.SamplingStats) {
	t.Helper()
	path = filepath.Join(t.TempDir(), rundir.TelemetryFile)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			page, at := pages[r.URL.Host], time.Since(start).Seconds()
			if page.Silent != nil && page.Silent(at) {
				return nil, io.ErrUnexpectedEOF
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(page.text(at)))}, nil
		})}
		o := telemetry.Options{Engines: supported.Engines(), Interval: time.Second, Client: client, File: path,
			Clock: func() int64 { return time.Since(start).Nanoseconds() }}
		for _, name := range order {
			o.Sources = append(o.Sources, telemetry.Source{Name: name, URL: "http://" + name})
		}
		sampler, err := telemetry.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, phase := range phases {
			time.Sleep(time.Duration(phase.AtNS) - time.Since(start))
			sampler.Mark(phase.Name)
		}
		time.Sleep(total - time.Since(start))
		sampler.Mark("stop")
		if stats, err = sampler.Stop(); err != nil {
			t.Fatal(err)
		}
	})
	return path, stats
}

// Rest is a constant remainder of the ledger, in bytes.
func Rest(float64) float64 { return 1.1 * GiB }

// Loaded returns the requests of a typical run: a Poisson process on a server that slows down as more of them are
// running, and a few that fail.
func Loaded(total time.Duration) []openai.Record {
	random := rand.New(rand.NewPCG(7, 7))
	var records []openai.Record
	for at := 0.0; at < total.Seconds()-4; at += random.ExpFloat64() / 4 {
		wait := math.Max(0, random.NormFloat64()*.05+.08*math.Sin(at/7)+.06)
		var chunks []int64
		offset := 90 + 60*random.ExpFloat64()
		for range 24 + random.IntN(40) {
			chunks = append(chunks, int64(offset))
			offset += 18 + 3*random.NormFloat64() + 12*math.Max(0, random.NormFloat64()-1.5)
		}
		r := Answered(len(records), int64(1000*(at+wait)), chunks...)
		r.IntendedNS = min(*r.DispatchNS, int64(at*1e9))
		if at < 5 {
			r.Phase = "warmup"
		}
		if random.IntN(120) == 0 {
			r.Status, r.Error = openai.StatusTruncated, "cut"
		}
		records = append(records, r)
	}
	return records
}

const ms = int64(time.Millisecond)

// Answered is a request that was sent when it was due and got chunks at these offsets, in milliseconds after its
// dispatch; one token a chunk, each in a read of its own.
func Answered(index int, dispatchMS int64, chunksMS ...int64) openai.Record {
	r := openai.Record{
		Run: "r", Phase: "measure", Index: index, Status: openai.StatusOK, HTTPStatus: 200,
		IntendedNS: dispatchMS * ms, EligibleNS: new(dispatchMS * ms), DispatchNS: new(dispatchMS * ms), WrittenNS: new(dispatchMS * ms),
		TokensIn: new(100), TokensOut: new(len(chunksMS)), FinishReason: "stop",
	}
	last := dispatchMS
	for i, at := range chunksMS {
		step := (dispatchMS + at - last) * ms
		if i == 0 {
			step += last * ms
		}
		r.ArrivalsNS = append(r.ArrivalsNS, step)
		r.ArrivalTokens = append(r.ArrivalTokens, 1)
		r.ReadIDs = append(r.ReadIDs, i)
		last = dispatchMS + at
	}
	r.FirstTokenNS, r.FirstVisibleNS = new((dispatchMS+chunksMS[0])*ms), new((dispatchMS+chunksMS[0])*ms)
	r.EndNS = new((last + 1) * ms)
	return r
}

// Failed is a request that ended with an error 5 ms after it was sent.
func Failed(index int, dispatchMS int64, status openai.Status) openai.Record {
	return openai.Record{
		Phase: "measure", Index: index, Status: status, Error: "broken",
		IntendedNS: dispatchMS * ms, EligibleNS: new(dispatchMS * ms), DispatchNS: new(dispatchMS * ms), EndNS: new((dispatchMS + 5) * ms),
	}
}

// Sequence yields the records as a file would.
func Sequence(records ...openai.Record) iter.Seq2[openai.Record, error] {
	return func(yield func(openai.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Steady is n good requests, one after the other.
func Steady(n int) []openai.Record {
	var records []openai.Record
	for i := range n {
		records = append(records, Answered(i, int64(i)*300, 100, 120, 140, 160, 180, 200, 220, 240))
	}
	return records
}

// JSONLines returns the text of a file of records.
func JSONLines(t testing.TB, records ...openai.Record) string {
	t.Helper()
	var b strings.Builder
	for _, r := range records {
		if err := json.NewEncoder(&b).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// Altered returns steady load with the first requests altered.
func Altered(n, first int, alter func(*openai.Record)) []openai.Record {
	records := Steady(n)
	for i := range first {
		alter(&records[i])
	}
	return records
}

// WithoutOutput makes a record an empty answer that ended ok.
func WithoutOutput(r *openai.Record) {
	r.FirstTokenNS, r.FirstVisibleNS, r.ArrivalsNS, r.ArrivalTokens, r.ArrivalKinds, r.ReadIDs = nil, nil, nil, nil, "", nil
	r.TokensOut, r.OutputChars, r.OutputSHA256 = new(0), 0, ""
}

// FailedWith makes a request end with a status and an error.
func FailedWith(status openai.Status, text string) func(*openai.Record) {
	return func(r *openai.Record) {
		WithoutOutput(r)
		r.Status, r.Error = status, text
	}
}

// ClosedLoop returns n slots that send one request after the other, each of 100 ms and 10 tokens; the last slot gets
// requests for much longer than the others.
func ClosedLoop(slots, each, straggling int) []openai.Record {
	var records []openai.Record
	for slot := range slots {
		n := each
		if slot == slots-1 {
			n += straggling
		}
		for i := range n {
			records = append(records, Answered(len(records), int64(slot*5+i*100), 10, 20, 30, 40, 50, 60, 70, 80, 90, 99))
		}
	}
	return records
}

// LoadingEngine returns the free memory, in GiB, at a second of a run in which an engine loads weights, pauses if asked
// to, and allocates a KV cache of 30 GiB.
func LoadingEngine(pause bool) func(at float64) float64 {
	return func(at float64) float64 {
		weights, kv := min(20, 10*max(0, at-1)), min(30, 15*max(0, at-5))
		if !pause {
			kv = min(30, 15*max(0, at-3))
		}
		return 100 - weights - kv
	}
}

// Cabled returns the series of a ConnectX port and of an office network, in bytes a second.
func Cabled(rdma, office float64, trouble string) func(at float64) string {
	const port = `device="rocep1s0f1",port="1"`
	return func(at float64) string {
		var b strings.Builder
		put := func(family metric.Definer, labels string, v any) {
			fmt.Fprintf(&b, "%s{%s} %v\n", family.Def().Name, labels, v)
		}
		put(metric.InfiniBandPortDataReceivedBytesTotal, port, 1e12+rdma*at)
		put(metric.InfiniBandPortDataTransmittedBytesTotal, port, 5e11+rdma/2*at)
		put(metric.InfiniBandPortUp, port, 1)
		put(metric.InfiniBandPortErrorsTotal, port+`,kind="out_of_sequence"`, strings.ReplaceAll(trouble, "AT", fmt.Sprint(at)))
		put(metric.NetworkReceiveBytesTotal, `device="enP7s7"`, office*at)
		put(metric.NetworkTransmitBytesTotal, `device="enP7s7"`, office*at)
		put(metric.NetworkReceiveDroppedTotal, `device="enP7s7"`, 3*at)
		return b.String()
	}
}

// Linked returns the page of a machine whose ConnectX port is in use.
func Linked() Page { return Page{Per: Cabled(3e9, 1000, "0")} }

// ToolPhases returns the phases of a command that loads an engine and measures.
func ToolPhases() []telemetry.Phase {
	return []telemetry.Phase{{Name: "before"}, {Name: "load", AtNS: 5e9}, {Name: "measure", AtNS: 15e9}}
}

// LongRecord returns a request with that many arrivals.
func LongRecord(i, arrivals int) openai.Record {
	chunks := make([]int64, arrivals)
	for c := range chunks {
		chunks[c] = int64(90 + i%40 + c*(18+i%5))
	}
	r := Answered(i, int64(i)*7, chunks...)
	r.PromptSHA256, r.OutputSHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"
	return r
}
