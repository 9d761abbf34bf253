package foreign

import (
	"fmt"
	"slices"

	"github.com/umascope/umascope/loadgen/extract"
	"github.com/umascope/umascope/loadgen/summary"
)

// modeImported stands where the mode of a telemetry source does: nothing was followed.
const modeImported = "imported"

// summary is that of a recorded command, as far as a file of results goes: nothing of it is measured.
func (one found) summary(format Format) (summary.Summary, error) {
	r := one.result
	in := summary.Input{
		Run: one.id, Scenario: format.Name, Labels: r.Labels, Model: summary.Model{ID: r.Model}, Streaming: true, Stopped: r.Stopped,
		Tool: &summary.ToolReport{
			Program: r.Program, Extractor: format.Name, Version: r.Version, File: one.file.name, ExitCode: r.ExitCode,
			Values: fromFile(r.Values, one.file.name),
		},
	}
	if r.ExitCode != nil && *r.ExitCode != 0 && in.Stopped == "" {
		in.Stopped = fmt.Sprintf("%s: exit code %d", r.Program, *r.ExitCode)
	}
	s, err := summary.Summarize(in, noRequests)
	if err != nil {
		return s, err
	}
	origin := summary.Origin{Source: r.Program, Mode: modeImported}
	if e := r.Memory; e != nil {
		own := *e
		own.Source = one.file.name
		s.Memory = &summary.Memory{Origin: origin, EngineReported: &own}
		if e.KV != nil || e.KVTokens != nil {
			s.KV = &summary.KV{CapacityBytes: e.KV, CapacityTokens: e.KVTokens, Source: one.file.name}
		}
	}
	if r.StartCelsius != nil || r.MaxCelsius != nil || r.EndCelsius != nil {
		s.Thermal = &summary.Thermal{Origin: origin, StartCelsius: r.StartCelsius, MaxCelsius: r.MaxCelsius, EndCelsius: r.EndCelsius}
	}
	if r.ExitCode == nil && r.Stopped == "" && !r.EndKnown {
		s.Checked = slices.DeleteFunc(s.Checked, func(check string) bool { return check == ruleOf(summary.CodeIncomplete).Check })
	}
	judgeErrors(&s, r)
	s.Warnings = slices.Concat(s.Warnings, []string{fmt.Sprintf("imported from %s: every figure is the word of %s, none was measured here", one.file.name, r.Program)}, r.Warnings)
	return s, nil
}

// fromFile says of figures where they stand.
func fromFile(values []extract.Value, name string) []extract.Value {
	all := slices.Clone(values)
	for i := range all {
		if all[i].From == "" {
			all[i].From = name
		}
	}
	if all == nil {
		all = []extract.Value{}
	}
	return all
}

// judgeErrors applies the rule of failed requests to the tool's own counts.
func judgeErrors(s *summary.Summary, r Result) {
	var ok, failed float64
	known := false
	for _, v := range r.Values {
		switch v.Name {
		case extract.Requests:
			ok = v.Value
		case extract.FailedRequests:
			failed, known = v.Value, true
		}
	}
	if !known || ok+failed == 0 {
		return
	}
	rule := ruleOf(summary.CodeErrorRate)
	s.Checked = append(s.Checked, rule.Check)
	if failed/(ok+failed) > rule.Limit {
		s.Valid = false
		s.InvalidReasons = append(s.InvalidReasons, summary.Reason{Code: rule.Code, Detail: fmt.Sprintf("%g of %g requests failed, by %s", failed, ok+failed, r.Program)})
	}
}

// ruleOf returns the rule of a code.
func ruleOf(code summary.Code) summary.Rule {
	rules := summary.Rules()
	return rules[slices.IndexFunc(rules, func(r summary.Rule) bool { return r.Code == code })]
}
