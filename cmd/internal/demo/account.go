package demo

import (
	"maps"
	"slices"
	"time"
)

// account is the ground truth of one engine start: the memory of the simulated machine at the moment at which the
// engine sized its KV cache. No program of the project reads it: their figures are compared with it.
type account struct {
	arm string
	at  time.Time
	// freeBytes is MemFree, kvBytes the part of it that the engine took for its KV cache, and occupiedWithoutKVBytes
	// the pool minus freeBytes.
	freeBytes, kvBytes, occupiedWithoutKVBytes int64
	cachedBytes                                map[string]int64 // page cache by file
	// shmemBytes is the engine's shared memory, deviceBytes its weights and workspaces, pinnedBytes its tier in the host's
	// memory.
	shmemBytes, deviceBytes, pinnedBytes int64
}

// accounts returns the accounts of all starts, in order.
func (s *stage) accounts() []account {
	s.inference.accounting.Lock()
	defer s.inference.accounting.Unlock()
	all := slices.Clone(s.inference.accounts)
	for i := range all {
		all[i].cachedBytes = maps.Clone(all[i].cachedBytes)
	}
	return all
}

// note records the account of a start whose engine sizes its KV cache now, and returns the free bytes of which it takes kvShare.
func (i *inference) note() (freeBytes int64) {
	memory, has := i.host.Truth(), i.process.Status()
	free := memory.FreeBytes
	if i.kvBytes > 0 {
		free = min(free, int64(float64(i.kvBytes)/kvShare))
	}
	a := account{
		arm: i.arm.name, at: i.host.Now(), freeBytes: memory.FreeBytes,
		kvBytes:                int64(kvShare*float64(free)) / blockBytes * blockBytes,
		occupiedWithoutKVBytes: memory.PoolBytes - memory.FreeBytes, cachedBytes: memory.CachedBytes,
		shmemBytes: has.ShmemBytes, deviceBytes: has.DeviceBytes, pinnedBytes: has.PinnedBytes,
	}
	i.accounting.Lock()
	defer i.accounting.Unlock()
	i.accounts = append(i.accounts, a)
	return free
}
