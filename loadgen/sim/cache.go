package sim

import "slices"

// cacheConfig is the size of the tiers, in blocks. 0 turns a tier off; without the host the disk is
// written from the device directly.
type cacheConfig struct {
	Device, Host, Disk int
	// Filter keeps blocks from the disk until they were requested twice.
	Filter bool
}

// cacheMoves counts blocks, since the cache was made.
type cacheMoves struct {
	DeviceToHost, HostToDisk, DeviceToDisk  int64 // copied down
	HostToDevice, DiskToDevice              int64 // brought back
	DroppedDevice, DroppedHost, DroppedDisk int64 // evicted
}

// cacheHits are the tiers in which the blocks of one prefix were found.
type cacheHits struct {
	Device, Host, Disk int
	// FromDisk is how many of these blocks were read from the disk, now or before they were found
	// on the device.
	FromDisk int
}

// Blocks returns how many blocks were found.
func (h cacheHits) Blocks() int { return h.Device + h.Host + h.Disk }

// block is a block on the device.
type block struct {
	key      uint64
	keyed    bool // it is complete and can be found by its key
	fromDisk bool
	holders  int
}

// cacheLease is the blocks that one sequence holds on the device, in the order of its tokens.
type cacheLease struct{ blocks []*block }

// Blocks returns how many it holds.
func (l *cacheLease) Blocks() int { return len(l.blocks) }

// blockCache is the three tiers. It is not safe for use from several goroutines.
type blockCache struct {
	config     cacheConfig
	device     map[uint64]*block // complete blocks, held or idle
	idle       *recency          // keys of unheld blocks
	host, disk *recency
	seen       frequency
	held       int // held blocks on the device
	moves      cacheMoves
}

// newCache returns an empty cache.
func newCache(config cacheConfig) *blockCache {
	return &blockCache{
		config: config, device: map[uint64]*block{}, idle: newRecency(), host: newRecency(), disk: newRecency(),
		seen: frequency{counts: map[uint64]uint32{}},
	}
}

// Moves returns the counts of moved blocks.
func (c *blockCache) Moves() cacheMoves { return c.moves }

// Held returns how many blocks of the device are held; with Room it adds up to all blocks.
func (c *blockCache) Held() int { return c.held }

// Room returns how many blocks of the device are available: empty ones and idle ones.
func (c *blockCache) Room() int { return c.config.Device - c.held }

// Stored returns how many blocks each tier keeps under a key.
func (c *blockCache) Stored() (device, host, disk int) {
	return len(c.device), c.host.len(), c.disk.len()
}

// Find returns the tiers of the longest cached prefix of these keys, without changing the cache. Each block counts for
// the fastest tier that has it; the prefix ends at the first block that is in no tier.
func (c *blockCache) Find(keys []uint64) cacheHits {
	var hits cacheHits
	for _, key := range keys {
		b, onDevice := c.device[key]
		switch {
		case onDevice:
			hits.Device++
			if b.fromDisk {
				hits.FromDisk++
			}
		case c.host.has(key):
			hits.Host++
		case c.disk.has(key):
			hits.Disk++
			hits.FromDisk++
		default:
			return hits
		}
	}
	return hits
}

// idleAmong returns how many blocks of the found prefix are on the device and unheld: holding them takes room too.
func (c *blockCache) idleAmong(keys []uint64) int {
	idle := 0
	for _, key := range keys {
		if c.idle.has(key) {
			idle++
		}
	}
	return idle
}

// Acquire takes so many blocks of the device for a sequence, including the cached prefix of keys, brought back from the
// lower tiers if necessary; extra blocks have to remain available. It returns false, and changes nothing, if there is
// no room.
func (c *blockCache) Acquire(keys []uint64, blocks, extra int) (*cacheLease, cacheHits, bool) {
	hits := c.Find(keys)
	prefix := keys[:hits.Blocks()]
	fresh := max(0, blocks-hits.Device)
	if fresh+c.idleAmong(prefix)+extra > c.Room() {
		return nil, cacheHits{}, false
	}
	lease := &cacheLease{blocks: make([]*block, len(prefix), max(blocks, len(prefix)))}
	// Blocks on the device are held first, so that they are not evicted for the others.
	for i, key := range prefix {
		if b, ok := c.device[key]; ok {
			c.hold(b)
			lease.blocks[i] = b
		}
	}
	for i, key := range prefix {
		if lease.blocks[i] == nil {
			lease.blocks[i] = c.bringBack(key)
		}
	}
	for len(lease.blocks) < blocks {
		lease.blocks = append(lease.blocks, c.empty())
	}
	c.wanted(prefix)
	return lease, hits, true
}

