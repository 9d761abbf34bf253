package view

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
	"github.com/umascope/umascope/loadgen/render"
)

const lastBootPath = "/last-boot"

// lastBootLine leads to the last minute of the previous boot, where the exporter records; it is a warning for a day if that
// boot was not shut down.
func (v *viewer) lastBootLine(ctx context.Context) render.Block {
	ends, err := v.database.now(ctx, expr.Select(metric.RecorderPreviousBootEnd, expr.Is(metric.LabelHost, v.host)).Equals(expr.Number(1)))
	if err != nil || len(ends) == 0 {
		return render.P()
	}
	switch end := label(ends[0], metric.LabelEnd); end {
	case metric.EndNotRecorded:
		return render.P()
	case metric.EndShutdown:
		return render.P(render.Plain("The boot before this one was shut down. "), render.Link("Its last minute", lastBootPath))
	default:
		return render.Notice(render.Note, render.Plain("The boot before this one probably ended without a shutdown ("+end+"). "), render.Link("Its last minute", lastBootPath))
	}
}

// lastBootPage shows the exporter's page of the same name.
func (v *viewer) lastBootPage(w http.ResponseWriter, r *http.Request) {
	d := render.Document{Title: "Last boot of " + v.host, Pages: bar("")}
	status := http.StatusOK
	if text, found := v.lastBoot(r.Context()); found {
		d.Add(render.Listing{Text: text})
	} else {
		status = http.StatusNotFound
		d.Add(render.Notice(render.Note, render.Plain("The exporter has no page about the last boot: it keeps one with --recorder.")))
	}
	v.write(w, status, d)
}

// lastBoot asks the exporter. The text is another process's.
func (v *viewer) lastBoot(ctx context.Context) (text string, found bool) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.target.ResolveReference(&url.URL{Path: lastBootPath[1:]}).String(), http.NoBody)
	if err != nil {
		return "", false
	}
	response, err := v.client.Do(request)
	if err != nil {
		return "", false
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	return string(body), err == nil && response.StatusCode == http.StatusOK && len(body) > 0
}
