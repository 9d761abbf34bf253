// Package supported lists the engines that are known, each described by a package of its own.
package supported

import (
	"github.com/umascope/umascope/exporter/engine/dynamo"
	"github.com/umascope/umascope/exporter/engine/llamacpp"
	"github.com/umascope/umascope/exporter/engine/lmcache"
	"github.com/umascope/umascope/exporter/engine/mooncake"
	"github.com/umascope/umascope/exporter/engine/nixl"
	"github.com/umascope/umascope/exporter/engine/ollama"
	"github.com/umascope/umascope/exporter/engine/sglang"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/trtllm"
	"github.com/umascope/umascope/exporter/engine/vllm"
)

// Engines lists them in the order in which people see them.
func Engines() spec.Engines {
	return spec.Engines{
		vllm.Engine(), sglang.Engine(), trtllm.Engine(), llamacpp.Engine(), dynamo.Engine(), lmcache.Engine(), mooncake.Engine(), nixl.Engine(),
		ollama.Engine(),
	}
}