func (c *blockCache) hold(b *block) {
	if b.holders == 0 {
		c.idle.remove(b.key)
		c.held++
	}
	b.holders++
}

// empty returns a block without content; if necessary it evicts the one that was idle longest. There has to be room.
func (c *blockCache) empty() *block {
	if c.held+c.idle.len() >= c.config.Device {
		delete(c.device, c.idle.dropOldest())
		c.moves.DroppedDevice++
	}
	c.held++
	return &block{holders: 1}
}

// bringBack copies a block from the host, else from the disk, to the device.
func (c *blockCache) bringBack(key uint64) *block {
	b := c.empty()
	b.key, b.keyed = key, true
	c.device[key] = b
	if c.host.has(key) {
		c.moves.HostToDevice++
	} else {
		b.fromDisk = true
		c.moves.DiskToDevice++
	}
	return b
}

// wanted reports to the lower tiers that a prefix was used again. The last block comes first: a prefix is useful from
// its beginning only, so its end is evicted first. Blocks that the host has lost are not copied to it again: KVBM
// offloads computed blocks, not found ones.
func (c *blockCache) wanted(prefix []uint64) {
	for _, key := range slices.Backward(prefix) {
		c.host.touch(key)
		c.disk.touch(key)
		if c.config.Host == 0 || c.host.has(key) {
			c.offerDisk(key)
		}
	}
}

// Grow takes one more block for a sequence; false if there is no room.
func (c *blockCache) Grow(lease *cacheLease) bool {
	if c.Room() == 0 {
		return false
	}
	lease.blocks = append(lease.blocks, c.empty())
	return true
}

// Complete marks block i of the lease as computed, up to the prefix with that key. From now on Find returns it, and the
// lower tiers get their copy. If another sequence completed the key first, its block is the one that is found.
func (c *blockCache) Complete(lease *cacheLease, i int, key uint64) {
	b := lease.blocks[i]
	if b.keyed {
		return
	}
	if _, taken := c.device[key]; !taken {
		b.key, b.keyed = key, true
		c.device[key] = b
	}
	c.offer(key)
}

// offer writes a complete block to the tiers below the device that do not have it.
func (c *blockCache) offer(key uint64) {
	if c.config.Host > 0 && !c.host.has(key) {
		c.moves.DroppedHost += c.host.put(key, c.config.Host)
		c.moves.DeviceToHost++
	}
	c.offerDisk(key)
}

// offerDisk writes a block to the disk if the filter admits it and it is not there yet.
func (c *blockCache) offerDisk(key uint64) {
	if c.config.Disk == 0 {
		return
	}
	if uses := c.seen.use(key); c.disk.has(key) || c.config.Filter && uses < 2 {
		return
	}
	c.moves.DroppedDisk += c.disk.put(key, c.config.Disk)
	if c.config.Host > 0 {
		c.moves.HostToDisk++
	} else {
		c.moves.DeviceToDisk++
	}
}

// Release frees all blocks of a sequence. Complete blocks stay idle, the last of them the first to be evicted; the
// others are empty.
func (c *blockCache) Release(lease *cacheLease) {
	for _, b := range slices.Backward(lease.blocks) {
		b.holders--
		if b.holders > 0 {
			continue
		}
		c.held--
		if b.keyed {
			c.idle.touchOrPut(b.key)
		}
	}
	lease.blocks = nil
}

// Forget drops all unheld blocks on the device (vLLM: reset_prefix_cache, SGLang: flush_cache). The lower tiers keep
// theirs.
func (c *blockCache) Forget() {
	for c.idle.len() > 0 {
		delete(c.device, c.idle.dropOldest())
		c.moves.DroppedDevice++
	}
}

// Since returns the moves after an earlier count.
func (m cacheMoves) Since(earlier cacheMoves) cacheMoves {
	return cacheMoves{
		DeviceToHost: m.DeviceToHost - earlier.DeviceToHost, HostToDisk: m.HostToDisk - earlier.HostToDisk,
		DeviceToDisk: m.DeviceToDisk - earlier.DeviceToDisk, HostToDevice: m.HostToDevice - earlier.HostToDevice,
		DiskToDevice: m.DiskToDevice - earlier.DiskToDevice, DroppedDevice: m.DroppedDevice - earlier.DroppedDevice,
		DroppedHost: m.DroppedHost - earlier.DroppedHost, DroppedDisk: m.DroppedDisk - earlier.DroppedDisk,
	}
}

// DiskWrites returns how many blocks were written to the disk.
func (m cacheMoves) DiskWrites() int64 { return m.HostToDisk + m.DeviceToDisk }
