package kvcache

import (
	"math/rand/v2"
	"testing"
)

// prompt returns the keys of n blocks that no other prompt has.
func prompt(name uint64, n int) []uint64 {
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = name<<32 | uint64(i)
	}
	return keys
}

// serve runs one sequence to its end and returns what it found.
func serve(t *testing.T, c *Cache, keys []uint64) Hits {
	t.Helper()
	lease, hits, ok := c.Acquire(keys, len(keys), 0)
	if !ok {
		t.Fatalf("no room for %d blocks in %d", len(keys), c.Room())
	}
	for i, key := range keys {
		c.Complete(lease, i, key)
	}
	c.Release(lease)
	check(t, c, nil)
	return hits
}

// check compares the cache's counts with its content.
func check(t *testing.T, c *Cache, leases []*Lease) {
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
	if c.held+c.idle.len() > c.config.Device || c.Room() < 0 || c.host.len() > c.config.Host || c.disk.len() > c.config.Disk {
		t.Fatalf("held %d, idle %d, host %d, disk %d in %+v", c.held, c.idle.len(), c.host.len(), c.disk.len(), c.config)
	}
	m := c.moves
	if m.DeviceToHost-m.DroppedHost != int64(c.host.len()) || m.HostToDisk+m.DeviceToDisk-m.DroppedDisk != int64(c.disk.len()) {
		t.Fatalf("blocks got lost: %+v, host %d, disk %d", m, c.host.len(), c.disk.len())
	}
}

// The sequence of the eviction replay scenario: A is read, B evicts it, A comes again.
func TestAReplayBringsBackExactlyWhatWasPushedOut(t *testing.T) {
	c := New(Config{Device: 10, Host: 12, Disk: 30})
	a, b := prompt(1, 8), prompt(2, 8)
	if hits := serve(t, c, a); hits.Blocks() != 0 {
		t.Fatalf("the first time: %+v", hits)
	}
	serve(t, c, b)
	// B took the 2 empty blocks and 6 of A; the last of A gave way first, so its first 2 are left.
	// The host, 12 large, has B and lost the first 4 of A, which were put there first. All is on disk.
	if got, want := c.Find(a), (Hits{Device: 2, Host: 4, Disk: 2, FromDisk: 2}); got != want {
		t.Fatalf("A is found as %+v, want %+v", got, want)
	}
	if hits := serve(t, c, a); hits != (Hits{Device: 2, Host: 4, Disk: 2, FromDisk: 2}) {
		t.Fatalf("replay: %+v", hits)
	}
	want := Moves{DeviceToHost: 16, HostToDisk: 16, HostToDevice: 4, DiskToDevice: 2, DroppedDevice: 12, DroppedHost: 4}
	if c.Moves() != want {
		t.Errorf("moves %+v, want %+v", c.Moves(), want)
	}
	if hits := serve(t, c, a); hits != (Hits{Device: 8, FromDisk: 2}) {
		t.Errorf("again: %+v", hits)
	}
}

func TestTheFilterKeepsWhatWasWantedOnceFromTheDisk(t *testing.T) {
	c := New(Config{Device: 100, Host: 100, Disk: 100, Filter: true})
	a := prompt(1, 8)
	serve(t, c, a)
	if c.Moves().HostToDisk != 0 || c.Moves().DeviceToHost != 8 {
		t.Fatalf("after the first time: %+v", c.Moves())
	}
	serve(t, c, a[:5])
	if c.Moves().HostToDisk != 5 {
		t.Errorf("after the second time: %+v", c.Moves())
	}
}

func TestWithoutAHostTheDiskIsWrittenFromTheDevice(t *testing.T) {
	c := New(Config{Device: 4, Disk: 100})
	serve(t, c, prompt(1, 4))
	serve(t, c, prompt(2, 4))
	hits := serve(t, c, prompt(1, 4))
	if want := (Hits{Disk: 4, FromDisk: 4}); hits != want {
		t.Errorf("%+v, want %+v", hits, want)
	}
	if want := (Moves{DeviceToDisk: 8, DiskToDevice: 4, DroppedDevice: 8}); c.Moves() != want {
		t.Errorf("%+v, want %+v", c.Moves(), want)
	}
}

