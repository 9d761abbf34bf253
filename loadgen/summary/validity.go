package summary

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Code names a reason for which a run is invalid.
type Code string

// The codes that this package checks.
const (
	CodeClientLag          Code = "client_lag"
	CodeClientStall        Code = "client_stall"
	CodePrefixReuse        Code = "prefix_reuse"
	CodeDepthEvicted       Code = "depth_evicted"
	CodeErrorRate          Code = "error_rate"
	CodeNoOutput           Code = "no_output"
	CodePhaseFailed        Code = "phase_failed"
	CodeModelMismatch      Code = "model_mismatch"
	CodeModelChanged       Code = "model_changed"
	CodeModelDropped       Code = "model_dropped"
	CodePromptLimit        Code = "prompt_limit"
	CodeKVModeMismatch     Code = "kv_mode_mismatch"
	CodeTelemetryLost      Code = "telemetry_lost"
	CodeThermalThrottle    Code = "thermal_throttle"
	CodePowerDeliveryFault Code = "power_delivery_fault"
	CodeSwapIn             Code = "swap_in"
	CodeCounterReset       Code = "counter_reset"
	CodeForeignGPUProcess  Code = "foreign_gpu_process"
	CodeOutputMismatch     Code = "output_mismatch"
	CodeStreamBuffered     Code = "stream_buffered"
	CodeCheckFailed        Code = "check_failed"
	CodeIncomplete         Code = "incomplete"
)

// Rule is one row of the validity table.
type Rule struct {
	Code Code
	// Check is the name under which the summary lists that the rule was applied.
	Check string
	// Unit is that of the limit; Limit is the default.
	Unit  LimitUnit
	Limit float64
	// Says is the condition for an invalid run, in words; %s is replaced by the limit.
	Condition string
	judge     func(grounds, float64) verdict
}

// Rules returns the validity table. A finding outside of it is at most a warning.
func Rules() []Rule {
	return []Rule{
		{CodeClientLag, "client", LimitSeconds, 0.001, "a percentile of a latency that may be off by more than %s and more than 2 %, because requests left late", judgeClientLag},
		{CodeClientStall, "client", LimitSeconds, 0.001, "a percentile of a latency that may be off by more than %s and more than 2 %, because arrivals were read late", judgeClientStall},
		{CodePrefixReuse, "prompts", LimitRatio, 0.01, "more than %s of prompt tokens answered from a prefix cache, beyond what the schedule repeats and beyond chat template and opening; a caveat where prompts were asked to repeat, or are a file's", judgePrefixReuse},
		{CodeDepthEvicted, "prompts", LimitRatio, 0.1, "of a cell at a depth that the prefix cache holds, more than %s of the depth not answered from it", judgeDepthEvicted},
		{CodeErrorRate, "errors", LimitRatio, 0.01, "more than %s of measured requests not ok", judgeErrorRate},
		{CodeNoOutput, "errors", LimitRatio, 0.01, "more than %s of answers that ended ok without any output", judgeNoOutput},
		{CodePhaseFailed, "errors", LimitNone, 0, "a phase, measured or not, whose requests all failed: the run ends with it", judgePhaseFailed},
		{CodeModelMismatch, "model", LimitNone, 0, "another model than was asked for", finding(func(j rundir.Judging) verdict { return verdict{j.Model.Checked, j.Model.Mismatch} })},
		{CodeModelChanged, "fingerprint", LimitNone, 0, "another model at the end than at the start", finding(func(j rundir.Judging) verdict {
			return verdict{j.Model.Compared || j.Model.Changed != "", j.Model.Changed}
		})},
		{CodeModelDropped, "serving", LimitNone, 0, "a model that is no longer served: the run stops at once", finding(func(j rundir.Judging) verdict {
			return verdict{j.Model.Guarded || j.Model.Dropped != "", j.Model.Dropped}
		})},
		{CodePromptLimit, "serving", LimitNone, 0, "a prompt longer than the server takes: the run stops at once", finding(func(j rundir.Judging) verdict {
			return verdict{j.Model.Guarded || j.Model.PromptLimit != "", j.Model.PromptLimit}
		})},
		{CodeKVModeMismatch, "kv_mode", LimitNone, 0, "other tiers of the KV cache than --expect names", finding(func(j rundir.Judging) verdict { return verdict{j.KVMode.Checked, j.KVMode.Mismatch} })},
		{CodeTelemetryLost, "telemetry", LimitRatio, 0.05, "more than %s of samples, or a phase border, missing from telemetry that was asked for", judgeTelemetryLost},
		{CodeThermalThrottle, "thermal", LimitRatio, 0.01, "hardware slowdown, thermal limit or power brake in more than %s of the measured time", judgeThermalThrottle},
		{CodePowerDeliveryFault, "power", LimitRatio, 0.01, "a GB10 that is busy below 1.4 GHz and 20 W in more than %s of measured samples and at least 3", judgePowerDeliveryFault},
		{CodeSwapIn, "swap", LimitBytes, 64 << 20, "more than %s read back from swap", judgeSwapIn},
		{CodeForeignGPUProcess, "gpu_processes", LimitBytes, 256 << 20, "a process that is not the engine's and holds more than %s of the GPU", judgeForeignGPUProcess},
		{CodeCounterReset, "counters", LimitNone, 0, "a reset of a counter that a rule or a figure reads", judgeCounterReset},
		{CodeOutputMismatch, "outputs", LimitNone, 0, "answers from a KV cache that differ from those computed without it beyond the engine's own drift", judgeOutputMatch},
		{CodeStreamBuffered, "stream", LimitRatio, 0.5, "more than %s of answers arriving in one piece", judgeStreamBuffered},
		{CodeCheckFailed, "checks", LimitNone, 0, "a check of the campaign, before or after the load, that printed no number or one outside of its bounds", finding(func(j rundir.Judging) verdict { return verdict{j.Checks.Made, j.Checks.Failed} })},
		{CodeIncomplete, "plan", LimitNone, 0, "a run that ended before its plan did", finding(func(j rundir.Judging) verdict { return verdict{true, j.Stopped} })},
	}
}

