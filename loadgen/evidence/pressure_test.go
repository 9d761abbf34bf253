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
		"comes back from host":     {Room{DeviceTokens: 8 << 10, HostBytes: 25 << 30, DiskBytes: 64 << 30, TokenBytes: token}, "A comes back from the host", false, false, false},
		"comes back from disk":     {Room{DeviceTokens: 8 << 10, HostBytes: 12 << 30, DiskBytes: 64 << 30, TokenBytes: token}, "disk tier 65536 tokens (64.00 GiB): A stays on it", false, false, true},
		"host below device":        {Room{DeviceTokens: 8 << 10, HostBytes: 4 << 30, DiskBytes: 64 << 30, TokenBytes: token}, "the host tier (4096 tokens (4.00 GiB)) is smaller than the device", false, true, true},
		"disk below host":          {Room{DeviceTokens: 8 << 10, HostBytes: 16 << 30, DiskBytes: 14 << 30, TokenBytes: token}, "is smaller than the host", false, true, true},
		"disk cannot hold A":       {Room{DeviceTokens: 8 << 10, HostBytes: 9 << 30, DiskBytes: 9 << 30, TokenBytes: token}, "it cannot hold the set", true, false, true},
		"disk loses part of A":     {Room{DeviceTokens: 8 << 10, HostBytes: 9 << 30, DiskBytes: 28 << 30, TokenBytes: token}, "evicted from the disk too", false, true, true},
		"no disk":                  {Room{DeviceTokens: 8 << 10, HostBytes: 25 << 30, TokenBytes: token, Off: Tiers{DiskOff: true}}, "disk tier: off", false, false, true},
		"filter":                   {Room{DeviceTokens: 8 << 10, HostBytes: 9 << 30, DiskBytes: 64 << 30, TokenBytes: token, Off: Tiers{DiskFilter: true}}, "wanted twice", false, true, true},
		"nothing is known":         {Room{}, "cannot be foretold", false, false, true},
		"tokens, but not in bytes": {Room{DeviceTokens: 8 << 10}, "B is 20480 tokens, device 8192 tokens", false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := Foretell(a, b, c.room)
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
