// Package engine translates what inference engines publish about themselves into one model: vLLM, TensorRT-LLM, SGLang,
// Dynamo, llama.cpp and LMCache, each with its own names and units.
//
// The series names on its page identify an engine, never its address or a name from its operator. A value that a page
// lacks is nil, never zero, and only the engine's own figures are used to derive values. The names themselves are in
// package metric, with origin and version.
package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// Reading is what one engine reports at one moment.
type Reading struct {
	// Engine is one of the values of metric.LabelEngine.
	Engine string
	// Version is the engine's own, "" if it does not report it.
	Version string
	// Families are the names of the engine's own series on its page, and Unread those of which no value is read, among
	// them series of releases newer than this program.
	Families, Unread int
	// Models are the models that it serves, in order of names. An engine that names none has one without a name.
	Models []Model
	// Absent are the reasons why figures are absent that the page seems to have, one sentence each.
	Absent []string
	// UnknownLabels are labels of series that are read, in order, which the engine itself does not write. They are no
	// part of its identity.
	UnknownLabels []string

	// identified reports that the engine has returned its version, or has none.
	identified bool
	// statePools are the pools, by model and kind, that were in use since the engine started.
	statePools [][2]string
	// properties are llama.cpp's answer to /props.
	properties llamaProperties
	// draining is TensorRT-LLM's latest statistics entry, nil if there was none.
	draining *iteration
	// drains reports that the page's own address serves its content to one reader only.
	drains bool
	// pageless reports that there is no page, only the draining statistics.
	pageless bool
}

// Model is one model of an engine. Counts are since the engine started, over all its replicas and ranks.
type Model struct {
	Name string // as the engine writes it, with capitals if one of its series has them
	Pool
	// StatePools are pools of a hybrid model that hold something else than the KV cache of full attention.
	StatePools []StatePool
	// MemoryShare is the share of the memory that the engine was told to take, in its own terms.
	MemoryShare *float64
	// TierBytes are the bytes of KV cache in tiers other than the GPU.
	TierBytes []TierValue
	// TierUsedTokens and TierCapacityTokens are the tokens in such tiers, and their capacity.
	TierUsedTokens, TierCapacityTokens []TierValue
	// Memory are bytes by kind: values of metric.LabelKind.
	Memory map[string]float64
	// PrefixTokens and PrefixBlocks are lookups in the prefix cache, nil if it does not count in them.
	PrefixTokens, PrefixBlocks *Lookups
	// Requested are counts that give lookups only together with earlier counts; nil if there are none.
	Requested *RequestedTokens
	// Preemptions are requests preempted from the batch.
	Preemptions *float64
	Speculation
	// Requests are by state: values of metric.LabelState.
	Requests map[string]float64
	// PromptTokens and GenerationTokens are the tokens of prompts and of answers.
	PromptTokens, GenerationTokens *float64
}

// Lookups are tokens or blocks looked up in the prefix cache: hits by tier, and misses, which had to be computed.
// Engines count hits and total separately: on a page made in between, misses can be a little off, even negative.
type Lookups struct {
	Total, Missed float64
	Hits          []TierValue
}

// RequestedTokens are the tokens of prompts, counted when a request begins, and the cached ones among them, counted
// when it ends: Dynamo's frontend. The difference of the two is no count of misses while a request is in flight,
// nor of requests that ended without a count of cached tokens.
type RequestedTokens struct {
	Begun, Reported float64 // requests
	Prompt, Cached  float64 // tokens of these
	Idle            bool    // no request is in flight
}

// TierValue is a value of a tier, one of the values of metric.LabelTier.
type TierValue struct {
	Tier  string
	Value float64
}

// maxModels is the maximum number of models of one source.
const maxModels = 64

// ErrUnknown is wrapped when a page does not belong to a supported engine.
var ErrUnknown = errors.New("not the page of a known engine")

// dialect is the form of one engine's page.
type dialect struct {
	engine string
	owns   func(name string) bool // whether a series is the engine's own
	// mark is a label that a series must have where names alone could be those of any program, else "".
	mark   string
	labels labelRoles
	read   func(view) []Model
}

