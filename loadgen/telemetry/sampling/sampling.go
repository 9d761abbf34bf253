// Package sampling counts what a sampler of telemetry did. It stands apart from telemetry so that the manifest of a run,
// which has these counts, needs nothing of what reads pages and series.
package sampling

// Stats is what a Sampler did, for the manifest and for judging whether telemetry was lost.
type Stats struct {
	Sources []SourceStats `json:"sources"`
	// CPUSeconds is the processor time of the sampling threads. Network reads that the HTTP
	// client does on threads of its own are not in it.
	CPUSeconds float64 `json:"cpu_seconds"`
	// BytesWritten is the size of the file.
	BytesWritten int64 `json:"bytes_written"`
}

// SourceStats counts the samples of one source.
type SourceStats struct {
	Name    string `json:"name"`
	Foreign bool   `json:"foreign,omitempty"`
	// SamplesWanted counts the moments at which a sample was due, SamplesGot those that gave one.
	SamplesWanted int `json:"samples_wanted"`
	SamplesGot    int `json:"samples_got"`
	// MissingBorders names the phases whose first moment has no sample.
	MissingBorders []string `json:"missing_borders,omitempty"`
	// SeriesDropped counts series beyond the limit.
	SeriesDropped int `json:"series_dropped,omitempty"`
}
