package sim

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestDefaultIsAValidEngine(t *testing.T) {
	if _, err := New(Default()); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultGivesFiftyTokensASecondToOneStream(t *testing.T) {
	if got := Default().stepTime(0, 1); got != 20*time.Millisecond {
		t.Errorf("a step of one sequence takes %v", got)
	}
}

func TestEveryBadFieldIsNamed(t *testing.T) {
	for field, spoil := range map[string]func(*Config){
		"Model":                  func(c *Config) { c.Model = "" },
		"MeanAnswerTokens":       func(c *Config) { c.MeanAnswerTokens = 0 },
		"PrefillTokensPerSecond": func(c *Config) { c.PrefillTokensPerSecond = math.NaN() },
		"PrefillChunkTokens":     func(c *Config) { c.PrefillChunkTokens = -1 },
		"DecodeBase":             func(c *Config) { c.DecodeBase = -time.Second },
		"DecodePerSequence":      func(c *Config) { c.DecodePerSequence = 2 * time.Hour },
		"JitterRatio":            func(c *Config) { c.JitterRatio = 1 },
		"MaxBatch":               func(c *Config) { c.MaxBatch = 0 },
		"MaxModelTokens":         func(c *Config) { c.MaxModelTokens = 1 },
		"KVCacheTokens":          func(c *Config) { c.KVCacheTokens = c.MaxModelTokens - 1 },
		"Vendor":                 func(c *Config) { c.Vendor = "nobody" },
		"KV.TokensPerBlock":      func(c *Config) { c.KV.TokensPerBlock = 0 },
		"KV.BytesPerToken":       func(c *Config) { c.KV.BytesPerToken = 0 },
		"KV.HostBytes":           func(c *Config) { c.KV.HostBytes = -1 },
		"KV.Page":                func(c *Config) { c.KV.Page = "v3" },
		"KV.Disk.BytesPerSecond": func(c *Config) { c.KV.Disk.BytesPerSecond = math.NaN() },
		"KV.Disk.Latency":        func(c *Config) { c.KV.Disk.Latency = -1 },
		"KV.FreeRatio":           func(c *Config) { c.KV.FreeBytes, c.KV.FreeRatio = func() int64 { return 1 }, 1.1 },
		"Faults.Drift.Ratio":     func(c *Config) { c.Faults.Drift.Ratio = 2 },
		"Fault.Kind":             func(c *Config) { c.Faults.Requests = []Fault{{Kind: "unheard of"}} },
		"Fault.Ratio":            func(c *Config) { c.Faults.Requests = []Fault{{Kind: FaultCut, Ratio: -1}} },
	} {
		c := Default()
		spoil(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), field+" is ") {
			t.Errorf("%s: error %v", field, err)
		}
	}
	c := Config{Model: "m"}
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), "MaxBatch") || !strings.Contains(err.Error(), "KV.TokensPerBlock") {
		t.Errorf("not all fields at fault are named: %v", err)
	}
}

func TestStepTimeIsPrefillPlusDecode(t *testing.T) {
	c := Config{PrefillTokensPerSecond: 1000, DecodeBase: 10 * time.Millisecond, DecodePerSequence: 2 * time.Millisecond}
	for _, row := range []struct {
		prefill, decoding int
		want              time.Duration
	}{
		{0, 0, 0},
		{100, 0, 100 * time.Millisecond},
		{0, 1, 12 * time.Millisecond},
		{0, 8, 26 * time.Millisecond},
		{50, 4, 68 * time.Millisecond},
	} {
		if got := c.stepTime(row.prefill, row.decoding); got != row.want {
			t.Errorf("%d prompt tokens, %d decoding: %v, want %v", row.prefill, row.decoding, got, row.want)
		}
	}
	c.PrefillTokensPerSecond = math.Inf(1)
	if got := c.stepTime(1<<20, 0); got != 0 {
		t.Errorf("prompts read in no time take %v", got)
	}
}