func TestEqualPrefixesAreHeldOnce(t *testing.T) {
	c := New(Config{Device: 10})
	a := prompt(1, 6)
	first, _, _ := c.Acquire(a, 6, 0)
	for i, key := range a {
		c.Complete(first, i, key)
	}
	second, hits, ok := c.Acquire(a, 8, 0)
	if !ok || hits.Device != 6 || c.Held() != 8 {
		t.Fatalf("%v, %+v, %d held", ok, hits, c.Held())
	}
	c.Release(first)
	check(t, c, []*Lease{second})
	if c.Held() != 8 || c.Room() != 2 {
		t.Errorf("%d held, room for %d", c.Held(), c.Room())
	}
	c.Release(second)
	if c.Held() != 0 {
		t.Errorf("%d held by nobody", c.Held())
	}
}

func TestTheOneIdleForLongestGivesWay(t *testing.T) {
	c := New(Config{Device: 6})
	serve(t, c, prompt(1, 2))
	serve(t, c, prompt(2, 2))
	serve(t, c, prompt(3, 2))
	serve(t, c, prompt(1, 2)) // used again: 2 is the oldest now
	serve(t, c, prompt(4, 2))
	for name, want := range map[uint64]int{1: 2, 2: 0, 3: 2, 4: 2} {
		if got := c.Find(prompt(name, 2)).Device; got != want {
			t.Errorf("prompt %d: %d blocks are left, want %d", name, got, want)
		}
	}
}

func TestWhatIsUsedAgainStaysOnTheDiskForLonger(t *testing.T) {
	c := New(Config{Device: 4, Disk: 6})
	a, b := prompt(1, 2), prompt(2, 2)
	for _, keys := range [][]uint64{a, b, prompt(3, 2), a, prompt(4, 2)} {
		serve(t, c, keys)
	}
	if !c.disk.has(a[0]) || !c.disk.has(a[1]) || c.disk.has(b[0]) || c.disk.has(b[1]) {
		t.Error("the disk kept what was used less recently")
	}
}

func TestTheDiskIsWrittenFromTheHostAndNotFromWhatIsGoneThere(t *testing.T) {
	c := New(Config{Device: 6, Host: 2, Disk: 10, Filter: true})
	a := prompt(1, 2)
	for _, keys := range [][]uint64{a, prompt(2, 2), a} { // wanted twice, but the host has lost it
		serve(t, c, keys)
	}
	if m := c.Moves(); m.DiskWrites() != 0 {
		t.Errorf("%+v", m)
	}
}

func TestTheEndOfAPrefixGivesWayBeforeItsBeginning(t *testing.T) {
	c := New(Config{Device: 4, Host: 6})
	serve(t, c, prompt(1, 4))
	serve(t, c, prompt(1, 4)) // used again, its end is the oldest on the host
	serve(t, c, prompt(2, 4))
	if got := c.Find(prompt(1, 4)); got != (Hits{Host: 2}) {
		t.Errorf("2 of 4 blocks had to give way; of the prefix is left: %+v", got)
	}
}

func TestWhatDoesNotFitChangesNothing(t *testing.T) {
	c := New(Config{Device: 6, Host: 6})
	serve(t, c, prompt(1, 4))
	held, _, _ := c.Acquire(prompt(2, 3), 3, 0)
	before, moves := c.Find(prompt(1, 4)), c.Moves()
	// Its 3 idle blocks of the prefix and 1 more are 4, of which 3 can be had.
	if _, _, ok := c.Acquire(prompt(1, 4), 4, 0); ok {
		t.Error("more is held than there is")
	}
	if _, _, ok := c.Acquire(prompt(5, 2), 2, 2); ok {
		t.Error("what others need was given away")
	}
	if c.Find(prompt(1, 4)) != before || c.Moves() != moves {
		t.Error("a refusal changed the cache")
	}
	check(t, c, []*Lease{held})
}

