package main

import (
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Results of a row.
const (
	proven   = "proven"
	failed   = "FAILED"
	notTried = "not tried"
)

// row is a figure of umascope and the same figure of another program.
type row struct {
	what, ours, theirs, off, bound, result string
}

// Limits of the differences.
const (
	heldBound         = 0.01
	anonBound         = 0.03 // the heap of the engine grows with what it is asked
	energyBound       = 0.03
	unattributedBound = 0.02
	leastSteady       = 60 * time.Second
)

// judge compares the results of measure with llama.cpp's log and counters, nvidia-smi and /proc/meminfo.
func judge(results fs.FS) ([]row, error) {
	host, err := readText(results, "host")
	if err != nil {
		return nil, err
	}
	host = strings.TrimSpace(host)
	gpus, err := readText(results, "gpus.csv")
	if err != nil {
		return nil, err
	}
	gpu := strings.TrimSpace(gpus) != ""
	var all []row
	for _, part := range []func(fs.FS, string, bool) ([]row, error){judgeMemory, judgeEnergy, judgeLedger, judgeReuse, judgeComparison} {
		rows, err := part(results, host, gpu)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// within is a row of two figures that may differ by a share.
func within(what string, ours, theirs, bound float64, format func(float64) string) row {
	off := ours/theirs - 1
	r := row{what, format(ours), format(theirs), fmt.Sprintf("%+.2f %%", 100*off), fmt.Sprintf("%g %%", 100*bound), proven}
	if !(math.Abs(off) <= bound) { // of NaN too
		r.result = failed
	}
	return r
}

func untried(what, why string) row { return row{what: what, ours: why, result: notTried} }

func inMebibytes(bytes float64) string { return fmt.Sprintf("%.2f MiB", bytes/mebibyte) }
func inJoules(j float64) string        { return fmt.Sprintf("%.0f J", j) }
func plain(n float64) string           { return fmt.Sprintf("%.0f", n) }

// judgeMemory compares the difference of the arms with KV plus compute buffers of llama.cpp's log. Without a GPU the KV
// buffer is in the process's anonymous memory.
func judgeMemory(results fs.FS, host string, gpu bool) ([]row, error) {
	runs, err := campaignRuns(results)
	if err != nil {
		return nil, err
	}
	held, logged := map[string][]float64{}, map[string]float64{}
	var arms []string
	for _, run := range runs {
		page, err := snapshot(results, run.folder, "ready", host)
		if err != nil {
			return nil, err
		}
		bytes, known := series(page, "uma_process_resident_bytes", `comm="llama-server"`, `kind="anon"`)
		device := onCPU
		if gpu {
			device, known = onGPU, run.held != nil
			if known {
				bytes = *run.held
			}
		}
		if !known {
			return nil, fmt.Errorf("%s has no memory of the engine", run.folder)
		}
		log, err := readText(results, "runs/kv-size/arms/random-llama/"+run.arm+"/logs/engine.log")
		if err != nil {
			return nil, err
		}
		b, err := readBuffers(log)
		if err != nil {
			return nil, fmt.Errorf("log of %s: %w", run.arm, err)
		}
		if !slices.Contains(arms, run.arm) {
			arms = append(arms, run.arm)
		}
		held[run.arm] = append(held[run.arm], bytes)
		logged[run.arm] = b.of("KV", device)
		if gpu { // memory of the CPU is not there before it is touched, as the compute buffers are in part only
			logged[run.arm] += b.of("compute", device)
		}
	}
	if len(arms) != 2 {
		return nil, fmt.Errorf("%d arms", len(arms))
	}
	bound := heldBound
	what, each := "difference of GPU-held memory, by KV and compute buffers of the log", "all that is held, KV and compute buffers"
	if !gpu {
		bound = anonBound
		what, each = "difference of the process's anonymous memory, by KV buffers of the log", "all anonymous memory, KV buffers"
	}
	steady, err := readRun(results, "runs/steady")
	if err != nil {
		return nil, err
	}
	rows := []row{{what: "validity of the steady run", ours: strings.Join(steady.problems, ", "), result: failed}}
	if steady.valid {
		rows[0] = row{what: rows[0].what, ours: "valid", result: proven}
	} else if !gpu {
		rows[0].result = notTried // the engine takes the CPU that the client needs
	}
	rows = append(rows, within(what, mean(held[arms[1]])-mean(held[arms[0]]), logged[arms[1]]-logged[arms[0]], bound, inMebibytes))
	for _, arm := range arms {
		rows = append(rows, row{what: "  " + arm + ": " + each, ours: inMebibytes(mean(held[arm])), theirs: inMebibytes(logged[arm]),
			off: "± " + inMebibytes((slices.Max(held[arm])-slices.Min(held[arm]))/2), result: fmt.Sprintf("%d runs", len(held[arm]))})
	}
	if !gpu {
		return append(rows, untried("GPU-held memory, by nvidia-smi", "no GPU")), nil
	}
	page, err := readText(results, "ready.prom")
	if err != nil {
		return nil, err
	}
	smi, err := readText(results, "ready-processes.csv")
	if err != nil {
		return nil, err
	}
	ours, _ := series(page, "uma_gpu_memory_held_bytes")
	return append(rows, within("GPU-held memory, by nvidia-smi", ours, processBytes(smi), 0.001, inMebibytes)), nil
}

// processBytes adds up nvidia-smi's used_memory, a figure in MiB without units in each line.
func processBytes(csv string) float64 {
	sum := 0.0
	for line := range strings.Lines(csv) {
		var mib float64
		if _, err := fmt.Sscan(line, &mib); err == nil {
			sum += mib * mebibyte
		}
	}
	return sum
}

func mean(all []float64) float64 {
	sum := 0.0
	for _, v := range all {
		sum += v
	}
	return sum / float64(len(all))
}

func judgeEnergy(results fs.FS, _ string, gpu bool) ([]row, error) {
	what := "energy of the steady load, by integrated power.draw.instant"
	if !gpu {
		return []row{untried(what, "no GPU")}, nil
	}
	run, err := readRun(results, "runs/steady")
	if err != nil {
		return nil, err
	}
	if run.energy == nil || run.to.Sub(run.from) < leastSteady {
		return nil, fmt.Errorf("the steady run has no energy, or is shorter than %v", leastSteady)
	}
	csv, err := readText(results, "power.csv")
	if err != nil {
		return nil, err
	}
	samples, err := readPower(csv)
	if err != nil {
		return nil, err
	}
	instant, err := joules(samples, run.from, run.to, func(s sample) float64 { return s.instant })
	if err != nil {
		return nil, err
	}
	means, err := joules(samples, run.from, run.to, func(s sample) float64 { return s.means })
	if err != nil {
		return nil, err
	}
	return []row{
		within(what, *run.energy, instant, energyBound, inJoules),
		within("the same, by integrated power.draw.average", *run.energy, means, energyBound, inJoules),
	}, nil
}

// judgeLedger adds up the ledger under load and compares the sum with MemTotal. The sum is exact if no line is lost,
// since the remainder is a line; the second row limits the size of the remainder.
func judgeLedger(results fs.FS, _ string, _ bool) ([]row, error) {
	page, err := readText(results, "load.prom")
	if err != nil {
		return nil, err
	}
	meminfo, err := readText(results, "load.meminfo")
	if err != nil {
		return nil, err
	}
	var total float64
	for line := range strings.Lines(meminfo) {
		if _, err := fmt.Sscanf(line, "MemTotal: %f kB", &total); err == nil {
			total *= 1024
		}
	}
	sum, _ := series(page, "uma_memory_ledger_bytes")
	rest, known := series(page, "uma_memory_ledger_bytes", `line="unattributed"`)
	unattributed := row{"unattributed share of the pool", fmt.Sprintf("%+.2f %%", 100*rest/total), "", "", fmt.Sprintf("%g %%", 100*unattributedBound), proven}
	if !known || !(math.Abs(rest) <= unattributedBound*total) {
		unattributed.result = failed
	}
	return []row{within("sum of the ledger, by MemTotal", sum, total, 0, inMebibytes), unattributed}, nil
}

// judgeReuse compares cached tokens of the answers with llama.cpp's counter, which has six digits.
func judgeReuse(results fs.FS, _ string, _ bool) ([]row, error) {
	const folder = "runs/reuse"
	run, err := readRun(results, folder)
	if err != nil {
		return nil, err
	}
	var counted [2]float64
	for i, phase := range []string{"reuse_2", "stop"} { // pages are kept when a phase begins
		page, err := snapshot(results, folder, phase, "llamacpp")
		if err != nil {
			return nil, err
		}
		counted[i], _ = series(page, "llamacpp:prompt_tokens_cached_total")
	}
	cached, err := cachedTokens(results, folder, "reuse_2", "reuse_3")
	if err != nil {
		return nil, err
	}
	grade := row{what: "evidence of prefix reuse", ours: run.reuse, result: proven}
	if run.reuse != "proven" {
		grade.result = failed
	}
	return []row{grade, within("cached tokens of repeated prompts, by llama.cpp's counter", cached, counted[1]-counted[0], 0, plain)}, nil
}

// judgeComparison checks the verdict on the memory that differs by construction, and lists the others.
func judgeComparison(results fs.FS, _ string, gpu bool) ([]row, error) {
	var comparison struct {
		Strata []struct {
			Pairs []struct {
				Metrics []struct {
					Name       string   `json:"name"`
					Difference *float64 `json:"difference"`
					Ratio      *float64 `json:"ratio"`
					Verdict    string   `json:"verdict"`
				} `json:"metrics"`
			} `json:"pairs"`
		} `json:"strata"`
	}
	if err := readJSON(results, "comparison.json", &comparison); err != nil {
		return nil, err
	}
	decided := untried("verdict on GPU-held memory", "no GPU")
	var rows []row
	for _, stratum := range comparison.Strata {
		for _, pair := range stratum.Pairs {
			for _, m := range pair.Metrics {
				off := ""
				if m.Ratio != nil {
					off = fmt.Sprintf("%+.2f %%", 100*(*m.Ratio-1))
				}
				if m.Name == "gpu_held_peak_bytes" && gpu {
					decided = row{"verdict on GPU-held memory", m.Verdict, "", off, "", proven}
					if m.Verdict != "different" {
						decided.result = failed
					}
					continue
				}
				rows = append(rows, row{what: "  verdict on " + m.Name, ours: m.Verdict, off: off})
			}
		}
	}
	return append([]row{decided}, rows...), nil
}

func table(rows []row) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tours\ttheirs\toff\tbound\tresult")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.what, r.ours, r.theirs, r.off, r.bound, r.result)
	}
	w.Flush()
	return text.String()
}

// exitCode is 1 if a row failed, and 77 if none did but one was not tried.
func exitCode(rows []row) int {
	code := 0
	for _, r := range rows {
		switch r.result {
		case failed:
			return 1
		case notTried:
			code = 77
		}
	}
	return code
}
