package summary

import (
	"fmt"
	"slices"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/rundir"
)

// modeImported is the mode in the origin of an imported result, which has no telemetry source.
const modeImported = "imported"

// addImported adds the contents of a file of another tool in addition to its figures, and applies the rules to the tool's own
// counts. A run with requests has no report of a tool: its rules read the requests.
func (s *Summary) addImported(m rundir.Imported, in inputs) {
	if in.Tool == nil {
		s.uncheckEnd(in.Stopped == "" && !m.EndKnown)
		return
	}
	origin := Origin{Source: in.Tool.Program, Mode: modeImported}
	if e := m.Engine; e != nil {
		s.Memory = &Memory{Origin: origin, EngineReported: e}
		if e.KV != nil || e.KVTokens != nil {
			s.KV = &KV{CapacityBytes: e.KV, CapacityTokens: e.KVTokens, Source: e.Source}
		}
	}
	if m.StartCelsius != nil || m.MaxCelsius != nil || m.EndCelsius != nil {
		s.Thermal = &Thermal{Origin: origin, StartCelsius: m.StartCelsius, MaxCelsius: m.MaxCelsius, EndCelsius: m.EndCelsius}
	}
	s.uncheckEnd(in.Tool.ExitCode == nil && in.Stopped == "" && !m.EndKnown)
	s.judgeToolErrors(*in.Tool)
}

// uncheckEnd takes the rule about an early end from those that were checked, if the file would not show one.
func (s *Summary) uncheckEnd(unknown bool) {
	if unknown {
		s.Checked = slices.DeleteFunc(s.Checked, func(check string) bool { return check == ruleOf(CodeIncomplete).Check })
	}
}

// judgeToolErrors applies the rule of failed requests to the tool's own counts.
func (s *Summary) judgeToolErrors(tool rundir.ToolReport) {
	var ok, failed float64
	known := false
	for _, v := range tool.Values {
		switch v.Name {
		case spec.Requests:
			ok = v.Value
		case spec.FailedRequests:
			failed, known = v.Value, true
		}
	}
	if !known || ok+failed == 0 {
		return
	}
	rule := ruleOf(CodeErrorRate)
	s.Checked = append(s.Checked, rule.Check)
	if failed/(ok+failed) > rule.Limit {
		s.Valid = false
		s.InvalidReasons = append(s.InvalidReasons, Reason{Code: rule.Code, Detail: fmt.Sprintf("%g of %g requests failed, by %s", failed, ok+failed, tool.Program)})
	}
}
