package comparison

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render"
)

// Named is a chart with a name for its file.
type Named struct {
	Name string
	render.Figure
}

// Figures returns all charts of a comparison's page.
func Figures(c compare.Comparison) []Named {
	var all []Named
	add := func(where string, figures ...render.Figure) {
		for _, f := range figures {
			if !f.Drawn() {
				continue
			}
			all = append(all, Named{fmt.Sprintf("%02d-%s", len(all)+1, slug(strings.TrimSpace(where+" "+f.Title))), f})
		}
	}
	kv := func(where string, model *kvModel) {
		if model != nil {
			add(where, model.Figure)
		}
	}
	add("", frontFigures(c)...)
	add("", loadFigures(c)...)
	kv("", overallKV(c))
	for _, s := range c.Strata[:min(len(c.Strata), mostStrata)] {
		name := stratumName(c, s)
		add(name, metricFigures(c, s)...)
		kv(name, ownKV(c, s))
		for _, pair := range s.Pairs[:min(len(s.Pairs), mostPairs)] {
			add(name+" "+pairName(pair), pairFigures(c, s, pair)...)
		}
	}
	return all
}

// slug converts a text to a file name.
func slug(text string) string {
	name := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(text), "-"), "-")
	return strings.Trim(name[:min(len(name), 80)], "-")
}
