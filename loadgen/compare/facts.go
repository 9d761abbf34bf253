package compare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// Differences that count as none.
const (
	celsiusTolerance = 2
	memoryTolerance  = 1 << 30
	swapTolerance    = 1 << 20
	secondsTolerance = 1

	draftTolerance = 5 // percentage points

	ownCPUTolerance    = 5 // % of a core
	ownMemoryTolerance = 256 << 20
)

// factList has the conditions that can differ between arms, in the order of display. An unknown fact of a run is absent.
type factList struct{ all []Fact }

func (f *factList) add(item, value string) {
	if value != "" {
		f.all = append(f.all, Fact{Item: item, Value: value})
	}
}

// ran adds a fact of what the run was made with.
func (f *factList) ran(item, value string) {
	if value != "" {
		f.all = append(f.all, Fact{Item: item, Value: value, Ran: true})
	}
}

// number adds a quantity.
func (f *factList) number(item string, value *float64, tolerance float64, unit string) {
	if value != nil {
		f.all = append(f.all, Fact{Item: item, Value: fmt.Sprintf("%g %s", *value, unit), Number: value, Tolerance: tolerance, Unit: unit})
	}
}

// of adds the entries of a map, with a word before each name.
func (f *factList) of(word string, values map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		f.add(word+name, values[name])
	}
}

// growthFacts adds whether memory grows at equal load, where that could be observed: a run with a leak is not equal to
// one without.
func (r observed) growthFacts(f *factList) {
	for _, g := range r.Summary.Growth {
		if g.Verdict != summary.GrowthNotObservable {
			f.add("growth of "+g.Name()+" memory at equal load", strings.ReplaceAll(string(g.Verdict), "_", " "))
		}
	}
}

// driverFacts adds errors of the GPU driver during the run, for the measured host.
func (r observed) driverFacts(f *factList) {
	for _, m := range r.Summary.Machines {
		if r.Summary.Memory == nil || m.Source != r.Summary.Memory.Source {
			continue
		}
		for _, kind := range slices.Sorted(maps.Keys(m.DriverLog)) {
			f.number("lines of the driver in the kernel log, "+strings.ReplaceAll(kind, "_", " "), new(m.DriverLog[kind]), 0, "lines")
		}
	}
}

func (r observed) facts() []Fact {
	f := &factList{}
	r.engineFacts(f)
	r.provenanceFacts(f)
	r.containerFacts(f)
	r.softwareFacts(f)
	r.machineFacts(f)
	r.conditionFacts(f)
	r.growthFacts(f)
	r.driverFacts(f)
	r.furtherFacts(f)
	r.storageFacts(f)
	r.promptFacts(f)
	r.campaignFacts(f)
	if r.Manifest.Imported == nil { // another program wrote it than made the measurement
		f.add(FactProgram, r.Manifest.Program.Version)
	}
	f.of("flag --", r.flags())
	return f.all
}

// engineFacts adds the engine that answered, and its settings.
func (r observed) engineFacts(f *factList) {
	server, command := r.Manifest.Server, r.Manifest.Command
	switch {
	case command != nil:
		f.add("command", command.Program)
		if !r.recorded() { // the facts of what ran have the options, with their values
			f.add("options of the command", strings.Join(command.Options, " "))
		}
		f.ran(FactEngine, strings.TrimSpace(r.engine()+" "+command.Version))
	default:
		f.ran(FactEngine, strings.TrimSpace(server.Engine+" "+r.Manifest.EngineVersion()))
		f.add("request fields left out", leftOut(server.Fields))
	}
	if tool := r.Summary.Tool; tool != nil && r.Manifest.Imported != nil {
		f.add("tool", strings.TrimSpace(tool.Program+" "+tool.Version))
	}
	f.add("model", r.model())
	f.add(FactFingerprint, r.Summary.Model.Fingerprint)
	if print := server.FingerprintStart; print != nil && print.Weights != nil {
		f.add("model weights", fmt.Sprintf("%d bytes in %d files, configuration %.12s", print.Weights.Bytes, print.Weights.Files, print.Weights.ConfigSHA256))
	}
	if server.MaxTokens > 0 {
		f.add("most tokens of a request", strconv.Itoa(server.MaxTokens))
	}
	f.of("engine setting ", server.Settings)
}

// containerFacts adds the container of the engine.
func (r observed) containerFacts(f *factList) {
	c := r.Manifest.Container
	if c == nil {
		return
	}
	f.ran("container image", c.Image)
	if digests := slices.Sorted(slices.Values(c.Digests)); len(digests) > 0 {
		f.ran("container image digest", strings.Join(digests, ", "))
	} else {
		f.ran("container image digest", c.ImageID)
	}
	if c.ImageLayers > 0 {
		f.ran("container image layers", strconv.Itoa(c.ImageLayers))
	}
	for _, name := range slices.Sorted(maps.Keys(c.HostConfig)) {
		f.ran("container "+name, compact(c.HostConfig[name]))
	}
}

