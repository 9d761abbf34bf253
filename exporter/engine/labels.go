package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// labelRoles are the labels that an engine writes on its series, by meaning. A label that is in neither list was added
// by something else: the client library (pid), a proxy or a scraper (instance, server).
type labelRoles struct {
	// replica are the labels that number the replicas of the engine: gauges that differ in them add up.
	replica []string
	// others split a count, name the model, or number ranks that see the same requests.
	others []string
}

func vllmLabels() labelRoles {
	return labelRoles{
		[]string{metric.ForeignVLLMLabelEngine},
		[]string{metric.ForeignLabelModelName, metric.ForeignVLLMLabelTokenSource, metric.ForeignVLLMLabelPosition, metric.ForeignVLLMLabelTransfer},
	}
}

func sglangLabels() labelRoles {
	return labelRoles{
		[]string{metric.ForeignSGLangLabelReplica},
		append([]string{metric.ForeignLabelModelName, metric.ForeignLabelEngineType, metric.ForeignSGLangLabelPriority, metric.ForeignSGLangLabelPhase,
			metric.ForeignSGLangLabelCacheSource}, sglangRanks()...),
	}
}

// sglangRanks number the processes of one replica, each on a GPU of its own.
func sglangRanks() []string {
	return []string{metric.ForeignSGLangLabelTensorRank, metric.ForeignSGLangLabelPipelineRank, metric.ForeignSGLangLabelExpertRank}
}

func tensorRTLLMLabels() labelRoles {
	return labelRoles{nil, []string{
		metric.ForeignLabelModelName, metric.ForeignLabelEngineType, metric.ForeignTensorRTLLMLabelFinish, metric.ForeignTensorRTLLMLabelPosition,
		metric.ForeignTensorRTLLMLabelCacheLevel, metric.ForeignTensorRTLLMLabelCacheTier,
	}}
}

func llamaLabels() labelRoles { return labelRoles{nil, []string{metric.ForeignLlamaCPPLabelPosition}} }

func dynamoLabels() labelRoles {
	return labelRoles{
		[]string{metric.ForeignDynamoLabelComponent, metric.ForeignDynamoLabelWorker, metric.ForeignDynamoLabelRank},
		[]string{metric.ForeignLabelModel, metric.ForeignLabelModelName, metric.ForeignDynamoLabelRouterWorker},
	}
}

func lmcacheLabels() labelRoles {
	return labelRoles{[]string{metric.ForeignDynamoLabelWorker}, []string{metric.ForeignLabelModelName}}
}

// replicaOf returns a key of the replica that a series belongs to.
func (r labelRoles) replicaOf(one Series) string {
	var key strings.Builder
	for _, label := range r.replica {
		key.WriteString(one.Labels[label] + "\xff")
	}
	return key.String()
}

// separating names the labels, other than a replica's, in which series differ.
func (r labelRoles) separating(series []Series) string {
	names := map[string]bool{}
	for _, one := range series {
		for _, labels := range []map[string]string{one.Labels, series[0].Labels} {
			for name := range labels {
				if one.Labels[name] != series[0].Labels[name] && !slices.Contains(r.replica, name) {
					names[shortText(name)] = true
				}
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// maxUnknownLabels is the maximum number of unknown labels that are named.
const maxUnknownLabels = 20

// unknown lists the labels on these families that the engine does not write. The labels of an info family are values,
// not identity. A Dynamo worker adds its own labels to the series that it passes through.
func (r labelRoles) unknown(page Page, families []string) []string {
	known := slices.Concat(r.replica, r.others, metric.ForeignDynamoAddedLabels())
	names := map[string]bool{}
	for _, family := range families {
		if strings.HasSuffix(family, "_info") {
			continue
		}
		for _, one := range slices.Concat(page.Series(family), page.Series(family+"_sum")) {
			for name, value := range one.Labels {
				if value != "" && !slices.Contains(known, name) {
					names[shortText(name)] = true
				}
			}
		}
	}
	found := slices.Sorted(maps.Keys(names))
	return found[:min(len(found), maxUnknownLabels)]
}
