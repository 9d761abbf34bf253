package grafana

import (
	"context"
	"math"
	"strconv"
)

// frame is the answer to one query of a panel.
type frame struct {
	RefID   string   `json:"refId"`
	Expr    string   `json:"expr"`
	Format  string   `json:"format"`
	Instant bool     `json:"instant"`
	Step    int64    `json:"step"` // milliseconds
	Series  []series `json:"series"`
}

// panelAnswer has all data of a panel.
type panelAnswer struct {
	Kind     string   `json:"kind"`
	ID       int      `json:"id"`
	Frames   []frame  `json:"frames"`
	Problems []string `json:"problems"`
	Warnings []string `json:"warnings"`
}

// answerPanel runs a panel's queries. A failed query does not affect the others, as in Grafana.
func (p *prometheus) answerPanel(ctx context.Context, scope Scope, panel Panel, points int) panelAnswer {
	answer := panelAnswer{Kind: "panel", ID: panel.ID, Frames: []frame{}, Problems: []string{}, Warnings: []string{}}
	queries, err := scope.Queries(panel, points)
	if err != nil {
		answer.Problems = append(answer.Problems, err.Error())
	}
	for _, q := range queries {
		found, err := p.query(ctx, q)
		if err != nil {
			answer.Problems = append(answer.Problems, "query "+q.RefID+": "+err.Error())
			continue
		}
		for _, warning := range found.warnings {
			answer.Warnings = append(answer.Warnings, "query "+q.RefID+": "+warning)
		}
		answer.Frames = append(answer.Frames, framed(q, found))
	}
	return answer
}

func framed(q Query, found result) frame {
	f := frame{RefID: q.RefID, Expr: q.Expr, Format: q.Format, Instant: q.Instant, Step: q.Step.Milliseconds(), Series: []series{}}
	for _, s := range found.series {
		s.Name = Legend(q.Legend, s.Labels)
		f.Series = append(f.Series, s)
	}
	return f
}

// event is a time that an annotation marks.
type event struct {
	Annotation string `json:"annotation"`
	Color      string `json:"color"`
	Title      string `json:"title"`
	Text       string `json:"text"`
	From       int64  `json:"from"` // milliseconds
	To         int64  `json:"to"`
}

// eventsAnswer are the marks of all annotations.
type eventsAnswer struct {
	Kind     string   `json:"kind"`
	Events   []event  `json:"events"`
	Problems []string `json:"problems"`
}

// answerEvents runs the queries of the annotations that are switched on.
func (p *prometheus) answerEvents(ctx context.Context, scope Scope, d Dashboard) eventsAnswer {
	answer := eventsAnswer{Kind: "events", Events: []event{}, Problems: []string{}}
	for _, a := range d.Annotations {
		if !a.Enable || a.Expr == "" {
			continue
		}
		q, err := scope.Annotation(a)
		var found result
		if err == nil {
			found, err = p.query(ctx, q)
		}
		if err != nil {
			answer.Problems = append(answer.Problems, "annotation "+a.Name+": "+err.Error())
			continue
		}
		answer.Events = append(answer.Events, marks(a, q, found)...)
	}
	return answer
}

// marks makes events of an annotation's series: times at which the value is above 0 and no more
// than a step apart are one event (processAnnotationResponse in Grafana's data source).
func marks(a Annotation, q Query, found result) []event {
	var events []event
	for _, s := range found.series {
		open := -1
		for _, p := range s.Points {
			at := p.at.UnixMilli()
			if !(valueOf(p.value) > 0) {
				continue
			}
			if open >= 0 && at <= events[open].To+q.Step.Milliseconds() {
				events[open].To = at
				continue
			}
			open = len(events)
			events = append(events, event{
				Annotation: a.Name, Color: a.IconColor, From: at, To: at,
				Title: EventText(a.TitleFormat, s.Labels), Text: EventText(a.TextFormat, s.Labels),
			})
		}
	}
	return events
}

// valueOf parses a value as Prometheus writes it; it returns NaN for any other text.
func valueOf(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return n
}
