package telemetry

// schema names the format of the file: one JSON object a line, compressed by gzip.
//
// The first line is a header. Then follow, in order of time: lines that introduce a series, lines with the values that
// changed since the source's last sample, lines with the reason of a failed sample, and lines that mark a phase. The
// last line marks the file as complete.
const schema = "umascope.telemetry/1"

// Header is the first line.
type Header struct {
	Schema     string         `json:"schema" pack:"word"`
	IntervalNS int64          `json:"interval_ns"`
	PerSource  int            `json:"series_per_source"` // at most
	Sources    []headerSource `json:"sources"`
}

type headerSource struct {
	Name string `json:"name" pack:"source"`
	URL  string `json:"url,omitempty" pack:"url"`
	// Foreign is true of pages of engines and the like.
	Foreign bool `json:"foreign,omitempty"`
}

// Line is any later line; exactly one of its parts is set.
type Line struct {
	Series  *seriesLine  `json:"series,omitempty"`
	Sample  *sampleLine  `json:"sample,omitempty"`
	Gap     *gapLine     `json:"gap,omitempty"`
	Phase   *phaseLine   `json:"phase,omitempty"`
	Dropped *droppedLine `json:"dropped,omitempty"`
	End     bool         `json:"end,omitempty"`
}

// seriesLine introduces a series. Its index is the number of series lines of its source before it.
type seriesLine struct {
	Source int               `json:"source"`
	Name   string            `json:"name" pack:"word"`
	Labels map[string]string `json:"labels,omitempty" pack:"series"`
	// Counter is the type on an engine's page; the vocabulary has the types of the exporter's series.
	Counter bool `json:"counter,omitempty"`
}

// sampleLine holds the changes: series Index[i] now has Values[i], the series in Gone are no longer on the page, and
// all others keep their value.
type sampleLine struct {
	Source int       `json:"source"`
	AtNS   int64     `json:"at_ns"` // offset from the run's start at which the scrape was sent
	Border *int      `json:"border,omitempty"`
	Index  []int     `json:"index,omitempty"`
	Values []float64 `json:"values,omitempty"`
	Gone   []int     `json:"gone,omitempty"`
}

// gapLine marks samples that were due and are missing.
type gapLine struct {
	Source  int    `json:"source"`
	AtNS    int64  `json:"at_ns"`
	Samples int    `json:"samples"`
	Reason  string `json:"reason" pack:"text"`
}

// phaseLine marks the beginning of a phase. Its index, counted from 0, is the Border of the samples that were taken
// because of it.
type phaseLine struct {
	AtNS int64  `json:"at_ns"`
	Name string `json:"name" pack:"word"`
}

// droppedLine counts series of a family that were dropped (series limit).
type droppedLine struct {
	Source int    `json:"source"`
	Name   string `json:"name" pack:"word"`
	Series int    `json:"series"`
}
