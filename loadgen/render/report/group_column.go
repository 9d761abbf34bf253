package report

import (
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/summary"
)

// toolColumns are the figures that a recorded command or an imported tool reports; they share no column with measured
// ones.
func toolColumns() []groupColumn {
	tool := func(title string, name enginelog.Name) groupColumn {
		return groupColumn{name: title + ", by the tool", of: func(s *summary.Summary) string {
			if s.Tool == nil {
				return format.None
			}
			for _, v := range s.Tool.Values {
				if v.Name == name && v.Statistic == "" && v.Of == "" {
					return format.Digits(v.Value)
				}
			}
			return format.None
		}}
	}
	return []groupColumn{tool("output tokens/s", enginelog.OutputTokensPerSecond), tool("requests/s", enginelog.RequestsPerSecond)}
}

// machineColumns are those of the measured host.
func machineColumns() []groupColumn {
	memoryOrigin := func(s *summary.Summary) summary.Origin {
		if s.Memory == nil {
			return summary.Origin{}
		}
		return s.Memory.Origin
	}
	memory := func(title string, of func(*summary.Memory) *float64) groupColumn {
		return groupColumn{name: title, of: func(s *summary.Summary) string {
			if s.Memory == nil {
				return format.None
			}
			return format.Optional(of(s.Memory), format.Bytes)
		}, origin: memoryOrigin}
	}
	heat := func(title string, of func(*summary.Thermal) *float64) groupColumn {
		return groupColumn{name: title, of: func(s *summary.Summary) string {
			if s.Thermal == nil {
				return format.None
			}
			return format.Optional(of(s.Thermal), format.Celsius)
		}, origin: func(s *summary.Summary) summary.Origin {
			if s.Thermal == nil {
				return summary.Origin{}
			}
			return s.Thermal.Origin
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
		{name: "KV cache", of: func(s *summary.Summary) string {
			if s.KV == nil {
				return format.None
			}
			return format.Optional(s.KV.CapacityBytes, format.Bytes)
		}, origin: memoryOrigin},
		memory("free when ready", (*summary.Memory).FreeWhenReady),
		memory("unavailable, peak", func(m *summary.Memory) *float64 { return m.UnavailablePeak }),
		memory("available, least", func(m *summary.Memory) *float64 { return m.AvailableMin }),
		memory("pool", func(m *summary.Memory) *float64 { return m.Pool }),
		heat("GPU start", func(t *summary.Thermal) *float64 { return t.StartCelsius }),
		heat("GPU end", func(t *summary.Thermal) *float64 { return t.EndCelsius }),
		heat("GPU highest", func(t *summary.Thermal) *float64 { return t.MaxCelsius }),
	}
}

// mode returns the mode of a column's figure of a run, such as simulated; empty for one of the client, a live one and one
// of a file of results.
func (c groupColumn) mode(s *summary.Summary) string {
	if c.origin == nil {
		return ""
	}
	if o := c.origin(s); !o.Live() {
		return o.Mode
	}
	return ""
}

// marked returns the figure with its mode.
func (c groupColumn) marked(s *summary.Summary) string {
	text := c.of(s)
	if mode := c.mode(s); mode != "" && text != format.None {
		text += " (" + mode + ")"
	}
	return text
}
