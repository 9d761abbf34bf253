package render

import (
	"fmt"
	"io"
	"strings"
)

// Sizes of the parts around a chart in a file of its own.
const (
	svgEdge      = 12 // margin on all sides
	svgHead      = 18
	svgHeadWidth = 8.6 // approximate width of a letter of the title
	svgLine      = 17
	svgSwatch    = 11
)

// svgPage is the input of the template.
type svgPage struct {
	Figure             Figure
	Width, Height, Top float64
	Edge               int
	Legend             []svgLegend
	Title, Caption     []svgWords
}

type svgLegend struct {
	LegendItem
	X, Y, TextX, SwatchY, Size float64
}

type svgWords struct {
	Y    float64
	Text string
}

// SVG writes a chart as a file of its own, in the desktop size, with its title, legend and caption.
func SVG(w io.Writer, f Figure) error {
	if !f.Drawn() {
		return fmt.Errorf("%s: it is not drawn", f.Title)
	}
	p := svgPage{Figure: f, Width: f.Desk.Width + 2*svgEdge, Edge: svgEdge, Top: svgEdge}
	for _, line := range wrap(f.Title, int((p.Width-2*svgEdge)/svgHeadWidth)) {
		p.Top += svgHead
		p.Title = append(p.Title, svgWords{p.Top - 6, line})
	}
	p.Top += 8
	x, y := float64(svgEdge), p.Top+svgSwatch
	for _, item := range f.Legend {
		wide := svgSwatch + 6 + LetterWidth*float64(len([]rune(item.Text)))
		if x > svgEdge && x+wide > p.Width-svgEdge {
			x, y = svgEdge, y+svgLine
		}
		p.Legend = append(p.Legend, svgLegend{item, x, y, x + svgSwatch + 5, y - svgSwatch + 1, svgSwatch})
		x += wide + 14
		p.Top = y + 8
	}
	y = p.Top + f.Desk.Height
	for _, line := range wrap(f.Caption, int((p.Width-2*svgEdge)/LetterWidth)) {
		y += svgLine
		p.Caption = append(p.Caption, svgWords{y, line})
	}
	p.Height = y + svgEdge
	var text strings.Builder
	if err := execute(&text, "svg", p); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.TrimLeft(text.String(), "\n"))
	return err
}

// wrap breaks a text between words into lines of at most most characters.
func wrap(text string, most int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		if last < 0 || len([]rune(lines[last]))+1+len([]rune(word)) > most {
			lines = append(lines, word)
			continue
		}
		lines[last] += " " + word
	}
	return lines
}
