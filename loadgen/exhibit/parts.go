package exhibit

import (
	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/compare"
)

// Part is some figures with their heading, for a page of somebody else.
type Part struct {
	Title   string
	Says    string
	Figures []chart.Figure
}

// mostParts is how many strata are drawn beside each other on such a page.
const mostParts = 8

// ByArm are the figures of a comparison without its verdicts: the strata side by side, then the runs of
// each by arm.
func ByArm(c compare.Comparison) []Part {
	const says = "A mark is a run; beside the runs of an arm stands their mean with its 95 % interval. A box is the middle half of the runs. How sure a difference is, and what could explain it beside the arm, is a comparison’s to say."
	var parts []Part
	if front := frontFigures(c); len(front) > 0 {
		parts = append(parts, Part{"By arm", says, front})
	}
	if over := loadFigures(c); len(over) > 0 {
		parts = append(parts, Part{"By arm, over load", "", over})
	}
	for i, s := range c.Strata {
		if i == mostParts {
			break
		}
		p := Part{Title: "By arm: " + stratumName(c, s)}
		if len(c.Strata) == 1 {
			p.Title, p.Says = "By arm", says
		}
		for _, k := range shown(s, mostFigures) {
			p.Figures = append(p.Figures, boxes(c, s, k))
		}
		parts = append(parts, p)
	}
	return parts
}
