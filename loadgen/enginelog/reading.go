package enginelog

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// Reading is what has been read from the lines of one run of a tool so far. It is used from one goroutine.
type Reading struct {
	tool  Tool
	phase string

	// Version is the engine's or the tool's own; empty if no line contains it.
	Version string
	// values are in the order in which they were first read.
	values []spec.Reported
	ranks  int
	// context counts the parts with their own buffers, and parts are the figures by context and device.
	context int
	parts   []part
	// reduced is the ratio that the tool's reduction leaves, with its text; an empty text means no reduction.
	reduced      float64
	reducedWords string
	tiers        spec.Tiers
}

// part is a device's share of a figure in a context.
type part struct {
	of      spec.Quantity
	context int
	device  string
	value   float64
}

// Read returns an empty Reading of the tool's log.
func (t Tool) Read() *Reading { return &Reading{tool: t, phase: t.First} }

// Line reads one line of a stream. It returns the phase that begins with it, and the text that marks it; or "". It
// keeps only the figures of a line, since engines print their settings, which may include keys.
func (r *Reading) Line(stream string, l Line) (phase, words string) {
	text := l.Text
	if slices.ContainsFunc(r.tool.Restarts, func(restart string) bool { return strings.Contains(text, restart) }) {
		r.values, r.reducedWords, r.parts = nil, "", nil
	}
	if r.tool.Contexts != "" && strings.Contains(text, r.tool.Contexts) {
		r.context++
	}
	r.reduce(text)
	for _, read := range r.tool.tiers {
		read(&r.tiers, text)
	}
	rank, several := rankIn(text)
	if several {
		r.ranks = max(r.ranks, rank+1)
	}
	for _, f := range r.tool.Figures {
		// Figures of other ranks would be added to the first rank's, or replace it.
		if value, words, found := figureIn(f, text); found && rank == 0 {
			if f.Each {
				value = r.addPart(part{f.Of, r.context, deviceIn(text, f.After[0]), value})
			}
			r.keep(f, value, l.From(stream), shortened(words))
		}
	}
	for _, label := range r.tool.Versions {
		if version := versionIn(text, label); version != "" {
			r.Version = version
		}
	}
	return r.enter(text)
}

func (r *Reading) enter(text string) (phase, words string) {
	for _, m := range r.tool.Marks {
		if begins(m, text, r.phase) {
			r.phase = m.To
			return m.To, strings.TrimSpace(m.Text)
		}
	}
	return "", ""
}

// mostParts bounds the memory for a log that has a new device in every line.
const mostParts = 1000

// addPart sets a device's share in a context, and returns the sum over all of them.
func (r *Reading) addPart(new part) float64 {
	same := func(p part) bool { return p.of == new.of && p.context == new.context && p.device == new.device }
	if i := slices.IndexFunc(r.parts, same); i >= 0 {
		r.parts[i] = new
	} else if len(r.parts) < mostParts {
		r.parts = append(r.parts, new)
	}
	sum := 0.0
	for _, p := range r.parts {
		if p.of == new.of {
			sum += p.value
		}
	}
	return sum
}

// keep stores a figure: added to the earlier value, or replacing it.
func (r *Reading) keep(f spec.Figure, value float64, from, text string) {
	i := slices.IndexFunc(r.values, func(v spec.Reported) bool { return v.Name == f.Of && v.Statistic == f.Statistic })
	if i < 0 {
		i = len(r.values)
		r.values = append(r.values, NewValue(f.Of, f.Statistic, 0))
	}
	v := &r.values[i]
	if f.Sum {
		value += v.Value
	}
	v.Value, v.From, v.Text = value, from, text
}

// reduce reads the line of a reduction. It may occur once for every rank, and counts once.
func (r *Reading) reduce(line string) {
	if r.tool.Reduced == nil {
		return
	}
	to, words, found := figureIn(r.tool.Reduced.To, line)
	from, _, _ := figureIn(r.tool.Reduced.From, line)
	if found && from > 0 {
		r.reduced, r.reducedWords = to/from, words
	}
}

// Values returns the figures, each once.
func (r *Reading) Values() []spec.Reported {
	values := slices.Clone(r.values)
	if r.reducedWords == "" {
		return values
	}
	for i, v := range values {
		if v.Name == r.tool.Reduced.Of {
			values[i].Value, values[i].Text = v.Value*r.reduced, shortened(v.Text+" … "+r.reducedWords)
		}
	}
	return values
}

// Value returns a figure that has no statistic.
func (r *Reading) Value(name spec.Quantity) *float64 {
	for _, v := range r.Values() {
		if v.Name == name && v.Statistic == "" {
			return &v.Value
		}
	}
	return nil
}

// spec.Tiers returns what the log has of the tiers of the KV cache below the device.
func (r *Reading) Tiers() spec.Tiers { return r.tiers }

// Ranks returns how many ranks the engine has, as far as its lines show, at least 1. With several ranks, the memory of
// one is not all of it.
func (r *Reading) Ranks() int {
	ranks := max(r.ranks, 1)
	if tensor, pipeline := r.Value(spec.TensorRanks), r.Value(spec.PipelineRanks); tensor != nil {
		stages := 1
		if pipeline != nil {
			stages = int(*pipeline)
		}
		ranks = max(ranks, int(*tensor)*stages)
	}
	return ranks
}

// longestText bounds the text that is kept with a value.
const longestText = 240

func shortened(text string) string {
	if len(text) <= longestText {
		return text
	}
	end := longestText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
