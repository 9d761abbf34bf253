package sim

import (
	"math/rand/v2"
	"testing"
)

// blockKeys returns the keys of n blocks that no other prompt has.
func blockKeys(name uint64, n int) []uint64 {
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = name<<32 | uint64(i)
	}
	return keys
}

// serveSequence runs one sequence to its end and returns what it found.
func serveSequence(t *testing.T, c *blockCache, keys []uint64) cacheHits {
	t.Helper()
	lease, hits, ok := c.acquire(keys, len(keys))
	if !ok {
		t.Fatalf("no room for %d blocks in %d", len(keys), c.room())
	}
	for i, key := range keys {
		c.markComplete(lease, i, key)
	}
	c.release(lease)
	check(t, c, nil)
	return hits
}

// check compares the cache's counts with its content.
func check(t *testing.T, c *blockCache, leases []*cacheLease) {
	t.Helper()
	holders := map[*block]int{}
	for _, lease := range leases {
		for _, b := range lease.blocks {
			holders[b]++
		}
	}
	if len(holders) != c.held {
		t.Fatalf("%d blocks are held, counted as %d", len(holders), c.held)
	}
	for b, n := range holders {
		if b.holders != n || b.keyed && c.device[b.key] != b {
			t.Fatalf("block %+v has %d holders", b, n)
		}
	}
	for key, b := range c.device {
		if b.key != key || !b.keyed || (b.holders == 0) != c.idle.has(key) || b.holders != holders[b] {
			t.Fatalf("block %+v is kept under %d, idle %v", b, key, c.idle.has(key))
		}
	}
	if c.held+c.idle.len() > c.config.Device || c.room() < 0 || c.host.len() > c.config.Host || c.disk.len() > c.config.Disk {
		t.Fatalf("held %d, idle %d, host %d, disk %d in %+v", c.held, c.idle.len(), c.host.len(), c.disk.len(), c.config)
	}
	m := c.moves
	if m.DeviceToHost-m.DroppedHost != int64(c.host.len()) || m.HostToDisk+m.DeviceToDisk-m.DroppedDisk != int64(c.disk.len()) {
		t.Fatalf("blocks got lost: %+v, host %d, disk %d", m, c.host.len(), c.disk.len())
	}
}

// The sequence of the eviction replay scenario: A is read, B evicts it, A comes again.
func TestAReplayBringsBackExactlyTheEvictedBlocks(t *testing.T) {
	c := newCache(cacheConfig{Device: 10, Host: 12, Disk: 30})
	a, b := blockKeys(1, 8), blockKeys(2, 8)
	if hits := serveSequence(t, c, a); hits.blocks() != 0 {
		t.Fatalf("the first time: %+v", hits)
	}
	serveSequence(t, c, b)
	// B took the 2 empty blocks and 6 of A; the last of A gave way first, so its first 2 are left.
	// The host, 12 large, has B and lost the first 4 of A, which were put there first. All is on disk.
	if got, want := c.find(a), (cacheHits{Device: 2, Host: 4, Disk: 2, FromDisk: 2}); got != want {
		t.Fatalf("A is found as %+v, want %+v", got, want)
	}
	if hits := serveSequence(t, c, a); hits != (cacheHits{Device: 2, Host: 4, Disk: 2, FromDisk: 2}) {
		t.Fatalf("replay: %+v", hits)
	}
	want := cacheMoves{DeviceToHost: 16, HostToDisk: 16, HostToDevice: 4, DiskToDevice: 2, DroppedDevice: 12, DroppedHost: 4}
	if c.moves != want {
		t.Errorf("moves %+v, want %+v", c.moves, want)
	}
	if hits := serveSequence(t, c, a); hits != (cacheHits{Device: 8, FromDisk: 2}) {
		t.Errorf("again: %+v", hits)
	}
}

func TestTheFilterKeepsBlocksComputedOnceFromTheDisk(t *testing.T) {
	c := newCache(cacheConfig{Device: 8, Host: 8, Disk: 100, Filter: true})
	a, b := blockKeys(1, 8), blockKeys(2, 8)
	serveSequence(t, c, a)
	serveSequence(t, c, a[:5]) // found on the device
	if c.moves.HostToDisk != 0 || c.moves.DeviceToHost != 8 {
		t.Fatalf("computed once: %+v", c.moves)
	}
	serveSequence(t, c, b)
	serveSequence(t, c, a) // evicted from device and host, and computed again
	if c.moves.HostToDisk != 8 {
		t.Fatalf("computed twice: %+v", c.moves)
	}
	serveSequence(t, c, blockKeys(3, 8))
	if hits := serveSequence(t, c, a); hits != (cacheHits{Disk: 8, FromDisk: 8}) {
		t.Errorf("evicted again: %+v", hits)
	}
}

func TestWithoutAHostTheDiskIsWrittenFromTheDevice(t *testing.T) {
	c := newCache(cacheConfig{Device: 4, Disk: 100})
	serveSequence(t, c, blockKeys(1, 4))
	serveSequence(t, c, blockKeys(2, 4))
	hits := serveSequence(t, c, blockKeys(1, 4))
	if want := (cacheHits{Disk: 4, FromDisk: 4}); hits != want {
		t.Errorf("%+v, want %+v", hits, want)
	}
	if want := (cacheMoves{DeviceToDisk: 8, DiskToDevice: 4, DroppedDevice: 8}); c.moves != want {
		t.Errorf("%+v, want %+v", c.moves, want)
	}
}

