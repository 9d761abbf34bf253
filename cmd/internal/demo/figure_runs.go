package demo

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/render/comparison"
)

// armClasses are colours of lines and marks that differ clearly: the first four of the arms of a comparison.
var armClasses = [...]string{"c0", "c4", "c1", "c3"}

// armClass returns the colour and the form of an arm, as on the pages of comparisons.
func armClass(c Campaign, arm string) (class string, form int) {
	if c.Comparison == nil {
		return armClasses[0], 0
	}
	return comparison.ArmClass(*c.Comparison, arm)
}

// strip has the runs of a campaign as a figure shows them.
type strip struct {
	campaign Campaign
	runs     []run
	values   []*float64 // nil for a run without a figure
}

func (s strip) n() (n int) {
	for _, v := range s.values {
		if v != nil {
			n++
		}
	}
	return n
}

// strips returns the runs of all campaigns that have a comparison of the metric.
func strips(campaigns []Campaign, metric string) []strip {
	var all []strip
	for _, c := range campaigns {
		s, there := stratum(c)
		pair, compared := pairOf(c)
		if !there || !compared {
			continue
		}
		runs, _ := truthRuns(c)
		one := strip{campaign: c, runs: runs}
		m := find(pair, metric)
		for _, r := range runs {
			one.values = append(one.values, valueOf(s, r, m))
		}
		if one.n() > 0 {
			all = append(all, one)
		}
	}
	return all
}

// runsFigure draws every run of every campaign in the order of time, on one scale; not drawn without any.
func runsFigure(campaigns []Campaign, metric, title, caption string) render.Figure {
	all := strips(campaigns, metric)
	if len(all) == 0 {
		return render.Figure{}
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	var counts []string
	var arms []render.LegendItem
	for _, s := range all {
		counts = append(counts, fmt.Sprintf("%d (%s)", s.n(), s.campaign.Name))
		for _, v := range s.values {
			if v != nil {
				lo, hi = min(lo, *v), max(hi, *v)
			}
		}
		for _, arm := range s.campaign.Comparison.Arms {
			class, _ := armClass(s.campaign, arm)
			if item := (render.LegendItem{Class: class, Text: arm}); !slices.Contains(arms, item) {
				arms = append(arms, item)
			}
		}
	}
	f := render.Figure{Title: title, Full: true, Legend: arms, Caption: "n = " + strings.Join(counts, ", ") + " runs" + crosses(all) + ". " + caption}
	return f.DrawTall(300, 60+200*float64(len(all)), func(width, height float64) *render.Drawing {
		y := memoryAxis(lo, hi)
		var frames []*render.Frame
		for i, where := range sides(width, height, len(all)) {
			frames = append(frames, all[i].draw(where, width, height, y, f.Title+": "+f.Caption))
		}
		return gather(width, height, f.Title+": "+f.Caption, frames)
	})
}

// memoryAxis returns an axis over figures of memory with room for labels. It does not begin at 0, and its title shows
// that.
func memoryAxis(lo, hi float64) render.Axis {
	room := max(0.12*(hi-lo), 1<<30)
	a := render.LinearAxis("GiB, not from 0", max(0, lo-room), hi+1.4*room, 1./(1<<30), 5)
	return a.Between(max(0, lo-room), hi+1.4*room)
}

func (s strip) draw(where side, width, height float64, y render.Axis, label string) *render.Frame {
	n := float64(len(s.runs))
	x := render.LinearAxis("runs in the order of time", 1, max(2, n), 1, len(s.runs)).Between(0.5, n+0.5)
	x.Ticks = slices.DeleteFunc(x.Ticks, func(t render.Tick) bool { return t.At != math.Trunc(t.At) })
	f := where.frame(width, height, x, y, label)
	f.Text("row strong", f.Left, f.Top-14, "start", render.Shorten(s.campaign.Name, f.Right-f.Left))
	s.threads(f)
	var written figureLabels
	for i, r := range s.runs {
		at := float64(i + 1)
		if v := s.values[i]; v != nil {
			class, form := armClass(s.campaign, r.arm)
			f.Mark(form, class+" run", f.PX(at), f.PY(*v), fmt.Sprintf("%s, run %d, %s: %s", r.arm, i+1, r.Run, figure.Bytes.Text(*v)))
			written.text(f, f.PX(at), f.PY(*v)-9, short(*v))
		} else {
			why := "it has no such figure"
			if r.invalid {
				why = "invalid, no figure"
			}
			f.Cross(f.PX(at), f.Bottom-8, fmt.Sprintf("%s, run %d, %s: %s", r.arm, i+1, r.Run, why))
		}
	}
	return f
}

// threads connects consecutive runs of an arm: no other run is between them.
func (s strip) threads(f *render.Frame) {
	for i := 1; i < len(s.runs); i++ {
		if s.values[i-1] == nil || s.values[i] == nil || s.runs[i-1].arm != s.runs[i].arm {
			continue
		}
		class, _ := armClass(s.campaign, s.runs[i].arm)
		f.Polyline("thread "+class, "", [][]render.Place{{{X: float64(i), Y: *s.values[i-1]}, {X: float64(i + 1), Y: *s.values[i]}}})
	}
}

// crosses explains what a cross is, if there is one.
func crosses(all []strip) string {
	for _, s := range all {
		if s.n() < len(s.runs) {
			return "; a cross is a run without a figure"
		}
	}
	return ""
}
