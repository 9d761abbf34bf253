package evidence

import "testing"

func hits(found, looked float64) Hits { return Hits{Found: known(found), Looked: known(looked)} }

// Most servers report no cached tokens in their answers unless they are asked to: vLLM needs
// --enable-prompt-tokens-details. Their counters are always on the page.
func TestReuseIsReadFromTheCountersOfTheEngine(t *testing.T) {
	fallen := hits(100, 4000)
	fallen.Found.Reset = true
	for name, c := range map[string]struct {
		reused Reused
		grade  Grade
		reason Reason
	}{
		"counted":                                             {Reused{Engine: hits(3900, 4000)}, Proven, ""},
		"half of them":                                        {Reused{Engine: hits(2000, 4000)}, Proven, ""},
		"less than half":                                      {Reused{Engine: hits(1999, 4000)}, Contradicted, NoMatchedTokens},
		"no hit":                                              {Reused{Engine: hits(0, 4000)}, Contradicted, NoMatchedTokens},
		"others' hits may be all there are":                   {Reused{Engine: hits(3900, 9000)}, NotObservable, CountersAbsent},
		"more than others can have had":                       {Reused{Engine: hits(7000, 9000)}, Proven, ""},
		"few, others' included":                               {Reused{Engine: hits(1000, 9000)}, Contradicted, NoMatchedTokens},
		"one worker of several":                               {Reused{Engine: hits(1500, 2000)}, NotObservable, CountersAbsent},
		"one worker with enough":                              {Reused{Engine: hits(2000, 2000)}, Proven, ""},
		"how many were looked up is unknown":                  {Reused{Engine: Hits{Found: known(3900)}}, NotObservable, CountersAbsent},
		"the engine restarted":                                {Reused{Engine: fallen}, NotObservable, CountersReset},
		"it restarted, and the answers report":                {Reused{Engine: fallen, Cached: known(3900)}, Proven, ""},
		"a gateway without cached tokens":                     {Reused{Engine: hits(3900, 4000), Cached: known(0)}, Proven, ""},
		"the engine computed what the answers call cached":    {Reused{Engine: hits(0, 4000), Cached: known(3900)}, Consistent, ""},
		"first turns are looked up too":                       {Reused{Engine: hits(3000, 10000), SentTokens: 10000}, Proven, ""},
		"of more that was sent, few were found":               {Reused{Engine: hits(1000, 10000), SentTokens: 10000}, Contradicted, NoMatchedTokens},
		"of more that was sent, one worker counted its share": {Reused{Engine: hits(1000, 5000), SentTokens: 10000}, NotObservable, CountersAbsent},
	} {
		t.Run(name, func(t *testing.T) {
			c.reused.Requests, c.reused.PromptTokens = 4, 4000
			if got := Reuse(c.reused); got.Grade != c.grade || got.Reason != c.reason {
				t.Errorf("%+v", got)
			}
		})
	}
}

// An engine that counts tokens by tier shows an SSD tier without KVBM, by the same figures.
func TestAnSSDReadIsProvenByTheEnginesOwnTiers(t *testing.T) {
	const tokenBytes = 1000
	all := Disk{Process: known(100e3), Cgroup: known(101e3), Device: known(120e3)}
	disk := func(tokens float64) Hits {
		return Hits{Found: known(100), Looked: known(200), Device: known(0), Host: known(0), Disk: known(tokens), Elsewhere: known(0), TokenBytes: tokenBytes}
	}
	with := func(h Hits, change func(*Hits)) Hits { change(&h); return h }
	for name, c := range map[string]struct {
		hits   Hits
		read   Disk
		tiers  Tiers
		replay Replay
		grade  Grade
		reason Reason
	}{
		"all agree":                        {disk(100), all, Tiers{}, Replay{Pressed: true}, Proven, ""},
		"no drive":                         {disk(100), Disk{Process: known(100e3)}, Tiers{}, Replay{Pressed: true}, Proven, ""},
		"the drive alone":                  {disk(100), Disk{Device: known(100e3), Denied: true}, Tiers{}, Replay{Pressed: true}, Proven, ""},
		"processes are hidden":             {disk(100), Disk{Device: known(120e3), Denied: true}, Tiers{}, Replay{Pressed: true}, Consistent, NoPrivilege},
		"no machine is measured":           {disk(100), Disk{}, Tiers{}, Replay{Pressed: true}, Consistent, CountersAbsent},
		"the drive read nothing":           {disk(100), Disk{Process: known(100e3), Device: known(0)}, Tiers{}, Replay{Pressed: true}, Contradicted, BytesDisagree},
		"the page cache answered":          {disk(100), Disk{Process: known(0), Device: known(0)}, Tiers{}, Replay{Pressed: true}, Contradicted, ServedFromPageCache},
		"bytes of a token are unknown":     {with(disk(100), func(h *Hits) { h.TokenBytes = 0 }), all, Tiers{}, Replay{Pressed: true}, Consistent, CountersAbsent},
		"the engine restarted":             {with(disk(100), func(h *Hits) { h.Disk.Reset = true }), all, Tiers{}, Replay{Pressed: true}, NotObservable, CountersReset},
		"from the host":                    {with(disk(0), func(h *Hits) { h.Host = known(100) }), all, Tiers{}, Replay{Pressed: true}, Contradicted, ServedFromHost},
		"from a connector of unnamed tier": {with(disk(0), func(h *Hits) { h.Elsewhere = known(100) }), all, Tiers{}, Replay{Pressed: true}, NotObservable, CountersAbsent},
		"the same, without a disk":         {with(disk(0), func(h *Hits) { h.Elsewhere = known(100) }), all, Tiers{DiskOff: true}, Replay{Pressed: true}, Contradicted, TierOff},
		"nothing pushed it out":            {disk(0), all, Tiers{}, Replay{}, Contradicted, PressureTooSmall},
		"from the device":                  {disk(0), all, Tiers{}, Replay{Pressed: true, Cached: true}, Contradicted, ServedFromDevice},
		"computed again":                   {disk(0), all, Tiers{}, Replay{Pressed: true}, Contradicted, NoMatchedTokens},
		"no tiers are counted":             {hits(100, 200), all, Tiers{}, Replay{Pressed: true}, NotObservable, CountersAbsent},
	} {
		t.Run(name, func(t *testing.T) {
			if got := SSDRehydrate(Moved{}, c.hits, c.read, c.tiers, c.replay); got.Grade != c.grade || got.Reason != c.reason || got.Figures == nil {
				t.Errorf("%+v", got)
			}
		})
	}
	kvbm := Moved{Seen: true, FromDisk: known(0), FromHost: known(5), MatchedTokens: known(80)}
	if got := SSDRehydrate(kvbm, disk(100), all, Tiers{}, Replay{Pressed: true}); got.Reason != ServedFromHost {
		t.Errorf("KVBM counts blocks, which are closer to the disk than tokens: %+v", got)
	}
	if got := SSDRehydrate(Moved{Gone: true}, disk(100), all, Tiers{}, Replay{Pressed: true}); got.Reason != EndpointGone {
		t.Errorf("KVBM's page went away: %+v", got)
	}
}

