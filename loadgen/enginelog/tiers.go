package enginelog

import (
	"github.com/umascope/umascope/exporter/engine/spec"
)

// Tiers is what the log of an engine has of the tiers of its KV cache below the device.
type Tiers = spec.Tiers
