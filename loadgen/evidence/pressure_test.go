package evidence

import (
	"strings"
	"testing"
)

func TestThePressureIsForetoldFromSizes(t *testing.T) {
	const token = 1 << 20 // so that 1024 tokens are a GiB
	a, b := Load{"A", 10, 10240}, Load{"B", 20, 20480}
	for name, c := range map[string]struct {
		room       Room
		says       string
		impossible bool
		warns      bool
		pressed    bool
	}{
		"nothing is evicted":       {Room{DeviceTokens: 62 << 10, TokenBytes: token}, "A+B is 30720 tokens (30.00 GiB), device 63488 tokens (62.00 GiB): nothing will be evicted", true, false, false},
		"part of it":               {Room{DeviceTokens: 25 << 10, TokenBytes: token}, "part of A stays on the device", false, true, false},
		"comes back from host":     {Room{DeviceTokens: 8 << 10, HostBytes: 25 << 30, DiskBytes: 64 << 30, TokenBytes: token}, "A comes back from the host", false, true, false},
		"comes back from disk":     {Room{DeviceTokens: 8 << 10, HostBytes: 12 << 30, DiskBytes: 64 << 30, TokenBytes: token}, "disk tier 65536 tokens (64.00 GiB): A stays on it", false, true, true},
		"host below device":        {Room{DeviceTokens: 8 << 10, HostBytes: 4 << 30, DiskBytes: 64 << 30, TokenBytes: token}, "the host tier (4096 tokens (4.00 GiB)) is smaller than the device", false, true, true},
		"disk below host":          {Room{DeviceTokens: 8 << 10, HostBytes: 16 << 30, DiskBytes: 14 << 30, TokenBytes: token}, "is smaller than the host", false, true, true},
		"disk cannot hold A":       {Room{DeviceTokens: 8 << 10, HostBytes: 9 << 30, DiskBytes: 9 << 30, TokenBytes: token}, "it cannot hold the set", true, true, true},
		"disk loses part of A":     {Room{DeviceTokens: 8 << 10, HostBytes: 9 << 30, DiskBytes: 28 << 30, TokenBytes: token}, "evicted from the disk too", false, true, true},
		"no disk":                  {Room{DeviceTokens: 8 << 10, HostBytes: 25 << 30, TokenBytes: token, Off: Tiers{DiskOff: true}}, "disk tier: off", false, false, true},
		"filter":                   {Room{DeviceTokens: 8 << 10, HostBytes: 9 << 30, DiskBytes: 64 << 30, TokenBytes: token, Off: Tiers{DiskFilter: FilterOn}}, "KVBM's disk filter is on: prompts seen once are not written to the disk tier, so A cannot come back from the SSD; --set repeats=2 sends", false, true, true},
		"filter, off":              {Room{DeviceTokens: 8 << 10, HostBytes: 12 << 30, DiskBytes: 64 << 30, TokenBytes: token, Off: Tiers{DiskFilter: FilterOff}}, "A stays on it", false, false, true},
		"filter, not told":         {Room{DeviceTokens: 8 << 10, HostBytes: 12 << 30, DiskBytes: 64 << 30, TokenBytes: token}, "KVBM's disk filter is on by default, and no source shows its state: prompts seen once", false, true, true},
		"no bytes of a token":      {Room{DeviceTokens: 8 << 10, HostBytes: 2 << 30, DiskBytes: 8 << 30, Off: Tiers{DiskFilter: FilterOff}}, "host tier: 2.00 GiB, and the bytes of a token are not known (--engine-log FILE", false, false, true},
		"files without a limit":    {Room{DeviceTokens: 8 << 10, HostBytes: 12 << 30, TokenBytes: token, Files: true, Off: Tiers{DiskFilter: FilterOff}}, "disk tier: files without a limit; A stays on it", false, false, true},
		"KVBM, sizes not known":    {Room{DeviceTokens: 8 << 10, KVBM: true}, "prompts seen once are not written", false, true, true},
		"nothing is known":         {Room{}, "cannot be foretold", false, false, true},
		"tokens, but not in bytes": {Room{DeviceTokens: 8 << 10}, "B is 20480 tokens, device 8192 tokens", false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := Predict(a, b, 1, c.room)
			all := strings.Join(append(append(append([]string{}, f.Lines...), f.Warnings...), f.Impossible...), "\n")
			if !strings.Contains(all, c.says) {
				t.Errorf("does not say %q:\n%s", c.says, all)
			}
			if len(f.Impossible) > 0 != c.impossible || len(f.Warnings) > 0 != c.warns || f.Pressed != c.pressed {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestASetIsEvictedByAsMuchAsTheTierHolds(t *testing.T) {
	a, b := Load{"A", 10, 100}, Load{"B", 20, 200}
	for _, c := range []struct {
		device     float64
		impossible bool
		pressed    bool
	}{{300, true, false}, {299, false, false}, {201, false, false}, {200, false, true}} {
		f := Predict(a, b, 1, Room{DeviceTokens: c.device})
		if len(f.Impossible) > 0 != c.impossible || f.Pressed != c.pressed {
			t.Errorf("device of %v tokens: %+v", c.device, f)
		}
	}
}

func TestTheUpperTiersAreThoseAboveTheOneToBeReached(t *testing.T) {
	room := Room{DeviceTokens: 100, HostBytes: 3000, DiskBytes: 9000, TokenBytes: 10}
	if got := room.Upper(); got != 300 {
		t.Errorf("above the disk %v", got)
	}
	room.Off.DiskOff = true
	if got := room.Upper(); got != 100 {
		t.Errorf("above the host %v", got)
	}
	if got := (Room{DeviceTokens: 100, HostBytes: 3000}).Upper(); got != 100 {
		t.Errorf("bytes of unknown tokens count: %v", got)
	}
}

func TestAHostIsOnlyComparedWithADeviceThatIsKnown(t *testing.T) {
	f := Predict(Load{"A", 1, 10}, Load{"B", 1, 900}, 1, Room{HostBytes: 100, TokenBytes: 1})
	if len(f.Warnings) > 0 {
		t.Errorf("%v", f.Warnings)
	}
}

func TestUnknownSizesOfARoomAreTakenFromTheOther(t *testing.T) {
	told := Room{DeviceTokens: 1, TokenBytes: 0.5, Off: Tiers{DiskFilter: FilterOn}}
	seen := Room{DeviceTokens: 2, HostBytes: 3, DiskBytes: 4, TokenBytes: 5, Off: Tiers{HostOff: true, DiskOff: true}}
	want := Room{DeviceTokens: 1, HostBytes: 3, DiskBytes: 4, TokenBytes: 0.5, Off: Tiers{HostOff: true, DiskOff: true, DiskFilter: FilterOn}}
	if got := told.Filled(seen); got != want {
		t.Errorf("%+v", got)
	}
	if got := (Room{}).Filled(want); got != want {
		t.Errorf("%+v", got)
	}
}

// The first replay is what writes the set to the disk, so that the second one can read it.
func TestASecondReplayPassesTheDiskFilter(t *testing.T) {
	room := Room{DeviceTokens: 8 << 10, HostBytes: 9 << 30, DiskBytes: 64 << 30, TokenBytes: 1 << 20, KVBM: true}
	for _, filter := range []Filter{FilterUnknown, FilterOn} {
		room.Off.DiskFilter = filter
		f := Predict(Load{"A", 10, 10240}, Load{"B", 20, 20480}, 2, room)
		if all := strings.Join(f.Lines, "\n"); len(f.Warnings) > 0 || !strings.Contains(all, "the second replay can read it from there") {
			t.Errorf("%q: %+v", filter, f)
		}
	}
}
