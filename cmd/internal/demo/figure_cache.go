package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// partClasses are the colours of files. They begin with colours that differ from those of the arms.
var partClasses = [...]string{"c5", "c4", "c2", "c7", "c3", "c6"}

// cached is a file in the page cache, with its colour.
type cached struct{ name, class string }

// cachedOfStarts returns the files of all starts, in the order of the starts, without those that were never in the page
// cache.
func cachedOfStarts(campaigns []Campaign) (files []cached) {
	var names []string
	largest := map[string]float64{}
	for _, c := range campaigns {
		for _, s := range c.Starts {
			for _, p := range s.Cached {
				if !slices.Contains(names, p.Name) {
					names = append(names, p.Name)
				}
				largest[p.Name] = max(largest[p.Name], p.Bytes)
			}
		}
	}
	for i, name := range names {
		if largest[name] > 0 {
			files = append(files, cached{name, partClasses[i%len(partClasses)]})
		}
	}
	return files
}

// cacheFigure draws how much of each file was in the page cache when the engine of each start sized its KV cache; not
// drawn without any start.
func cacheFigure(campaigns []Campaign) render.Figure {
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
	files := cachedOfStarts(all)
	if len(files) == 0 {
		return render.Figure{}
	}
	f := render.Figure{Title: "What lay in the page cache when each engine sized its KV cache (simulated)", Full: true}
	for _, file := range files {
		f.Legend = append(f.Legend, render.LegendItem{Class: file.class, Text: file.name})
	}
	f.Caption = "n = " + strings.Join(counts, ", ") + " starts, in the order of time; ground truth of the simulator, which the exporter does not read. " +
		"Below each bar is the first letter of its arm. What another arm has read stays until something needs the memory: that is what is carried over."
	return f.DrawTall(280, 60+190*float64(len(all)), func(width, height float64) *render.Drawing {
		y := render.LinearAxis("GiB of page cache", 0, highest*1.12, 1./(1<<30), 4)
		var frames []*render.Frame
		for i, where := range sides(width, height, len(all)) {
			frames = append(frames, drawCached(all[i], files, where, width, height, y, f.Title))
		}
		return gather(width, height, f.Title+": "+f.Caption, frames)
	})
}

func total(parts []Part) (sum float64) {
	for _, p := range parts {
		sum += p.Bytes
	}
	return sum
}

func drawCached(c Campaign, files []cached, where side, width, height float64, y render.Axis, label string) *render.Frame {
	var letters []string
	for _, s := range c.Starts {
		letters = append(letters, letter(s.Arm))
	}
	f := where.frame(width, height, render.CategoryAxis("starts in the order of time", letters), y, label)
	f.Text("row strong", f.Left, f.Top-14, "start", render.Shorten(c.Name, f.Right-f.Left))
	var written figureLabels
	half := min(16, 0.36*(f.Right-f.Left)/float64(len(c.Starts)))
	for i, s := range c.Starts {
		from, at := 0.0, f.PX(float64(i))
		for _, file := range files {
			bytes := partOf(s.Cached, file.name)
			if bytes <= 0 {
				continue
			}
			top, bottom := f.PY(from+bytes), f.PY(from)
			f.Add(render.Shape{
				Kind: "rect", Class: file.class + " part", X: render.Tenth(at - half), Y: top, W: render.Tenth(2 * half), H: render.Tenth(bottom - top),
				Title: fmt.Sprintf("%s, start %d: %s %s", s.Arm, i+1, file.name, figure.Bytes.Text(bytes)),
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
