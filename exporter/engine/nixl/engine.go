// Package nixl has all that is known of NIXL, which moves KV cache for other engines.
package nixl

import "github.com/umascope/umascope/exporter/engine/spec"

// Engine describes NIXL. Its page is read with the pages of KV block managers.
func Engine() spec.Engine {
	return spec.Engine{
		Name: "nixl", Title: "NIXL",
		Metrics: spec.Metrics{TransferPrefixes: []string{"agent_"}},
		CommandLine: spec.CommandLine{
			Source: "docs/telemetry.md of ai-dynamo/nixl at 8770b655", Prefixes: []string{"NIXL_"},
			Variables: []spec.Option{
				spec.Toggle("NIXL_TELEMETRY_ENABLE"), spec.Word("NIXL_TELEMETRY_EXPORTER"), spec.Number("NIXL_TELEMETRY_PROMETHEUS_PORT"),
			},
		},
	}
}
