package summary

import (
	"testing"

	"github.com/umascope/umascope/loadgen/evidence"
)

func TestTheSizeOfABlockIsWorkedOutFromTheTokensInIt(t *testing.T) {
	moved := func(disk, host, matched float64) evidence.Moved {
		known := func(value float64) evidence.Count { return evidence.Count{Value: value, Known: true} }
		return evidence.Moved{Seen: true, FromDisk: known(disk), FromHost: known(host), MatchedTokens: known(matched)}
	}
	told, shown := moved(10, 0, 160), moved(10, 0, 160)
	shown.BlockBytes = 7
	unmatched := moved(10, 0, 0)
	unmatched.MatchedTokens.Known = false
	for name, c := range map[string]struct {
		v    evidence.Verification
		m    evidence.Moved
		want float64
	}{
		"as told":             {evidence.Verification{BlockBytes: 9, TokenBytes: 1024}, shown, 9},
		"as an exporter says": {evidence.Verification{TokenBytes: 1024}, shown, 7},
		"16 tokens a block":   {evidence.Verification{TokenBytes: 1024}, told, 16 << 10},
		"of both tiers":       {evidence.Verification{TokenBytes: 1024}, moved(6, 4, 160), 16 << 10},
		"no block":            {evidence.Verification{TokenBytes: 1024}, moved(0, 0, 160), 0},
		"nobody says":         {evidence.Verification{}, told, 0},
		"nothing matched":     {evidence.Verification{TokenBytes: 1024}, unmatched, 0},
	} {
		if got := sizeOfBlock(&c.v, c.m); got != c.want {
			t.Errorf("%s: %v bytes, want %v", name, got, c.want)
		}
	}
}

func TestAPassIsFreshWhoseTemplateAloneWasCached(t *testing.T) {
	for _, c := range []struct {
		cached, template int
		fresh            bool
	}{{32, 35, true}, {32, 0, false}, {200, 35, false}, {23, 0, true}} {
		all := passes{"warm_A": {0: {tokensIn: 235, cached: new(c.cached), template: c.template}}}
		if fresh, known := all.fresh("warm_A"); fresh != c.fresh || !known {
			t.Errorf("%d of 235 tokens cached, template of %d: fresh %v, known %v", c.cached, c.template, fresh, known)
		}
	}
}
