package runner

import (
	"slices"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
)

// machines returns what the last samples of the exporters show.
func (s *Capture) machines() []Machine {
	if s.sampler == nil {
		return nil
	}
	var all []Machine
	s.sampler.Latest(func(source, family string, labels map[string]string, value float64) {
		i := slices.IndexFunc(all, func(m Machine) bool { return m.Host == source })
		if i < 0 {
			i, all = len(all), append(all, Machine{Host: source})
		}
		all[i].take(family, labels, value)
	})
	for i := range all {
		m := &all[i]
		if free, known := m.LedgerBytes.Free(); known && m.PoolBytes != nil {
			m.OccupiedBytes = new(*m.PoolBytes - free)
		}
	}
	return all
}

// take adds the value of a series.
func (m *Machine) take(family string, labels map[string]string, value float64) {
	add := func(to **float64) {
		if *to == nil {
			*to = new(0.0)
		}
		**to += value
	}
	switch family {
	case metric.ExporterMode.Def().Name:
		m.Mode = labels[string(metric.LabelMode)]
	case metric.MemoryPoolBytes.Def().Name:
		m.PoolBytes = &value
	case metric.MemoryAvailableBytes.Def().Name:
		m.AvailableBytes = &value
	case metric.MemoryLedgerBytes.Def().Name:
		if m.LedgerBytes == nil {
			m.LedgerBytes = ledger.Ledger{}
		}
		m.LedgerBytes[labels[string(metric.LabelLine)]] = value
	case metric.EngineKVCapacityBytes.Def().Name:
		add(&m.KVCacheBytes)
	case metric.GPUPowerWatts.Def().Name:
		add(&m.GPUWatts)
	case metric.GPUTemperatureCelsius.Def().Name:
		if m.GPUCelsius == nil || value > *m.GPUCelsius {
			m.GPUCelsius = &value
		}
	}
}
