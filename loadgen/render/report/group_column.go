package report

import (
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// toolColumns are the figures that a recorded command or an imported tool reports; they share no column with measured
// ones.
func toolColumns() []groupColumn {
	tool := func(title string, name enginelog.Name) groupColumn {
		return groupColumn{title + ", by the tool", func(s *summary.Summary) string {
			if s.Tool == nil {
				return render.None
			}
			for _, v := range s.Tool.Values {
				if v.Name == name && v.Statistic == "" && v.Of == "" {
					return render.Digits(v.Value)
				}
			}
			return render.None
		}}
	}
	return []groupColumn{tool("output tokens/s", enginelog.OutputTokensPerSecond), tool("requests/s", enginelog.RequestsPerSecond)}
}

// machineColumns are those of the measured host. Figures that are not live measurements of it are marked.
func machineColumns() []groupColumn {
	memory := func(title string, of func(*summary.Memory) *float64) groupColumn {
		return groupColumn{title, func(s *summary.Summary) string {
			if s.Memory == nil {
				return render.None
			}
			return marked(s.Memory.Origin, of(s.Memory), render.FormatBytes)
		}}
	}
	heat := func(title string, of func(*summary.Thermal) *float64) groupColumn {
		return groupColumn{title, func(s *summary.Summary) string {
			if s.Thermal == nil {
				return render.None
			}
			return marked(s.Thermal.Origin, of(s.Thermal), render.FormatCelsius)
		}}
	}
	return []groupColumn{
		memory("peak by the engine", func(m *summary.Memory) *float64 {
			if m.EngineReported == nil {
				return nil
			}
			return m.EngineReported.Peak
		}),
		memory("occupied without KV cache", func(m *summary.Memory) *float64 { return m.OccupiedWithoutKV }),
		{"KV cache", func(s *summary.Summary) string {
			if s.KV == nil {
				return render.None
			}
			if s.Memory != nil {
				return marked(s.Memory.Origin, s.KV.CapacityBytes, render.FormatBytes)
			}
			return render.Optional(s.KV.CapacityBytes, render.FormatBytes)
		}},
		memory("free when ready", (*summary.Memory).FreeWhenReady),
		memory("unavailable, peak", func(m *summary.Memory) *float64 { return m.UnavailablePeak }),
		memory("available, least", func(m *summary.Memory) *float64 { return m.AvailableMin }),
		memory("pool", func(m *summary.Memory) *float64 { return m.Pool }),
		heat("GPU start", func(t *summary.Thermal) *float64 { return t.StartCelsius }),
		heat("GPU end", func(t *summary.Thermal) *float64 { return t.EndCelsius }),
		heat("GPU highest", func(t *summary.Thermal) *float64 { return t.MaxCelsius }),
	}
}

// marked formats a figure with the mode of its source, unless that is live or a file of results.
func marked(o summary.Origin, value *float64, format func(float64) string) string {
	if value == nil {
		return render.None
	}
	if o.Live() || o.Mode == "" {
		return format(*value)
	}
	return format(*value) + " (" + o.Mode + ")"
}
