package sim_test

import (
	"fmt"
	"log"
	"time"

	"github.com/umascope/umascope/exporter/sim"
)

// An engine runs in a container, reads its image and its model, and ends. The next one finds what it has
// read missing in what CUDA calls free, though none of it is in use.
func Example() {
	host, err := sim.New(sim.Config{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()
	const weights, rate = "overlay copy of the weights", 5 << 30
	if err := host.AddFile(weights, 40<<30); err != nil {
		log.Fatal(err)
	}
	before := host.CUDAFreeBytes()

	engine, err := host.Start(sim.Program{Comm: "trtllm-serve", Cgroup: "/system.slice/docker-5c1d.scope", Threads: 60})
	if err != nil {
		log.Fatal(err)
	}
	engine.Demand(sim.Demand{DeviceBytes: 45 << 30, CPUs: 4, Read: sim.FileTransfer{File: weights, BytesPerSecond: rate}})
	host.Advance(10 * time.Second)
	fmt.Println("left to load:", engine.Status().ReadLeftBytes)
	engine.Stop()

	fmt.Println("GiB less that CUDA calls free:", (before-host.CUDAFreeBytes())>>30)
	host.DropCaches()
	fmt.Println("after drop_caches:", max(0, (before-host.CUDAFreeBytes())>>30))
	// Output:
	// left to load: 0
	// GiB less that CUDA calls free: 40
	// after drop_caches: 0
}
