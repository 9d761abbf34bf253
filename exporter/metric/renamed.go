package metric

// Renaming is a name of earlier versions, and the present name of the same figure.
type Renaming struct{ Old, New string }

// RenamedFigures lists figures of runs and comparisons: values of LabelMetric, columns of CSV files, and names that
// flags such as --margin take.
func RenamedFigures() []Renaming {
	return []Renaming{
		{"memory_excluding_kv_bytes", "memory_occupied_without_kv_bytes"},
		{"memory_with_kv_bytes", "memory_occupied_when_ready_bytes"},
		{"memory_used_peak_bytes", "memory_unavailable_peak_bytes"},
		{"engine_reported_memory_excluding_kv_bytes", "engine_reported_memory_occupied_without_kv_bytes"},
		{"engine_reported_memory_with_kv_bytes", "engine_reported_memory_occupied_when_ready_bytes"},
	}
}

// RenamedFields lists members of the object memory of summary.json, umascope.summary/1.
func RenamedFields() []Renaming {
	return []Renaming{
		{"excluding_kv_bytes", "occupied_without_kv_bytes"},
		{"used_peak_bytes", "unavailable_peak_bytes"},
	}
}

// RenamedWords lists other words of saved comparisons, umascope.comparison/1: codes of warnings, and the subjects of a
// model of the KV cache.
func RenamedWords() []Renaming {
	return []Renaming{
		{"memory_with_kv_equal", "memory_occupied_equal"},
		{"excluding_kv", "occupied_without_kv"},
	}
}

// RenamedSeries lists series of finished runs. They are served in addition to those of today's names for one release.
func RenamedSeries() []Renaming {
	return []Renaming{
		{"uma_run_memory_excluding_kv_bytes", RunMemoryOccupiedWithoutKVBytes.def.Name},
		{"uma_run_memory_used_peak_bytes", RunMemoryUnavailablePeakBytes.def.Name},
	}
}

// CurrentName returns the present name, and whether the given one is an old one.
func CurrentName(of []Renaming, name string) (current string, renamed bool) {
	for _, r := range of {
		if r.Old == name {
			return r.New, true
		}
	}
	return name, false
}