// compact writes JSON in one line.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// machineFacts adds the measured machine: by the exporter, or by the client where it ran on the same machine.
func (r observed) machineFacts(f *factList) {
	client := r.Manifest.Client
	local := client.Hostname != "" && r.Summary.Labels[labelHost] == client.Hostname
	m := r.machine()
	switch {
	case m != nil:
		f.add("telemetry", m.Mode)
		f.machine("", m)
	case local:
		f.add(FactKernel, client.Kernel)
		f.add("architecture", client.Arch)
	}
	f.add(FactBoot, r.Summary.BootID)
	if local {
		f.add("CPU governor", client.Governor)
		f.add("power profile", client.PowerProfile)
		for _, p := range client.Programs {
			f.number("CPU of "+p.Program+", of one core", new(100*p.CPURatio), ownCPUTolerance, "%")
			f.number("memory of "+p.Program, new(float64(p.ResidentBytes)), ownMemoryTolerance, "bytes")
		}
	}
}

// distinctValues lists the values of a label, each once.
func distinctValues(all []map[string]string, label string) string {
	var values []string
	for _, labels := range all {
		if value := labels[label]; value != "" && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return strings.Join(values, ", ")
}

// conditionFacts adds the state of the machine when the run began, and its events during the run.
func (r observed) conditionFacts(f *factList) {
	f.conditions("", r.Summary.Memory, r.Summary.Thermal)
	f.number(FactSwap, r.swappedIn(), swapTolerance, "bytes")
}

// swappedIn covers the measured phases; nil where a phase has no figure.
func (r observed) swappedIn() *float64 {
	var total *float64
	for _, phase := range r.Summary.Phases {
		if !phase.Measured {
			continue
		}
		delta, known := phase.Deltas[metric.VmstatSwappedInBytesTotal.Def().Name]
		if !known || delta.Reset {
			return nil
		}
		if total == nil {
			total = new(float64)
		}
		*total += delta.Delta
	}
	return total
}

// storageFacts adds the storage of the disk tier of the KV cache.
func (r observed) storageFacts(f *factList) {
	for _, s := range r.Manifest.Storage {
		if s.Of != rundir.StorageOfKV || s.Missing != "" {
			continue
		}
		f.add("file system below the KV cache", strings.TrimSpace(s.FileSystem+" "+strings.Join(s.Options, ",")))
		var drives []string
		for _, d := range s.Drives {
			drives = append(drives, strings.Join(strings.Fields(strings.Join([]string{d.Model, d.Firmware, d.LinkSpeed, d.LinkWidth}, " ")), " "))
		}
		f.add("drive below the KV cache", strings.Join(drives, ", "))
		if s.TotalBytes > 0 {
			free := float64(s.FreeBytes)
			f.number("free below the KV cache", &free, memoryTolerance, "bytes")
		}
	}
}

// promptFacts adds whether a server may have seen the prompts before, and whether it had.
func (r observed) promptFacts(f *factList) {
	if judging := r.Manifest.Judging; judging != nil && judging.PrefixReuse != nil {
		f.add("prompts", cmp.Or(judging.PrefixReuse.Repeats, "new in each run"))
	}
	if ratio := r.Summary.PrefixCache.UnplannedRatio(); ratio != nil {
		percent := 100 * *ratio
		f.number(FactPrefixReuse, &percent, PrefixReuseTolerance, "%")
	}
	if ratio := r.Summary.Speculation.AcceptanceRatio(); ratio != nil {
		percent := 100 * *ratio
		f.number("drafted tokens accepted", &percent, draftTolerance, "%")
	}
}

// flags returns the flags that can change what a run measures, with their values. It leaves out those of the
// destination, the name and the output of the run, and the start that ranks agree on.
func (r observed) flags() map[string]string {
	flags := maps.Clone(r.Manifest.Flags)
	for _, name := range []string{
		"out", "run-id", "label", "log.level", "log.format", "engine-log", "verbose", "print-content", "progress", "web.listen-address", "web.allow-host", "web.config.file", "web.linger", "telemetry-config",
		"xlsx", "csv", "conversations", "benchstat", "start-at", "help", "version", "notify-url",
	} {
		delete(flags, name)
	}
	return flags
}

// leftOut names the request fields that the server refused, so that one arm may have run without a temperature and the
// other with it; empty if they could not be probed, or for a run whose load was not ours.
func leftOut(fields rundir.Acceptance) string {
	if fields.Accepted == nil || fields.Unknown != "" {
		return ""
	}
	var names []string
	for _, refused := range fields.Refused {
		names = append(names, refused.Field)
	}
	slices.Sort(names)
	return cmp.Or(strings.Join(names, ", "), "none")
}