func TestPromptsAreFreshByTheCountersOfTheEngine(t *testing.T) {
	for _, c := range []struct {
		hits         Hits
		fresh, known bool
	}{
		{hits(0, 1000), true, true}, {hits(100, 1000), true, true}, {hits(101, 1000), false, true},
		{hits(101, 1001), false, false}, {hits(0, 500), false, false}, {Hits{}, false, false}, {Hits{Found: known(0)}, false, false},
	} {
		if fresh, known := c.hits.Fresh(1000, 100); fresh != c.fresh || known != c.known {
			t.Errorf("%+v: fresh %v, known %v", c.hits, fresh, known)
		}
	}
}

// vLLM's own offloading counts the bytes that came back, not the tier. On the recorded machine a replay loaded
// 1,809,842,176 bytes from files.
func TestBytesOfNoNamedTierAreTheSSDsIfTheKernelReadAsMany(t *testing.T) {
	const loaded = 1809842176
	for name, c := range map[string]struct {
		read   Disk
		grade  Grade
		reason Reason
	}{
		"as many":                    {Disk{Process: known(loaded)}, Proven, ""},
		"none, so the host answered": {Disk{Process: known(0), Device: known(0)}, NotObservable, CountersAbsent},
		"the kernel counts nothing":  {Disk{}, Consistent, CountersAbsent},
		"a part":                     {Disk{Process: known(loaded / 2), Device: known(loaded / 2)}, NotObservable, CountersAbsent},
	} {
		h := Hits{LoadedBytes: known(loaded), TokenBytes: 32768}
		got := SSDRehydrate(Moved{}, h, c.read, Tiers{}, Replay{Pressed: true, Cached: true})
		if got.Grade != c.grade || got.Reason != c.reason {
			t.Errorf("%s: %+v", name, got)
		}
		for _, m := range got.Missing {
			if m.Name == "kvbm_blocks" {
				t.Errorf("%s: a count of the engine is there: %+v", name, got)
			}
		}
	}
}

// On the same machine the exporter showed 54,912 tokens of a tier without a name, and no bytes.
func TestTokensOfNoNamedTierAreTheSSDsIfTheKernelReadAsMany(t *testing.T) {
	const read = 1_799_356_416 // 3,432 blocks of 16 tokens
	for name, c := range map[string]struct {
		tokenBytes float64
		read       Disk
		grade      Grade
	}{
		"as many":                    {32768, Disk{Process: known(read)}, Proven},
		"a part":                     {32768, Disk{Process: known(read / 2)}, NotObservable},
		"none, so the host answered": {32768, Disk{Process: known(0), Device: known(0)}, NotObservable},
		"tokens of unknown size":     {0, Disk{Process: known(read)}, Consistent},
	} {
		h := Hits{Elsewhere: known(54_912), TokenBytes: c.tokenBytes}
		got := SSDRehydrate(Moved{}, h, c.read, Tiers{}, Replay{Pressed: true, Cached: true, CachedBytes: read})
		if got.Grade != c.grade {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
