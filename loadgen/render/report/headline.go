package report

import (
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
)

// headline is a figure above the latencies: a text for pages, a number for workbooks.
type headline struct {
	render.Fact
	// Number is in Unit, which does not depend on its size; nil for a text, or where it is absent.
	Number *float64
	Unit   string
	// Note is what limits the number: its machine, its source, that it is simulated.
	Note string
}

// unit describes how a quantity is written: in the unit that fits on pages, in one unit in workbooks.
type unit struct {
	name   string
	size   float64 // of the unit, in the base unit of the value
	format func(float64) string
}

func perSecond() unit { return unit{"1/s", 1, format.Digits} }
func percent() unit   { return unit{"%", 0.01, format.Ratio} }
func inSeconds() unit { return unit{"s", 1, format.Seconds} }
func gibibytes() unit { return unit{"GiB", 1 << 30, format.Bytes} }
func celsius() unit   { return unit{"°C", 1, format.Celsius} }
func inJoules() unit  { return unit{"J", 1, format.Joules} }
func inTokens() unit  { return unit{"tokens", 1, format.Digits} }
func noUnit() unit    { return unit{"", 1, format.Digits} }

// number returns a headline whose value may be absent.
func number(name string, value *float64, in unit) headline {
	h := headline{Fact: fact(name, format.Optional(value, in.format))}
	if value != nil {
		h.Number, h.Unit = new(*value/in.size), in.name
	}
	return h
}

// words returns a headline without a number.
func words(name, text string) headline { return headline{Fact: fact(name, text)} }

// pageFacts returns headlines as facts of a page.
func pageFacts(headlines []headline) []render.Fact {
	var facts []render.Fact
	for _, h := range headlines {
		facts = append(facts, h.Fact)
	}
	return facts
}

// cells returns a headline's row in a workbook: name, number or text, unit, note.
func (h headline) cells() []any {
	if h.Number == nil {
		return []any{h.Name, h.Value}
	}
	return []any{h.Name, *h.Number, h.Unit, h.Note}
}
