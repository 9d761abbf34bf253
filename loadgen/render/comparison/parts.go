package comparison

import (
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render"
)

// mostParts is the number of strata that are drawn next to each other on a page of another package.
const mostParts = 8

// ByArm returns the charts of a comparison without its verdicts, for a page of another package: the strata side by
// side, then the runs of each by arm.
func ByArm(c compare.Comparison) []render.Block {
	const text = "A mark is a run; beside the runs of an arm stands their mean with its 95 % interval. A box is the middle half of the runs. How sure a difference is, and what could explain it beside the arm, is a comparison’s to say."
	var blocks []render.Block
	if front := frontFigures(c); len(front) > 0 {
		blocks = append(blocks, render.H2("By arm"), render.Small(text), render.Figures(front))
	}
	if over := loadFigures(c); len(over) > 0 {
		blocks = append(blocks, render.H2("By arm, over load"), render.Figures(over))
	}
	for i, s := range c.Strata {
		if i == mostParts {
			break
		}
		if len(c.Strata) == 1 {
			blocks = append(blocks, render.H2("By arm"), render.Small(text))
		} else {
			blocks = append(blocks, render.H2("By arm: "+stratumName(c, s)))
		}
		var figures render.Figures
		for _, k := range shown(s, mostFigures) {
			figures = append(figures, boxes(c, s, k))
		}
		blocks = append(blocks, figures)
	}
	return blocks
}
