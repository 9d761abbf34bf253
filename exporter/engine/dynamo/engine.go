// Package dynamo has all that is known of Dynamo: its frontend, its workers and its KV block manager.
package dynamo

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// Engine describes Dynamo. A worker passes the series of its engine through.
func Engine() spec.Engine {
	return spec.Engine{
		Name: "dynamo", Title: "Dynamo",
		Metrics: spec.Metrics{
			Forms: []spec.Form{
				{Prefix: FrontendPrefix, Labels: labels(), Read: readFrontend},
				{Prefix: WorkerPrefix, Labels: labels(), Read: readWorker},
			},
			Around: &spec.Around{
				Labels:   []string{"dynamo_namespace", LabelComponent, LabelEndpoint, LabelWorker},
				Complete: completeFromWorker,
			},
			Cache: &spec.CacheCounters{
				Prompt: InputTokensSum, Begun: InputTokensCount, Found: []string{CachedTokensSum}, Ended: CachedTokensCount,
			},
			TransferPrefixes: []string{"kvbm_", "dynamo_kvbm_"},

			ContextGauge: ModelContext, BlockGauge: ModelBlockSize,
			Sizes: []string{ModelBlocks, ModelBlockSize, WorkerRegistered}, Size: size,
		},
		Identity: spec.Identity{
			Owners: []string{"nvidia"}, Title: title, Traits: []spec.Trait{{Path: "/health", Costly: true, Shows: listsWorkers}},
			About: &spec.About{Path: spec.OpenAPIPath, Read: about},
		},
		CommandLine: commandLine(),
		LogTiers:    tiers,
		// lib/llm/src/protocols/openai: common_ext.rs and validate.rs, which refuse any other field.
		Request: &spec.Request{
			Source:  "lib/llm/src/protocols/openai: common_ext.rs, validate.rs",
			ChatCap: spec.MaxCompletionTokens,
			Both:    []string{spec.IgnoreEOS, spec.MinTokens}, Newer: []string{spec.ContinuousUsage, spec.CacheSalt},
		},
		Wording: spec.Wording{
			NoModel: []string{"Model not found", "Model `m` is not ready to serve requests yet; Service temporarily unavailable"},
		},
		Programs:  []spec.Program{{Command: "dynamo.frontend", Flag: "--http-port", Variable: httpPort, Port: 8000}}, // 1.6.1
		Ports:     ports,
		Variables: append([]string{httpPort, systemPort, kvbmPort}, kvbmSizes()...),
	}
}

// title is in the title of the description of the frontend's API.
const title = "Dynamo"

// labels are the labels of the pages.
func labels() spec.Labels {
	return spec.Labels{
		Replica: []string{LabelComponent, LabelWorker, LabelRank},
		Others:  []string{spec.LabelModel, spec.LabelModelName, LabelRouterWorker},
	}
}

// about reads the description of an API, which may be another server's. A worker has none.
func about(body []byte) (spec.Facts, error) {
	var answer struct {
		Info struct{ Title, Version string }
	}
	if err := json.Unmarshal(body, &answer); err != nil || !strings.Contains(answer.Info.Title, title) {
		return spec.Facts{}, err
	}
	return spec.Facts{Version: answer.Info.Version}, nil
}

// Variables of the environment that move ports.
const (
	httpPort   = "DYN_HTTP_PORT"
	systemPort = "DYN_SYSTEM_PORT"
	kvbmPort   = "DYN_KVBM_METRICS_PORT"
)

// kvbmSizes are the variables that turn on a tier of KVBM.
func kvbmSizes() []string { return []string{"DYN_KVBM_CPU_CACHE_GB", "DYN_KVBM_DISK_CACHE_GB"} }

// defaultKVBMPort is the default port of KVBM's page (kvbm 1.4.2).
const defaultKVBMPort = 6880

// ports are those of the page of a worker, and of KVBM's page, in whose process there is no server program: the engine
// loads it. A block manager (kvbm 1.4.2) stops working after one GET to its ZMQ socket.
func ports(command string, environ map[string]string) []uint16 {
	var found []uint16
	if strings.HasPrefix(command, "dynamo.") {
		if port, given := parsePort(environ[systemPort]); given {
			found = append(found, port)
		}
	}
	on := slices.ContainsFunc(kvbmSizes(), func(name string) bool { return environ[name] != "" })
	if text, set := environ[kvbmPort]; set {
		if port, given := parsePort(text); given {
			found = append(found, port)
		}
	} else if on {
		found = append(found, defaultKVBMPort)
	}
	return found
}

func parsePort(text string) (uint16, bool) {
	port, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
	return uint16(port), err == nil && port > 0
}

// listsWorkers recognizes the workers that the frontend lists, also while it has none:
//
//	{"status":"healthy","endpoints":["dyn://dynamo.backend.generate"],"instances":[{"component":"backend","instance_id":7}]}
func listsWorkers(_ int, body []byte) string {
	var listed struct {
		Endpoints []string         `json:"endpoints"`
		Instances []map[string]any `json:"instances"`
	}
	if json.Unmarshal(body, &listed) == nil && (listed.Endpoints != nil || listed.Instances != nil) {
		return "/health lists workers"
	}
	return ""
}
