package sim

import (
	"container/list"
	"slices"
)

// cacheConfig is the size of the tiers, in blocks. 0 turns a tier off; without the host the disk is
// written from the device directly.
type cacheConfig struct {
	Device, Host, Disk int
	// Filter keeps blocks from the disk until they were computed twice.
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

// blocks returns how many blocks were found.
func (h cacheHits) blocks() int { return h.Device + h.Host + h.Disk }

// block is a block on the device.
type block struct {
	key      uint64
	keyed    bool // it is complete and can be found by its key
	fromDisk bool
	holders  int
}

// cacheLease is the blocks that one sequence holds on the device, in the order of its tokens.
type cacheLease struct{ blocks []*block }

// blockCache is the three tiers. It is not safe for use from several goroutines.
type blockCache struct {
	config     cacheConfig
	device     map[uint64]*block // complete blocks, held or idle
	idle       *recency          // keys of unheld blocks
	host, disk *recency
	asked      map[uint64]bool // blocks that were computed, for the filter
	held       int             // held blocks on the device
	moves      cacheMoves
}

// newCache returns an empty cache.
func newCache(config cacheConfig) *blockCache {
	return &blockCache{
		config: config, device: map[uint64]*block{}, idle: newRecency(), host: newRecency(), disk: newRecency(),
		asked: map[uint64]bool{},
	}
}

// room returns how many blocks of the device are available: empty ones and idle ones.
func (c *blockCache) room() int { return c.config.Device - c.held }

// find returns the tiers of the longest cached prefix of these keys, without changing the cache. Each block counts for
// the fastest tier that has it; the prefix ends at the first block that is in no tier.
func (c *blockCache) find(keys []uint64) cacheHits {
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

// acquire takes so many blocks of the device for a sequence, including the cached prefix of keys, brought back from the
// lower tiers if necessary. It returns false, and changes nothing, if there is no room.
func (c *blockCache) acquire(keys []uint64, blocks int) (*cacheLease, cacheHits, bool) {
	hits := c.find(keys)
	prefix := keys[:hits.blocks()]
	fresh := max(0, blocks-hits.Device)
	if fresh+c.idleAmong(prefix) > c.room() {
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
// offloads computed blocks, not found ones. For the same reason the filter does not count a block that was found.
func (c *blockCache) wanted(prefix []uint64) {
	for _, key := range slices.Backward(prefix) {
		c.host.touch(key)
		c.disk.touch(key)
		if !c.config.Filter && (c.config.Host == 0 || c.host.has(key)) {
			c.offerDisk(key)
		}
	}
}

// grow takes one more block for a sequence; false if there is no room.
func (c *blockCache) grow(lease *cacheLease) bool {
	if c.room() == 0 {
		return false
	}
	lease.blocks = append(lease.blocks, c.empty())
	return true
}

// markComplete marks block i of the lease as computed, up to the prefix with that key. From now on find returns it, and
// the lower tiers get their copy. If another sequence completed the key first, its block is the one that is found.
func (c *blockCache) markComplete(lease *cacheLease, i int, key uint64) {
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
	again := c.asked[key]
	c.asked[key] = true
	if c.disk.has(key) || c.config.Filter && !again {
		return
	}
	c.moves.DroppedDisk += c.disk.put(key, c.config.Disk)
	if c.config.Host > 0 {
		c.moves.HostToDisk++
	} else {
		c.moves.DeviceToDisk++
	}
}

// release frees all blocks of a sequence. Complete blocks stay idle, the last of them the first to be evicted; the
// others are empty.
func (c *blockCache) release(lease *cacheLease) {
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

// since returns the moves after an earlier count.
func (m cacheMoves) since(earlier cacheMoves) cacheMoves {
	return cacheMoves{
		DeviceToHost: m.DeviceToHost - earlier.DeviceToHost, HostToDisk: m.HostToDisk - earlier.HostToDisk,
		DeviceToDisk: m.DeviceToDisk - earlier.DeviceToDisk, HostToDevice: m.HostToDevice - earlier.HostToDevice,
		DiskToDevice: m.DiskToDevice - earlier.DiskToDevice, DroppedDevice: m.DroppedDevice - earlier.DroppedDevice,
		DroppedHost: m.DroppedHost - earlier.DroppedHost, DroppedDisk: m.DroppedDisk - earlier.DroppedDisk,
	}
}

// diskWrites returns how many blocks were written to the disk.
func (m cacheMoves) diskWrites() int64 { return m.HostToDisk + m.DeviceToDisk }

// recency keeps keys in the order of their last use, the oldest first.
type recency struct {
	order *list.List
	place map[uint64]*list.Element
}

func newRecency() *recency { return &recency{list.New(), map[uint64]*list.Element{}} }

func (r *recency) len() int { return len(r.place) }

func (r *recency) has(key uint64) bool {
	_, ok := r.place[key]
	return ok
}

// touch makes a key the youngest, if it is present.
func (r *recency) touch(key uint64) {
	if element, ok := r.place[key]; ok {
		r.order.MoveToBack(element)
	}
}

// touchOrPut makes a key the youngest, and adds it if it is absent.
func (r *recency) touchOrPut(key uint64) {
	if r.has(key) {
		r.touch(key)
		return
	}
	r.place[key] = r.order.PushBack(key)
}

// put adds an absent key and returns how many keys were dropped so that there are at most most.
func (r *recency) put(key uint64, most int) (dropped int64) {
	for len(r.place) >= most {
		r.dropOldest()
		dropped++
	}
	r.place[key] = r.order.PushBack(key)
	return dropped
}

func (r *recency) remove(key uint64) {
	if element, ok := r.place[key]; ok {
		r.order.Remove(element)
		delete(r.place, key)
	}
}

// dropOldest removes the key that was not used for longest and returns it; there has to be one.
func (r *recency) dropOldest() uint64 {
	key := r.order.Remove(r.order.Front()).(uint64)
	delete(r.place, key)
	return key
}
