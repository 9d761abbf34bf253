package sim

import (
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/collector"
)

// BenchmarkHour moves a machine under load on by an hour.
func BenchmarkHour(b *testing.B) {
	host := play(b, 1, time.Second)
	for b.Loop() {
		host.Advance(time.Hour)
	}
}

// BenchmarkDemand is what following an engine costs the engine.
func BenchmarkDemand(b *testing.B) {
	host := newHost(b, Config{})
	p := start(b, host, "engine", container)
	for b.Loop() {
		p.Demand(Demand{DeviceBytes: gib, BusyRatio: 0.5})
	}
}

// BenchmarkMemory reads what the ledger is made of.
func BenchmarkMemory(b *testing.B) {
	host := play(b, 1, time.Second).Collect()
	defer host.GPU.Close()
	for b.Loop() {
		if _, err := collector.NewSample(host, collector.Options{}).Memory(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSnapshot copies a machine.
func BenchmarkSnapshot(b *testing.B) {
	host := play(b, 1, time.Second)
	for b.Loop() {
		host.Snapshot().GPU.Close()
	}
}
