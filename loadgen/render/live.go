package render

import "io"

// LiveView is a page whose lines the server replaces while it is shown. The server sends frames, JSON of LiveFrame, to
// events?columns=N next to the page, and the event report when another page has taken its place.
type LiveView struct {
	Title string
	Pages []PageLink // above the page
	Lines [][]Span
	Links []Span // below the lines
}

// LiveScriptFile is the address of the script next to the page.
const LiveScriptFile = "live.js"

// LivePolicy is the Content-Security-Policy of the page: its script and events are those of its server.
const LivePolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'unsafe-inline'"

// Live writes the page. Without a script it shows the lines as they are.
func Live(w io.Writer, v LiveView) error { return execute(w, "live", v) }

// LiveScript returns the script of the page.
func LiveScript() ([]byte, error) { return sources.ReadFile(LiveScriptFile) }

// LiveFrame returns lines as the script draws them: lists of spans, each a style and a text.
func LiveFrame(lines [][]Span) [][][2]string {
	frame := make([][][2]string, len(lines))
	for i, line := range lines {
		frame[i] = make([][2]string, len(line))
		for j, s := range line {
			frame[i][j] = [2]string{s.Style, s.Text}
		}
	}
	return frame
}
