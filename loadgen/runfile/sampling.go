package runfile

// SamplingStats are the counts of a Sampler, for the manifest and for detecting lost telemetry.
type SamplingStats struct {
	Sources []SourceSamplingStats `json:"sources"`
	// CPUSeconds is the processor time of the sampling threads. It leaves out network reads that the HTTP client does
	// on its own threads.
	CPUSeconds float64 `json:"cpu_seconds"`
	// BytesWritten is the size of the file.
	BytesWritten int64 `json:"bytes_written"`
}

// SourceSamplingStats counts the samples of one source.
type SourceSamplingStats struct {
	Name    string `json:"name" pack:"source"`
	Foreign bool   `json:"foreign,omitempty"`
	// SamplesWanted counts the moments at which a sample was due, SamplesGot the successful ones.
	SamplesWanted int `json:"samples_wanted"`
	SamplesGot    int `json:"samples_got"`
	// MissingBorders are the names of the phases whose first moment has no sample.
	MissingBorders []string `json:"missing_borders,omitempty" pack:"text"`
	// SeriesDropped counts series beyond the limit.
	SeriesDropped int `json:"series_dropped,omitempty"`
}