func TestEqualPrefixesAreHeldOnce(t *testing.T) {
	c := newCache(cacheConfig{Device: 10})
	a := blockKeys(1, 6)
	first, _, _ := c.acquire(a, 6)
	for i, key := range a {
		c.markComplete(first, i, key)
	}
	second, hits, ok := c.acquire(a, 8)
	if !ok || hits.Device != 6 || c.held != 8 {
		t.Fatalf("%v, %+v, %d held", ok, hits, c.held)
	}
	c.release(first)
	check(t, c, []*cacheLease{second})
	if c.held != 8 || c.room() != 2 {
		t.Errorf("%d held, room for %d", c.held, c.room())
	}
	c.release(second)
	if c.held != 0 {
		t.Errorf("%d held when no lease is left", c.held)
	}
}

func TestTheBlockIdleForLongestIsEvicted(t *testing.T) {
	c := newCache(cacheConfig{Device: 6})
	serveSequence(t, c, blockKeys(1, 2))
	serveSequence(t, c, blockKeys(2, 2))
	serveSequence(t, c, blockKeys(3, 2))
	serveSequence(t, c, blockKeys(1, 2)) // used again: 2 is the oldest now
	serveSequence(t, c, blockKeys(4, 2))
	for name, want := range map[uint64]int{1: 2, 2: 0, 3: 2, 4: 2} {
		if got := c.find(blockKeys(name, 2)).Device; got != want {
			t.Errorf("prompt %d: %d blocks are left, want %d", name, got, want)
		}
	}
}

func TestReusedBlocksStayOnTheDiskForLonger(t *testing.T) {
	c := newCache(cacheConfig{Device: 4, Disk: 6})
	a, b := blockKeys(1, 2), blockKeys(2, 2)
	for _, keys := range [][]uint64{a, b, blockKeys(3, 2), a, blockKeys(4, 2)} {
		serveSequence(t, c, keys)
	}
	if !c.disk.has(a[0]) || !c.disk.has(a[1]) || c.disk.has(b[0]) || c.disk.has(b[1]) {
		t.Error("the disk kept what was used less recently")
	}
}

func TestTheDiskIsWrittenOnlyFromBlocksOfTheHost(t *testing.T) {
	c := newCache(cacheConfig{Device: 6, Host: 2, Disk: 10, Filter: true})
	a := blockKeys(1, 2)
	for _, keys := range [][]uint64{a, blockKeys(2, 2), a} { // wanted twice, but computed once
		serveSequence(t, c, keys)
	}
	if m := c.moves; m.diskWrites() != 0 {
		t.Errorf("%+v", m)
	}
}

func TestTheEndOfAPrefixIsEvictedBeforeItsBeginning(t *testing.T) {
	c := newCache(cacheConfig{Device: 4, Host: 6})
	serveSequence(t, c, blockKeys(1, 4))
	serveSequence(t, c, blockKeys(1, 4)) // used again, its end is the oldest on the host
	serveSequence(t, c, blockKeys(2, 4))
	if got := c.find(blockKeys(1, 4)); got != (cacheHits{Host: 2}) {
		t.Errorf("2 of 4 blocks had to give way; of the prefix is left: %+v", got)
	}
}

func TestARefusedLeaseChangesNothing(t *testing.T) {
	c := newCache(cacheConfig{Device: 6, Host: 6})
	serveSequence(t, c, blockKeys(1, 4))
	held, _, _ := c.acquire(blockKeys(2, 3), 3)
	before, moves := c.find(blockKeys(1, 4)), c.moves
	// Its 3 idle blocks of the prefix and 1 more are 4, of which 3 can be had.
	if _, _, ok := c.acquire(blockKeys(1, 4), 4); ok {
		t.Error("more is held than there is")
	}
	if c.find(blockKeys(1, 4)) != before || c.moves != moves {
		t.Error("a refusal changed the cache")
	}
	check(t, c, []*cacheLease{held})
}

// TestBlockCountsAddUp runs random sequences that come, grow, complete and leave.
func TestBlockCountsAddUp(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := newCache(cacheConfig{Device: 20, Host: random.IntN(30), Disk: random.IntN(60), Filter: seed%2 == 0})
		var leases []*cacheLease
		var keys [][]uint64
		found := cacheHits{}
		for range 300 {
			switch n := len(leases); {
			case n == 0 || random.IntN(4) == 0:
				ask := blockKeys(random.Uint64N(6), 1+random.IntN(12))
				lease, hits, ok := c.acquire(ask, len(ask))
				if ok {
					leases, keys = append(leases, lease), append(keys, ask)
					found.Host, found.Disk = found.Host+hits.Host, found.Disk+hits.Disk
				}
			case random.IntN(3) == 0:
				i := random.IntN(n)
				c.release(leases[i])
				leases[i], keys[i] = leases[n-1], keys[n-1]
				leases, keys = leases[:n-1], keys[:n-1]
			case random.IntN(3) == 0:
				c.grow(leases[random.IntN(n)])
			default:
				i := random.IntN(n)
				at := random.IntN(len(keys[i]))
				c.markComplete(leases[i], at, keys[i][at])
			}
			check(t, c, leases)
		}
		if m := c.moves; m.HostToDevice != int64(found.Host) || m.DiskToDevice != int64(found.Disk) {
			t.Fatalf("seed %d: brought back %+v, requests found %+v", seed, m, found)
		}
	}
}