// dialects lists the engines in the order in which they are looked for. A worker of Dynamo passes the series of its
// engine through, and LMCache may share the page of the engine that it serves: in both cases the reading is that of the
// engine.
func dialects() []dialect {
	return []dialect{
		{metric.EngineVLLM, prefixed(metric.ForeignVLLMPrefix), "", vllmLabels(), readVLLM},
		{metric.EngineSGLang, prefixed(metric.ForeignSGLangPrefix), "", sglangLabels(), readSGLang},
		{metric.EngineTensorRTLLM, prefixed(metric.ForeignTensorRTLLMPrefix), "", tensorRTLLMLabels(), readTensorRTLLM},
		{metric.EngineLlamaCPP, prefixed(metric.ForeignLlamaCPPPrefix), "", llamaLabels(), readLlamaCPP},
		{metric.EngineDynamo, prefixed(metric.ForeignDynamoFrontendPrefix), "", dynamoLabels(), readDynamoFrontend},
		{metric.EngineDynamo, prefixed(metric.ForeignDynamoWorkerPrefix), "", dynamoLabels(), readDynamoWorker},
		{metric.EngineLMCache, prefixed(metric.ForeignLMCachePrefix), "", lmcacheLabels(), readLMCache},
		{metric.EngineTensorRTLLM, metric.ForeignTensorRTLLMUnprefixed, metric.ForeignLabelEngineType, tensorRTLLMLabels(), readTensorRTLLMUnprefixed},
	}
}

func prefixed(prefix string) func(string) bool {
	return func(name string) bool { return strings.HasPrefix(name, prefix) }
}

// on reports whether a page is the engine's.
func (d dialect) on(page Page) bool {
	for _, family := range page.Families(d.owns) {
		series := slices.Concat(page.Series(family), page.Series(family+"_sum"))
		if d.mark == "" || slices.ContainsFunc(series, func(one Series) bool { return one.Labels[d.mark] != "" }) {
			return true
		}
	}
	return false
}

// Translate reads the page of an engine.
func Translate(page Page) (Reading, error) {
	for _, d := range dialects() {
		if !d.on(page) {
			continue
		}
		all := whole(page, d.labels)
		models := d.read(all)
		completeFromWorker(all, models)
		if len(models) > maxModels {
			return Reading{}, fmt.Errorf("%d models, of which at most %d are read", len(models), maxModels)
		}
		families := page.Families(d.owns)
		read := slices.DeleteFunc(slices.Clone(families), func(family string) bool { return !all.log.asked[family] })
		return Reading{
			Engine: d.engine, Families: len(families), Unread: len(families) - len(read), Models: models,
			Absent: all.log.absent, UnknownLabels: d.labels.unknown(page, read),
		}, nil
	}
	return Reading{}, ErrUnknown
}

// perModel reads each model of a view: the values of the label on any of these names. A page without the label has one
// model without a name.
func perModel(all view, label string, names []string, read func(view) Model) []Model {
	var found []string
	for _, name := range names {
		for _, series := range all.series(name) {
			if model := series.Labels[label]; !slices.Contains(found, model) && len(found) <= maxModels {
				found = append(found, model)
			}
		}
	}
	if len(found) == 0 {
		return []Model{read(all)}
	}
	slices.Sort(found)
	models := make([]Model, len(found))
	for i, model := range found {
		models[i] = read(all.with(label, model))
		models[i].Name = shortText(model)
	}
	return models
}

// whole is the view of a whole page.
func whole(page Page, labels labelRoles) view {
	return view{page: page, labels: labels, log: &readLog{asked: map[string]bool{}}}
}

// view is the part of a page with these labels.
type view struct {
	page   Page
	match  []Label
	labels labelRoles
	log    *readLog
}

// readLog records which families are read, and why figures are absent.
type readLog struct {
	asked  map[string]bool
	absent []string
}

// maxReasons is the maximum number of reasons that a reading gives.
const maxReasons = 20

// leaveOut records why a figure is absent, once.
func (l *readLog) leaveOut(format string, values ...any) {
	if reason := fmt.Sprintf(format, values...); len(l.absent) < maxReasons && !slices.Contains(l.absent, reason) {
		l.absent = append(l.absent, reason)
	}
}

// with narrows the view.
func (v view) with(name, value string) view {
	v.match = append(slices.Clone(v.match), Label{Name: name, Value: value})
	return v
}

// whole is the view without its labels.
func (v view) whole() view {
	v.match = nil
	return v
}