func TestForgettingLeavesWhatIsHeld(t *testing.T) {
	c := New(Config{Device: 10, Host: 10})
	serve(t, c, prompt(1, 4))
	lease, _, _ := c.Acquire(prompt(1, 4), 2, 0)
	c.Forget()
	check(t, c, []*Lease{lease})
	if hits := c.Find(prompt(1, 4)); hits.Device != 4 {
		t.Errorf("held blocks are gone: %+v", hits)
	}
	c.Release(lease)
	c.Forget()
	if hits := c.Find(prompt(1, 4)); hits != (Hits{Host: 4}) {
		t.Errorf("after forgetting: %+v", hits)
	}
}

func TestAnOldFavouriteIsForgotten(t *testing.T) {
	f := frequency{counts: map[uint64]uint32{}}
	for range 20 {
		f.use(1)
	}
	if f.counts[1] != mostUses {
		t.Fatalf("counted as %d", f.counts[1])
	}
	for range 9 {
		f.age()
	}
	if len(f.counts) != 0 {
		t.Errorf("still known: %v", f.counts)
	}
	if got := f.use(1); got != 1 {
		t.Errorf("then begins with %d", got)
	}
}

// A cache larger than the least interval would else forget every block before it comes again.
func TestManyKeysAgeMoreSlowly(t *testing.T) {
	f := frequency{counts: map[uint64]uint32{}}
	const keys = leastAging + 1000
	for key := range uint64(keys) {
		f.use(key)
	}
	if len(f.counts) != keys {
		t.Errorf("%d of %d keys are known after one use of each", len(f.counts), keys)
	}
}

// TestTheBooksBalance runs random sequences that come, grow, complete and leave.
func TestTheBooksBalance(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := New(Config{Device: 20, Host: random.IntN(30), Disk: random.IntN(60), Filter: seed%2 == 0})
		var leases []*Lease
		var keys [][]uint64
		found := Hits{}
		for range 300 {
			switch n := len(leases); {
			case n == 0 || random.IntN(4) == 0:
				ask := prompt(random.Uint64N(6), 1+random.IntN(12))
				lease, hits, ok := c.Acquire(ask, len(ask), random.IntN(3))
				if ok {
					leases, keys = append(leases, lease), append(keys, ask)
					found.Host, found.Disk = found.Host+hits.Host, found.Disk+hits.Disk
				}
			case random.IntN(3) == 0:
				i := random.IntN(n)
				c.Release(leases[i])
				leases[i], keys[i] = leases[n-1], keys[n-1]
				leases, keys = leases[:n-1], keys[:n-1]
			case random.IntN(3) == 0:
				c.Grow(leases[random.IntN(n)])
			default:
				i := random.IntN(n)
				at := random.IntN(len(keys[i]))
				c.Complete(leases[i], at, keys[i][at])
			}
			check(t, c, leases)
		}
		if m := c.Moves(); m.HostToDevice != int64(found.Host) || m.DiskToDevice != int64(found.Disk) {
			t.Fatalf("seed %d: brought back %+v, requests found %+v", seed, m, found)
		}
	}
}

// BenchmarkAcquire is one request of 2,048 blocks, half of them known.
func BenchmarkAcquire(b *testing.B) {
	c := New(Config{Device: 1 << 14, Host: 1 << 15, Disk: 1 << 16})
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		keys := append(prompt(0, 1024), prompt(1+i, 1024)...)
		lease, _, _ := c.Acquire(keys, len(keys), 0)
		for j, key := range keys {
			c.Complete(lease, j, key)
		}
		c.Release(lease)
	}
}