// finding is a rule about what the run itself recorded: what served the requests, and whether the run is whole.
func finding(of func(rundir.Judging) verdict) func(grounds, float64) verdict {
	return func(e grounds, _ float64) verdict { return of(e.in.Judging) }
}

// String returns the condition for an invalid run, in words, with the default limit.
func (r Rule) String() string {
	if r.Unit == LimitNone {
		return r.Condition
	}
	return strings.Replace(r.Condition, "%s", r.Unit.format(r.Limit), 1)
}

// limit returns the limit of a rule; nil if it is switched off.
func (in inputs) limit(code Code) *float64 {
	own, given := in.Limits[code]
	switch {
	case own.Off:
		return nil
	case given:
		return &own.Value
	}
	return &ruleOf(code).Limit
}

// ruleOf returns the rule of a code of the table.
func ruleOf(code Code) *Rule {
	rules := Rules()
	return &rules[slices.IndexFunc(rules, func(r Rule) bool { return r.Code == code })]
}

// LimitUnit is the unit in which a limit is written.
type LimitUnit string

// The units of limits. A rule without one can only be switched off.
const (
	LimitNone    LimitUnit = ""
	LimitSeconds LimitUnit = "seconds"
	LimitRatio   LimitUnit = "ratio"
	LimitBytes   LimitUnit = "bytes"
)

// format formats a limit as ParseLimits reads it.
func (u LimitUnit) format(limit float64) string {
	switch u {
	case LimitSeconds:
		return time.Duration(limit * float64(time.Second)).String()
	case LimitRatio:
		return strconv.FormatFloat(limit*100, 'g', 6, 64) + "%"
	case LimitBytes:
		return strconv.FormatFloat(limit/(1<<20), 'g', 6, 64) + "MiB"
	default:
		return ""
	}
}

// parse reads a limit: 2ms, 2% or 0.02, 64MiB or 67108864.
func (u LimitUnit) parse(text string) (float64, error) {
	var limit float64
	var err error
	switch u {
	case LimitSeconds:
		var d time.Duration
		d, err = time.ParseDuration(text)
		limit = d.Seconds()
	case LimitRatio:
		limit, err = scaled(text, "%", 0.01)
		if err == nil && limit > 1 {
			err = errors.New("it must not be more than 100%")
		}
	case LimitBytes:
		limit, err = scaled(text, "MiB", 1<<20)
	default:
		return 0, errors.New("the rule has no limit; it can only be off")
	}
	if err == nil && !(limit >= 0) {
		err = errors.New("it must not be negative")
	}
	return limit, err
}

func scaled(text, suffix string, factor float64) (float64, error) {
	number, has := strings.CutSuffix(text, suffix)
	value, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", text)
	}
	if has {
		value *= factor
	}
	return value, nil
}

// Limits are limits other than the defaults.
type Limits map[Code]Limit

// Judges reports whether a rule is switched on.
func (l Limits) Judges(code Code) bool { return !l[code].Off }

// Limit replaces the default of a rule, or switches the rule off.
type Limit struct {
	Value float64 // in the rule's unit
	Off   bool
}

// ParseLimits reads CODE=value and CODE=off, such as error_rate=5%.
func ParseLimits(texts []string) (Limits, error) {
	limits := Limits{}
	for _, text := range texts {
		name, value, _ := strings.Cut(text, "=")
		rule, err := terminal.Named(Rules(), func(r Rule) string { return string(r.Code) }, name)
		if err != nil {
			return nil, err
		}
		if _, twice := limits[rule.Code]; twice {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		if value == "off" {
			limits[rule.Code] = Limit{Off: true}
			continue
		}
		number, err := rule.Unit.parse(value)
		if err != nil {
			return nil, fmt.Errorf("%s=%s is no limit: %w", name, value, err)
		}
		limits[rule.Code] = Limit{Value: number}
	}
	return limits, nil
}

// verdict is the result of a rule for a run. A rule whose input is unknown was not checked.
type verdict struct {
	known bool
	bad   string // what is wrong, with figures; empty if the run passes
}

// judgement is the result of the whole table.
type judgement struct {
	reasons  []Reason
	checked  []string
	warnings []string
}

// judge applies every rule. A check is listed as checked when each rule under it was applied, except those that were
// switched off, which are warned about.
func judge(e grounds, limits Limits) judgement {
	j := judgement{reasons: []Reason{}, checked: []string{}}
	unknown := map[string]bool{}
	for _, rule := range Rules() {
		own, given := limits[rule.Code]
		if own.Off {
			j.warnings = append(j.warnings, fmt.Sprintf("%s was not judged: switched off by --validity", rule.Code))
			continue
		}
		limit := rule.Limit
		if given {
			limit = own.Value
			j.warnings = append(j.warnings, fmt.Sprintf("%s was judged by %s instead of %s", rule.Code, rule.Unit.format(limit), rule.Unit.format(rule.Limit)))
		}
		v := rule.judge(e, limit)
		if !v.known {
			unknown[rule.Check] = true
		} else if !slices.Contains(j.checked, rule.Check) {
			j.checked = append(j.checked, rule.Check)
		}
		if v.known && v.bad != "" {
			j.reasons = append(j.reasons, Reason{rule.Code, v.bad})
		}
	}
	j.checked = slices.DeleteFunc(j.checked, func(check string) bool { return unknown[check] })
	return j
}
