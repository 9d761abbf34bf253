// Written by uma-gen; change it there.
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
local places = {
  'exporter.yaml': {"groups":{"0":{"rules":{"0":{"expr":[9,53,67,121,130,159,173,247,256]},"1":{"expr":[8,76,138,205]},"10":{"annotations":{"description":[11]},"expr":[9,109,135,206]},"2":{"expr":[8,36,77,110,151,168,183,232,251,346,373,440,460,501,518,533]},"3":{"expr":[8,36,75,108,149,166,181,230,249,344,371,436,456,497,514,529]},"4":{"annotations":{"description":[11]},"expr":[40,69,79,114,129,139]},"5":{"annotations":{"description":[11]},"expr":[40,70,94,151,166,184,226,242,266,323,338,356]},"6":{"expr":[10]},"7":{"annotations":{"description":[11]},"expr":[10,82,169,183,277]},"8":{"annotations":{"description":[11]},"expr":[50,73,118,137,397,420,465,484]},"9":{"annotations":{"description":[11]},"expr":[48,71,114,133,391,414,457,476]}}}}},
  'memory.yaml': {"groups":{"0":{"rules":{"0":{"annotations":{"description":[11]},"expr":[39,72,115,139,198,290,305,393,410,453,477,536,628,643,716,732,775,799,858]},"1":{"annotations":{"description":[11]},"expr":[39,69,112,136,195]},"2":{"annotations":{"description":[11]},"expr":[39,70,123,231]},"3":{"annotations":{"description":[11]},"expr":[39,70,113,137,197,213,282,306,365,380,448,472,533]},"4":{"annotations":{"description":[11]},"expr":[39,69,158]},"5":{"annotations":{"description":[11]},"expr":[39,68]},"6":{"annotations":{"description":[11]},"expr":[39,69,134]},"7":{"annotations":{"description":[11]},"expr":[39,68]},"8":{"annotations":{"description":[11]},"expr":[9,86]},"9":{"annotations":{"description":[11]},"expr":[39,71,157,172,213,228,280,295]}}}}},
  'container.yaml': {"groups":{"0":{"rules":{"0":{"annotations":{"description":[11]},"expr":[9,71]},"1":{"annotations":{"description":[11]},"expr":[10,106,142,181,204,332]}}}}},
  'gpu.yaml': {"groups":{"0":{"rules":{"0":{"expr":[8]},"1":{"expr":[8]},"10":{"annotations":{"description":[11]},"expr":[9,48]},"11":{"annotations":{"description":[11]},"expr":[9,59]},"12":{"annotations":{"description":[11]},"expr":[39,83,169,184,282,297,375,390,429,443,458]},"13":{"annotations":{"description":[11]},"expr":[9,113]},"14":{"annotations":{"description":[11]},"expr":[9,114]},"2":{"annotations":{"description":[11]},"expr":[63]},"3":{"annotations":{"description":[11]},"expr":[62]},"4":{"annotations":{"description":[11]},"expr":[10,60,81,143,166,222,242,305,325,382]},"5":{"annotations":{"description":[11]},"expr":[10,60,81,161,184,240,260,323,343,418]},"6":{"annotations":{"description":[11]},"expr":[55]},"7":{"annotations":{"description":[11]},"expr":[13,61,82,142,163,219,239,302,377]},"8":{"annotations":{"description":[11]},"expr":[14,68,96,111,153,255,269,284,340,359,457,476,662,716,744,759,801,903,917,932,988,1007,1105,1124]},"9":{"annotations":{"description":[11]},"expr":[9,140]}}}}},
  'nvme.yaml': {"groups":{"0":{"rules":{"0":{"expr":[8,73,96]},"1":{"expr":[8,74,97]},"10":{"annotations":{"description":[11]},"expr":[9,79]},"11":{"annotations":{"description":[11]},"expr":[9,72,98,172]},"12":{"annotations":{"description":[11]},"expr":[9,88]},"13":{"annotations":{"description":[11]},"expr":[9,126]},"2":{"expr":[9,74,96,163,187,250,272]},"3":{"expr":[8,71,93]},"4":{"expr":[8]},"5":{"expr":[8]},"6":{"expr":[54]},"7":{"annotations":{"description":[11]},"expr":[10,86,112,197,225,312,338,423]},"8":{"annotations":{"description":[11]},"expr":[10,86,112,198,226,313,339,425]},"9":{"annotations":{"description":[11]},"expr":[60,135]}}}}},
  'nvme-baseline.yaml': {"groups":{"0":{"rules":{"0":{"expr":[8,114,137]}}}}},
  'pcie.yaml': {"groups":{"0":{"rules":{"0":{"annotations":{"description":[11]},"expr":[9,63,97,156]},"1":{"annotations":{"description":[11]},"expr":[9,107]},"2":{"annotations":{"description":[11]},"expr":[9,115]}}}}},
  'service-baseline.yaml': {"groups":{"0":{"rules":{"0":{"expr":[8]}}}}},
  'service.yaml': {"groups":{"0":{"rules":{"0":{"expr":[10,25,68,85]},"1":{"expr":[8]},"2":{"annotations":{"description":[11]},"expr":[39,71,112,126,167,182,228,244,287,301,343,358,408,423,474,489]},"3":{"annotations":{"description":[11]},"expr":[39,70,111,125,166,181,232,247,294,310,353,367,409,424,475,490]},"4":{"annotations":{"description":[11]},"expr":[39,70,149,163,214,228]},"5":{"annotations":{"description":[11]},"expr":[10,115,129,179]}}}}},
  'run.yaml': {"groups":{"0":{"rules":{"0":{"annotations":{"description":[11]},"expr":[9,174]},"1":{"annotations":{"description":[11]},"expr":[14,108,127,232,625,719,738,843]}}}}},
  'result.yaml': {"groups":{"0":{"rules":{"0":{"expr":[9,661]},"2":{"expr":[65,121]},"3":{"expr":[13,214,486,539,591]},"4":{"expr":[13,209,476,529,581]},"5":{"expr":[8,44,237,423,476,528,721]},"6":{"annotations":{"description":[11]},"expr":[8,187]},"7":{"annotations":{"description":[11]},"expr":[8,193,481,552,745,1009,1062,1114]},"8":{"annotations":{"description":[11]},"expr":[8,132]}}}}},
  'comparison.yaml': {},
};
local groups(file, places, config) = [
  group { rules: [if std.objectHas(rule, 'alert') then rule { labels+: config.alertLabels } else rule for rule in group.rules] }
  for group in renamed(file, places, { host: config.hostLabel, 'job="uma-exporter"': config.jobSelector }).groups
];
{
  _config+:: { hostLabel: 'host', jobSelector: 'job="uma-exporter"', alertLabels: {} },
  // Recordings stay in the groups of the alerts that read them: they are evaluated first there.
  prometheusAlerts+:: {
    groups+: []
    + groups(std.parseYaml(importstr 'exporter.yaml'), places['exporter.yaml'], $._config)
    + groups(std.parseYaml(importstr 'memory.yaml'), places['memory.yaml'], $._config)
    + groups(std.parseYaml(importstr 'container.yaml'), places['container.yaml'], $._config)
    + groups(std.parseYaml(importstr 'gpu.yaml'), places['gpu.yaml'], $._config)
    + groups(std.parseYaml(importstr 'nvme.yaml'), places['nvme.yaml'], $._config)
    + groups(std.parseYaml(importstr 'nvme-baseline.yaml'), places['nvme-baseline.yaml'], $._config)
    + groups(std.parseYaml(importstr 'pcie.yaml'), places['pcie.yaml'], $._config)
    + groups(std.parseYaml(importstr 'service-baseline.yaml'), places['service-baseline.yaml'], $._config)
    + groups(std.parseYaml(importstr 'service.yaml'), places['service.yaml'], $._config)
    + groups(std.parseYaml(importstr 'run.yaml'), places['run.yaml'], $._config)
    + groups(std.parseYaml(importstr 'result.yaml'), places['result.yaml'], $._config)
    + groups(std.parseYaml(importstr 'comparison.yaml'), places['comparison.yaml'], $._config)
  },
}
