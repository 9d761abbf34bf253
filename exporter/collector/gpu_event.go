package collector

import (
	"strconv"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

// emitXIDErrors adds every code that needs action, from 0 on, so that the first error is an increase; all other codes
// are one sum.
func emitXIDErrors(batch *Batch, d nvml.Device) {
	if d.XIDErrors == nil {
		return
	}
	var other uint64
	for _, count := range d.XIDErrors {
		other += count
	}
	for _, xid := range metric.KnownXIDs() {
		count := d.XIDErrors[xid.Code]
		other -= count
		batch.Counter(metric.GPUXIDErrorsTotal, float64(count), d.UUID, strconv.FormatUint(xid.Code, 10))
	}
	batch.Counter(metric.GPUXIDErrorsTotal, float64(other), d.UUID, metric.XIDOther)
}
