package sim

// Truth is the ground truth of the model, which a machine does not show: what an analysis of the machine should find.
type Truth struct {
	// PoolBytes is the memory of the machine, FreeBytes what CUDA calls free of it.
	PoolBytes, FreeBytes int64
	// GPUHeldBytes is what the driver holds for processes, charged to no cgroup.
	GPUHeldBytes int64
	// UnattributedBytes is what the ledger cannot attribute: buffers of firmware and cards, the driver's pools, memory
	// of sockets and of vmalloc. Under PinnedIsSharedMemory, too, each byte is in one line only.
	UnattributedBytes int64
	// PooledBytes is device memory that was freed and that the driver keeps; part of UnattributedBytes.
	PooledBytes int64
	// DirtyBytes is what has been written by processes and not to the drive yet.
	DirtyBytes int64
	// EndedReadBytes and EndedWrittenBytes are what processes read and wrote that have ended.
	EndedReadBytes, EndedWrittenBytes int64
	// SwappedOutBytes has been written to swap since boot.
	SwappedOutBytes int64
	// Refusals are allocations of the driver that failed, Kills processes that were killed for memory.
	Refusals, Kills int64
	// CachedBytes is what is in the page cache of files that were added, by name.
	CachedBytes map[string]int64
	// PowerWatts is what the GPU takes, EnergyJoules what it has taken since its driver was loaded, DieCelsius its
	// temperature.
	PowerWatts, EnergyJoules, DieCelsius float64
}

// Truth returns the ground truth now.
func (h *Host) Truth() Truth {
	h.mu.RLock()
	defer h.mu.RUnlock()
	m := h.machine
	total := &m.root.memory
	t := Truth{
		PoolBytes: m.pool * pageBytes, FreeBytes: m.free * pageBytes,
		GPUHeldBytes:      m.driverPages * pageBytes,
		UnattributedBytes: (unnamedPages + m.pooled + total[sock] + total[vmalloc]) * pageBytes,
		PooledBytes:       m.pooled * pageBytes, DirtyBytes: total[fileDirty] * pageBytes,
		EndedReadBytes: m.ended.read, EndedWrittenBytes: m.ended.written,
		SwappedOutBytes: m.counts.swappedOut * pageBytes,
		Refusals:        m.counts.refusals, Kills: m.counts.kills,
		CachedBytes: map[string]int64{},
		PowerWatts:  float64(m.gpu.power) / 1e3, EnergyJoules: float64(m.gpu.energy) / 1e6, DieCelsius: float64(m.heat.die) / 1e6,
	}
	for _, e := range m.cache {
		if !e.file.own {
			t.CachedBytes[e.file.name] += e.pages * pageBytes
		}
	}
	return t
}
