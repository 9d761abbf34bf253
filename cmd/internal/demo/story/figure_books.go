package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/compare"
)

// partClasses are the colours of files. They begin where those of the arms do not matter.
var partClasses = [...]string{"c5", "c4", "c2", "c7", "c3", "c6"}

// cachedNames are the files of all starts, in the order in which they are named.
func cachedNames(campaigns []Campaign) []string {
	var names []string
	for _, c := range campaigns {
		for _, s := range c.Starts {
			for _, p := range s.Cached {
				if p.Bytes > 0 && !slices.Contains(names, p.Name) {
					names = append(names, p.Name)
				}
			}
		}
	}
	return names
}

// cacheFigure draws what of each file was in the page cache when the engine of each start sized its KV cache; nil
// without any start.
func cacheFigure(campaigns []Campaign) *chart.Figure {
	var all []Campaign
	highest, counts := 0.0, []string(nil)
	for _, c := range campaigns {
		if len(c.Starts) == 0 {
			continue
		}
		all, counts = append(all, c), append(counts, fmt.Sprintf("%d (%s)", len(c.Starts), c.Name))
		for _, s := range c.Starts {
			highest = max(highest, total(s.Cached))
		}
	}
	names := cachedNames(all)
	if len(names) == 0 {
		return nil
	}
	f := chart.Figure{Title: "What lay in the page cache when each engine sized its KV cache", Full: true}
	for i, name := range names {
		f.Legend = append(f.Legend, chart.LegendItem{Class: partClasses[i%len(partClasses)], Text: name})
	}
	f.Caption = "n = " + strings.Join(counts, ", ") + " starts, in the order of time; by the simulator’s books, which the exporter does not read. " +
		"Below each bar is the first letter of its arm. What another arm has read stays until something needs the memory: that is what is carried over."
	drawn := f.DrawTall(280, 60+190*float64(len(all)), func(width, height float64) *chart.Drawing {
		y := chart.Linear("GiB of page cache", 0, highest*1.12, 1./(1<<30), 4)
		var frames []*chart.Frame
		for i, where := range sides(width, height, len(all)) {
			frames = append(frames, drawCached(all[i], names, where, width, height, y, f.Title))
		}
		return gather(width, height, f.Title+": "+f.Caption, frames)
	})
	return &drawn
}

func total(parts []Part) (sum float64) {
	for _, p := range parts {
		sum += p.Bytes
	}
	return sum
}

func drawCached(c Campaign, names []string, where side, width, height float64, y chart.Axis, label string) *chart.Frame {
	var letters []string
	for _, s := range c.Starts {
		letters = append(letters, letter(s.Arm))
	}
	f := where.frame(width, height, chart.Categories("starts in the order of time", letters), y, label)
	f.Text("row", f.Left, f.Top-14, "start", chart.Shorten(c.Name, f.Right-f.Left))
	var written labels
	half := min(16, 0.36*(f.Right-f.Left)/float64(len(c.Starts)))
	for i, s := range c.Starts {
		from, at := 0.0, f.PX(float64(i))
		for k, name := range names {
			bytes := partOf(s.Cached, name)
			if bytes <= 0 {
				continue
			}
			top, bottom := f.PY(from+bytes), f.PY(from)
			f.Add(chart.Shape{
				Kind: "rect", Class: partClasses[k%len(partClasses)] + " part", X: chart.Tenth(at - half), Y: top, W: chart.Tenth(2 * half), H: chart.Tenth(bottom - top),
				Title: fmt.Sprintf("%s, start %d: %s %s", s.Arm, i+1, name, compare.UnitBytes.Text(bytes)),
			})
			from += bytes
		}
		written.text(f, at, f.PY(from)-5, short(from))
	}
	return f
}

func letter(arm string) string {
	for _, r := range arm {
		return string(r)
	}
	return ""
}

func partOf(parts []Part, name string) float64 {
	for _, p := range parts {
		if p.Name == name {
			return p.Bytes
		}
	}
	return 0
}