func (v view) series(name string) []Series {
	v.log.asked[v.page.Family(name)] = true
	return v.page.Series(name, v.match...)
}

// first returns the first of the names that there is, and its series.
func (v view) first(names ...string) (string, []Series) {
	for _, name := range names {
		if found := v.series(name); len(found) > 0 {
			return name, found
		}
	}
	return "", nil
}

// counter adds up all series of the first of the names that there is, nil if there is none.
func (v view) counter(names ...string) *float64 {
	name, found := v.first(names...)
	if len(found) == 0 || v.belowZero(name, found) {
		return nil
	}
	sum := 0.0
	for _, one := range found {
		sum += one.Value
	}
	return &sum
}

// gauge adds up the replicas of the first of the names that there is, nil if there is none. Series that differ only in
// labels that are no part of a replica's identity repeat one figure: if they are not equal, it is unknown which of them
// is right, and the figure is absent.
func (v view) gauge(names ...string) *float64 {
	name, found := v.first(names...)
	if len(found) == 0 || v.belowZero(name, found) {
		return nil
	}
	sum, seen := 0.0, map[string]float64{}
	for _, one := range found {
		replica := v.labels.replicaOf(one)
		before, repeated := seen[replica]
		switch {
		case !repeated:
			seen[replica] = one.Value
			sum += one.Value
		case before != one.Value:
			v.log.leaveOut("%s is not used: it has different values for one engine, in series that only %s separates", name, v.labels.separating(found))
			return nil
		}
	}
	return &sum
}

// belowZero reports whether a series is below zero, which no count, size or share that is read here can be. Engines
// write -1 for a value that they do not have.
func (v view) belowZero(name string, found []Series) bool {
	below := slices.ContainsFunc(found, func(one Series) bool { return one.Value < 0 })
	if below {
		v.log.leaveOut("%s is not used: it is below zero", name)
	}
	return below
}

// maxReplicas is the maximum number of replicas, far above any engine's: each is looked up in all series of a name.
const maxReplicas = 256

// replicas returns a view of each replica in the series of the first of the names that there is, none if there are
// more than maxReplicas.
func (v view) replicas(names ...string) []view {
	name, found := v.first(names...)
	var views []view
	seen := map[string]bool{}
	for _, one := range found {
		if key := v.labels.replicaOf(one); !seen[key] {
			seen[key] = true
			views = append(views, v.replica(one))
		}
		if len(views) > maxReplicas {
			v.log.leaveOut("%s is not used: more than %d replicas", name, maxReplicas)
			return nil
		}
	}
	return views
}

// replica is the view of the replica that a series belongs to.
func (v view) replica(one Series) view {
	for _, label := range v.labels.replica {
		v = v.with(label, one.Labels[label])
	}
	return v
}

// requests are the counts of the reported states.
func requests(byState map[string]*float64) map[string]float64 {
	counts := map[string]float64{}
	for state, count := range byState {
		if count != nil {
			counts[state] = *count
		}
	}
	return counts
}

// memory are the bytes of the reported kinds. Engines report zero for a kind that they do not count.
func memory(byKind map[string]*float64) map[string]float64 {
	counts := requests(byKind)
	maps.DeleteFunc(counts, func(_ string, bytes float64) bool { return bytes == 0 })
	return counts
}

// lookups is nil unless the total and all hits are reported. Misses are the remainder.
func lookups(total *float64, hits map[string]*float64) *Lookups {
	if total == nil {
		return nil
	}
	found := &Lookups{Total: *total, Missed: *total}
	for tier, count := range hits {
		if count == nil {
			return nil
		}
		found.Hits = append(found.Hits, TierValue{tier, *count})
		found.Missed -= *count
	}
	slices.SortFunc(found.Hits, func(a, b TierValue) int { return cmp.Compare(a.Tier, b.Tier) })
	return found
}

// hitsByTier adds up a counter of hits by the tier in one of its labels.
func hitsByTier(v view, name, label string, tierOf func(string) string) map[string]*float64 {
	hits := map[string]*float64{}
	found := v.series(name)
	if v.belowZero(name, found) {
		return hits
	}
	for _, one := range found {
		tier, sum := tierOf(one.Labels[label]), one.Value
		if before := hits[tier]; before != nil {
			sum += *before
		}
		hits[tier] = &sum
	}
	return hits
}
