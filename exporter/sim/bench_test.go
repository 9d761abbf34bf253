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
	defer host.Close()
	for b.Loop() {
		if _, err := collector.NewSample(host, collector.Options{}).Memory(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRefresh writes what has changed in a second.
func BenchmarkRefresh(b *testing.B) {
	host := play(b, 1, time.Second)
	collected := host.Collect()
	for b.Loop() {
		host.Advance(time.Second)
		if err := collected.Refresh(); err != nil {
			b.Fatal(err)
		}
	}
}
