package main

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/alerts"
	"github.com/umascope/umascope/dashboards"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// A monitoring mixin is a jsonnet library that other people configure. jsonnet has no parser of PromQL, and a name cannot be
// replaced safely in a text: host is a value of other labels, too. So the mixin has the places of names as offsets, from
// expressions that are rendered with slots, and puts other names there.

// Slots in texts, and the text that stands in their place in the files of the checkout.
const (
	hostSlot, exportersSlot = '\uE000', '\uE001'
	ownHost, ownExporters   = "host", `job="uma-exporter"`
)

// mixinHead is the jsonnet that both mixins share.
const mixinHead = `// Written by uma-gen; change it there.
//
// places has the offsets at which the files beside this one name the label of the machine or the jobs of exporters, in the tree
// of the file; under the empty key are the keys that are the label itself. uma-gen knows them from the expressions. Names are
// not checked here: uma-gen --out refuses labels that series have already.
local named(text, places, names) =
  local own = [[name for name in std.objectFields(names) if std.substr(text, at, std.length(name)) == name] for at in places];
  assert std.all([std.length(found) == 1 for found in own]) : 'changed by hand: ' + text;
  local begins = [0] + [places[i] + std.length(own[i][0]) for i in std.range(0, std.length(places) - 1)];
  std.join('', [text[begins[i]:places[i]] + names[own[i][0]] for i in std.range(0, std.length(places) - 1)] + [text[begins[std.length(places)]:]]);
local renamed(value, places, names) =
  if std.isArray(places) then named(value, places, names)
  else if std.isArray(value) then std.mapWithIndex(function(i, one) if std.objectHas(places, '' + i) then renamed(one, places['' + i], names) else one, value)
  else {
    [if std.member(std.get(places, '', []), key) then names[key] else key]: if std.objectHas(places, key) then renamed(value[key], places[key], names) else value[key]
    for key in std.objectFields(value)
  };
`

// dashboardMixin renders dashboards/mixin.libsonnet.
func dashboardMixin() (file, error) {
	rendered, err := dashboards.FilesFor(dashboards.Settings{Names: expr.Slots(hostSlot, exportersSlot)})
	if err != nil {
		return file{}, err
	}
	var b, pages strings.Builder
	b.WriteString(mixinHead + "local places = {\n")
	for _, f := range rendered {
		if err := writePlaces(&b, f.Name, f.Content); err != nil {
			return file{}, err
		}
		fmt.Fprintf(&pages, "    '%[1]s': renamed(import '%[1]s', places['%[1]s'], { host: $._config.hostLabel }),\n", f.Name)
	}
	b.WriteString("};\n{\n  _config+:: { hostLabel: 'host' },\n  grafanaDashboards+:: {\n" + pages.String() + "  },\n}\n")
	return file{"dashboards/mixin.libsonnet", []byte(b.String())}, nil
}

// alertMixin renders alerts/mixin.libsonnet.
func alertMixin() (file, error) {
	rendered, err := alerts.FilesFor(alerts.Settings{Names: expr.Slots(hostSlot, exportersSlot)})
	if err != nil {
		return file{}, err
	}
	var b, groups strings.Builder
	b.WriteString(mixinHead + "local places = {\n")
	for _, f := range rendered {
		if path.Ext(f.Name) != ".yaml" { // the configuration of Alertmanager is no part of mixins
			continue
		}
		if err := writePlaces(&b, f.Name, f.Content); err != nil {
			return file{}, err
		}
		fmt.Fprintf(&groups, "    + groups(std.parseYaml(importstr '%[1]s'), places['%[1]s'], $._config)\n", f.Name)
	}
	b.WriteString(`};
local groups(file, places, config) = [
  group { rules: [if std.objectHas(rule, 'alert') then rule { labels+: config.alertLabels } else rule for rule in group.rules] }
  for group in renamed(file, places, { host: config.hostLabel, 'job="uma-exporter"': config.jobSelector }).groups
];
{
  _config+:: { hostLabel: 'host', jobSelector: 'job="uma-exporter"', alertLabels: {} },
  // Recordings stay in the groups of the alerts that read them: they are evaluated first there.
  prometheusAlerts+:: {
    groups+: []
` + groups.String() + "  },\n}\n")
	return file{"alerts/mixin.libsonnet", []byte(b.String())}, nil
}

// writePlaces writes the places of a file with slots as a field. JSON is YAML.
func writePlaces(b *strings.Builder, name string, content []byte) error {
	var tree any
	if err := yaml.Unmarshal(content, &tree); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	found := places(tree)
	if found == nil {
		found = map[string]any{}
	}
	written, err := json.Marshal(found)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(b, "  '%s': %s,\n", name, written)
	return nil
}

// places returns the offsets of slots in the texts of a tree, nil if it has none. Offsets are those in the file of the
// checkout, in characters.
func places(tree any) any {
	found := map[string]any{}
	add := func(key string, value any) {
		if in := places(value); in != nil {
			found[key] = in
		}
	}
	switch node := tree.(type) {
	case string:
		if offsets := offsets(node); len(offsets) > 0 {
			return offsets
		}
	case map[string]any:
		for key, value := range node {
			if key == string(hostSlot) {
				key, found[""] = ownHost, []string{ownHost}
			}
			add(key, value)
		}
	case []any:
		for i, value := range node {
			add(strconv.Itoa(i), value)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// offsets returns where in the text the names begin that stand for slots.
func offsets(text string) []int {
	var found []int
	at := 0
	for _, r := range text {
		switch r {
		case hostSlot:
			found = append(found, at)
			at += utf8.RuneCountInString(ownHost)
		case exportersSlot:
			found = append(found, at)
			at += utf8.RuneCountInString(ownExporters)
		default:
			at++
		}
	}
	return found
}
