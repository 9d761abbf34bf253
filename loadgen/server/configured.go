package server

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/umascope/umascope/loadgen/openai"
)

// Limits of the engine settings that are kept.
const (
	mostSettings   = 64
	longestSetting = 200 // bytes of a value
)

// configured reads the engine's settings, under the engine's own names: from the labels of a series, or from members of a
// JSON object. A user may choose openai for an engine whose fields are plain. It returns nil if there are none.
func (a *api) configured(ctx context.Context, engine string) map[string]string {
	var reported map[string]string
	for _, e := range a.known {
		plain := engine == openai.EngineOpenAI && e.Request != nil && e.Request.Plain
		if e.Name != engine && !plain {
			continue
		}
		if info := e.Settings.Info; info != "" {
			reported = infoLabels(a.fetch(ctx, metricsPath).okBody(), info)
		}
		for _, path := range e.Settings.Paths {
			if reported = members(a.fetch(ctx, path).okBody(), e.Settings.Members); reported != nil {
				break
			}
		}
	}
	for name, value := range reported {
		reported[name] = a.secrets.Text(value)
	}
	return reported
}

// infoLabels reads the labels of the series with that name from a page of metrics, which describe a configuration,
// such as
//
//	vllm:cache_config_info{block_size="16",enable_prefix_caching="True",engine="0",num_gpu_blocks="573"} 1.0
//
// For several engines behind one page it lists the values that differ.
func infoLabels(page []byte, name string) map[string]string {
	var reported map[string]string
	for _, series := range labelled(page, name) {
		for _, label := range series.GetLabel() {
			reported = keep(reported, label.GetName(), label.GetValue())
		}
	}
	return reported
}

// labelled returns the series of a page that have that name and labels, without their type.
func labelled(page []byte, name string) []*dto.Metric {
	var found []*dto.Metric
	parser := expfmt.NewTextParser(model.UTF8Validation)
	for line := range bytes.Lines(page) {
		if !bytes.HasPrefix(line, []byte(name+"{")) {
			continue
		}
		families, err := parser.TextToMetricFamilies(bytes.NewReader(append(bytes.TrimRight(line, "\r\n"), '\n')))
		if err == nil {
			found = append(found, families[name].GetMetric()...)
		}
	}
	return found
}

// members reads members of a JSON object by name, without those that are null, such as
//
//	{"tp_size":1,"page_size":16,"quantization":null,"api_key":"…"}
func members(body []byte, names []string) map[string]string {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return nil
	}
	var reported map[string]string
	for _, name := range names {
		value := string(object[name])
		if text := new(string); json.Unmarshal(object[name], text) == nil {
			value = *text // null leaves it empty
		}
		if value != "" {
			reported = keep(reported, name, value)
		}
	}
	return reported
}

// keep adds a value to the values of a setting.
func keep(reported map[string]string, name, value string) map[string]string {
	if reported == nil {
		reported = map[string]string{}
	}
	name, value = openai.Printable(name, longestSetting), openai.Printable(value, longestSetting)
	before, known := reported[name]
	switch {
	case name == "" || !known && len(reported) >= mostSettings:
	case !known:
		reported[name] = value
	case !slices.Contains(strings.Split(before, ", "), value):
		reported[name] = openai.Printable(before+", "+value, longestSetting)
	}
	return reported
}
