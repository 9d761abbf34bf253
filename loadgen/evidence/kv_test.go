package evidence

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func known(value float64) Count { return Count{Value: value, Known: true} }

// page is one of the four samples of the story.
func page(t *testing.T, name string) map[string]float64 {
	t.Helper()
	text, err := os.ReadFile("testdata/kvbm_metrics_v1_" + name + ".prom")
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for name, family := range families {
		if family.GetType() == dto.MetricType_COUNTER {
			values[name] = family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return values
}

const storyBlock = 4 << 20

// story is what the counters add between two of the samples.
func story(t *testing.T, from, to string) Moved {
	t.Helper()
	before, after := page(t, from), page(t, to)
	delta := func(name string) Count { return known(after[name] - before[name]) }
	return Moved{
		Seen: true, BlockBytes: storyBlock,
		FromDisk: delta("kvbm_onboard_blocks_d2d"), FromHost: delta("kvbm_onboard_blocks_h2d"),
		ToDisk: delta("kvbm_offload_blocks_h2d"), MatchedTokens: delta("kvbm_matched_tokens"),
	}
}

func TestFourSamplesAreGradedInBlocksAndBytes(t *testing.T) {
	replay := story(t, "t2", "t3")
	const fromDisk = 13220446208.
	if replay.FromHost.Value != 448 || replay.FromDisk.Value != 3152 || replay.FromDisk.Value*replay.BlockBytes != fromDisk {
		t.Fatalf("%+v", replay)
	}
	if got := replay.MatchedTokens.Value / (replay.FromHost.Value + replay.FromDisk.Value); got != 32 {
		t.Errorf("%v tokens a block", got)
	}
	read := Disk{Process: known(fromDisk), Cgroup: known(fromDisk + 1<<20), Device: known(12608 << 20)}
	got := SSDRehydrate(replay, Hits{}, read, Tiers{}, Replay{Pressed: true})
	if got.Grade != Proven || got.Reason != "" {
		t.Errorf("%+v", got)
	}
	for _, stretch := range [][2]string{{"t0", "t1"}, {"t1", "t2"}} {
		if got := SSDRehydrate(story(t, stretch[0], stretch[1]), Hits{}, read, Tiers{}, Replay{Pressed: true}); got.Grade != Contradicted {
			t.Errorf("%v: nothing came from the disk, and yet %+v", stretch, got)
		}
	}
	written := 9984. * storyBlock
	if got := SSDOffload(story(t, "t0", "t3"), Disk{Process: known(written), Device: known(written * 1.1)}, Tiers{}, 0); got.Grade != Proven {
		t.Errorf("offload: %+v", got)
	}
}

func TestAnSSDReadIsProvenByBlocksAndByACounterOfTheKernel(t *testing.T) {
	kv := Moved{Seen: true, BlockBytes: 1000, FromDisk: known(100), FromHost: known(7), ToDisk: known(0), MatchedTokens: known(3200)}
	all := Disk{Process: known(100e3), Cgroup: known(101e3), Device: known(120e3)}
	with := func(change func(*Moved, *Disk)) (Moved, Disk) {
		m, d := kv, all
		change(&m, &d)
		return m, d
	}
	for name, c := range map[string]struct {
		change  func(*Moved, *Disk)
		tiers   Tiers
		relaxed bool // no pressure
		grade   Grade
		reason  Reason
	}{
		"all agree":                          {func(*Moved, *Disk) {}, Tiers{}, false, Proven, ""},
		"the cgroup alone":                   {func(_ *Moved, d *Disk) { d.Process = known(0) }, Tiers{}, false, Proven, ""},
		"processes may not be looked into":   {func(_ *Moved, d *Disk) { d.Process, d.Cgroup, d.Denied = Count{}, Count{}, true }, Tiers{}, false, Consistent, NoPrivilege},
		"no processes":                       {func(_ *Moved, d *Disk) { d.Process, d.Cgroup = Count{}, Count{} }, Tiers{}, false, Consistent, CountersAbsent},
		"no drive":                           {func(_ *Moved, d *Disk) { d.Device = Count{} }, Tiers{}, false, Proven, ""},
		"no drive, and some are hidden":      {func(_ *Moved, d *Disk) { d.Process, d.Device, d.Denied = Count{}, Count{}, true }, Tiers{}, false, Proven, ""},
		"no counter of the kernel":           {func(_ *Moved, d *Disk) { *d = Disk{} }, Tiers{}, false, Consistent, CountersAbsent},
		"no size of a block":                 {func(m *Moved, _ *Disk) { m.BlockBytes = 0 }, Tiers{}, false, Consistent, CountersAbsent},
		"the process read too little":        {func(_ *Moved, d *Disk) { d.Process, d.Cgroup = known(5e3), known(5e3) }, Tiers{}, false, Contradicted, BytesDisagree},
		"the process read far more":          {func(_ *Moved, d *Disk) { d.Process, d.Cgroup = known(900e3), known(900e3) }, Tiers{}, false, Consistent, BytesDisagree},
		"the drive read nothing":             {func(_ *Moved, d *Disk) { d.Device = known(0) }, Tiers{}, false, Contradicted, BytesDisagree},
		"KVBM's counters fell":               {func(m *Moved, _ *Disk) { m.FromDisk.Reset = true }, Tiers{}, false, NotObservable, CountersReset},
		"the drive's counter fell":           {func(_ *Moved, d *Disk) { d.Device.Reset = true }, Tiers{}, false, Proven, ""},
		"the only counter fell":              {func(_ *Moved, d *Disk) { *d = Disk{Device: Count{5, true, true}} }, Tiers{}, false, NotObservable, CountersReset},
		"the page went away":                 {func(m *Moved, _ *Disk) { m.Seen, m.Gone = false, true }, Tiers{}, false, NotObservable, EndpointGone},
		"no page":                            {func(m *Moved, _ *Disk) { *m = Moved{} }, Tiers{}, false, NotObservable, CountersAbsent},
		"no page, and everything is off":     {func(m *Moved, _ *Disk) { *m = Moved{} }, Tiers{HostOff: true, DiskOff: true}, false, NotObservable, TierOff},
		"no page, and the disk is off":       {func(m *Moved, _ *Disk) { *m = Moved{} }, Tiers{DiskOff: true}, false, NotObservable, TierOff},
		"no page, and the host is off":       {func(m *Moved, _ *Disk) { *m = Moved{} }, Tiers{HostOff: true}, false, NotObservable, CountersAbsent},
		"another's processes are hidden":     {func(_ *Moved, d *Disk) { d.Process, d.Denied = Count{}, true }, Tiers{}, false, Proven, ""},
		"the process' counter fell":          {func(_ *Moved, d *Disk) { d.Process = Count{5, true, true} }, Tiers{}, false, Proven, ""},
		"what fell agrees by chance":         {func(_ *Moved, d *Disk) { d.Process.Reset, d.Cgroup = true, known(1) }, Tiers{}, false, Contradicted, BytesDisagree},
		"all counters of the owner fell":     {func(_ *Moved, d *Disk) { d.Process.Reset, d.Cgroup.Reset = true, true }, Tiers{}, false, NotObservable, CountersReset},
		"host to device is no read":          {func(m *Moved, _ *Disk) { m.FromDisk = known(0) }, Tiers{}, false, Contradicted, ServedFromHost},
		"the same without a disk":            {func(m *Moved, _ *Disk) { m.FromDisk = known(0) }, Tiers{DiskOff: true}, false, Contradicted, TierOff},
		"all on the device, for no pressure": {func(m *Moved, _ *Disk) { m.FromDisk, m.FromHost, m.MatchedTokens = known(0), known(0), known(0) }, Tiers{}, true, Contradicted, PressureTooSmall},
		"nothing was found":                  {func(m *Moved, _ *Disk) { m.FromDisk, m.FromHost, m.MatchedTokens = known(0), known(0), known(0) }, Tiers{}, false, Contradicted, NoMatchedTokens},
		"nothing was kept":                   {func(m *Moved, _ *Disk) { m.FromDisk, m.FromHost, m.MatchedTokens = known(0), known(0), known(0) }, Tiers{DiskFilter: FilterOn}, false, Contradicted, DiskFilterOn},
		"found, and no way counted":          {func(m *Moved, _ *Disk) { m.FromDisk, m.FromHost = known(0), known(0) }, Tiers{}, false, Contradicted, ServedFromHost},
		"nobody says what was found":         {func(m *Moved, _ *Disk) { m.FromDisk, m.FromHost, m.MatchedTokens = known(0), known(0), Count{} }, Tiers{}, false, Contradicted, CountersAbsent},
	} {
		t.Run(name, func(t *testing.T) {
			m, d := with(c.change)
			got := SSDRehydrate(m, Hits{}, d, c.tiers, Replay{Pressed: !c.relaxed})
			if got.Grade != c.grade || got.Reason != c.reason {
				t.Errorf("%+v", got)
			}
			if got.Figures == nil {
				t.Error("no list of witnesses")
			}
		})
	}
}

func TestWhatTheAnswersCallCachedAndKVBMDidNotMatchWasOnTheDevice(t *testing.T) {
	none := Moved{Seen: true, FromDisk: known(0), FromHost: known(0), MatchedTokens: known(0)}
	for _, c := range []struct {
		tiers  Tiers
		replay Replay
		reason Reason
	}{
		{Tiers{}, Replay{Pressed: true, Cached: true}, ServedFromDevice},
		{Tiers{DiskFilter: FilterOn}, Replay{Pressed: true, Cached: true}, ServedFromDevice},
		{Tiers{}, Replay{Pressed: false, Cached: true}, PressureTooSmall},
		{Tiers{DiskOff: true}, Replay{Pressed: true, Cached: true}, TierOff},
	} {
		if got := SSDRehydrate(none, Hits{}, Disk{}, c.tiers, c.replay); got.Grade != Contradicted || got.Reason != c.reason {
			t.Errorf("%+v, %+v: %+v, want %s", c.tiers, c.replay, got, c.reason)
		}
	}
	for _, c := range []struct {
		reused Reused
		cached bool
	}{
		{Reused{PromptTokens: 4000, Cached: known(2000)}, true},
		{Reused{PromptTokens: 4000, Cached: known(1999)}, false},
		{Reused{PromptTokens: 4000, Cached: Count{Value: 4000}}, false},
		{Reused{Cached: known(0)}, false},
	} {
		if got := c.reused.FromCache(); got != c.cached {
			t.Errorf("%+v: %v", c.reused, got)
		}
	}
}

func TestBytesAgreeWithinTheTolerances(t *testing.T) {
	kv := Moved{Seen: true, BlockBytes: 10, FromDisk: known(10000), FromHost: known(0), MatchedTokens: known(3200)}
	for _, c := range []struct {
		owner, drive float64 // bytes, of 100,000
		grade        Grade
		reason       Reason
		owns, drives bool // agree
	}{
		{98e3, 98e3, Proven, "", true, true}, {102e3, 102e3, Proven, "", true, true},
		{97e3, 98e3, Proven, "", false, true}, // the drive has the bytes, and hardly more
		{97e3, 110e3, Contradicted, BytesDisagree, false, true},
		{98e3, 97e3, Contradicted, BytesDisagree, true, false},
		{97e3, 97e3, Contradicted, ServedFromPageCache, false, false},
		{103e3, 110e3, Consistent, BytesDisagree, false, true},
		{97e3, 400e3, Proven, "", true, true},                 // 1 % of 300,000 more
		{91e3, 1e9, Proven, "", true, true},                   // 10 % at most
		{89e3, 1e9, Contradicted, BytesDisagree, false, true}, // a busy drive does not agree with any count
	} {
		got := SSDRehydrate(kv, Hits{}, Disk{Cgroup: known(c.owner), Device: known(c.drive)}, Tiers{}, Replay{Pressed: true})
		if got.Grade != c.grade || got.Reason != c.reason {
			t.Errorf("%v by the owner, %v by the drive: %+v", c.owner, c.drive, got)
		}
		for _, w := range got.Figures {
			if w.Name == "cgroup_read" && w.Agrees != c.owns || w.Name == "device_read" && w.Agrees != c.drives {
				t.Errorf("%v by the owner, %v by the drive: %+v", c.owner, c.drive, w)
			}
		}
	}
}

func TestFourBlocksAreToleratedAndNeverAllOfThem(t *testing.T) {
	for _, c := range []struct {
		blocks, read float64
		grade        Grade
	}{{40, 36e3, Proven}, {40, 44e3, Proven}, {40, 35.9e3, Contradicted}, {3, 0, Contradicted}, {3, 1500, Proven}, {3, 7000, Proven}, {3, 7001, Consistent}} {
		kv := Moved{Seen: true, BlockBytes: 1000, FromDisk: known(c.blocks)}
		if got := SSDRehydrate(kv, Hits{}, Disk{Process: known(c.read)}, Tiers{}, Replay{Pressed: true}); got.Grade != c.grade {
			t.Errorf("%v blocks, %v bytes: %+v", c.blocks, c.read, got)
		}
	}
}

func TestBytesThatOnlyTheEngineCountedCameFromThePageCache(t *testing.T) {
	kv := Moved{Seen: true, BlockBytes: 1000, FromDisk: known(1000), ToDisk: known(1000)}
	const all, none, part = 1e6, 0, 0.3e6
	for name, c := range map[string]struct {
		disk          Disk
		read, written Reason
	}{
		"nothing was read":                    {Disk{Process: known(none), Device: known(none)}, ServedFromPageCache, BytesDisagree},
		"a part was read":                     {Disk{Process: known(part), Device: known(part)}, ServedFromPageCache, BytesDisagree},
		"the drive alone is counted":          {Disk{Device: known(none)}, ServedFromPageCache, HeldInPageCache},
		"the page cache is bypassed":          {Disk{Process: known(none), Device: known(none), Direct: true}, BytesDisagree, BytesDisagree},
		"pages are dirty":                     {Disk{Process: known(all), Cgroup: known(none), Device: known(none)}, BytesDisagree, HeldInPageCache},
		"the tier may be on another drive":    {Disk{Device: known(none), Unplaced: true}, CountersAbsent, CountersAbsent},
		"the process counts, on any drive":    {Disk{Process: known(all), Device: known(none), Unplaced: true}, "", CountersAbsent},
		"its direct I/O counts, on any drive": {Disk{Process: known(all), Device: known(none), Unplaced: true, Direct: true}, "", ""},
	} {
		if got := SSDRehydrate(kv, Hits{}, c.disk, Tiers{}, Replay{Pressed: true}); got.Reason != c.read || (got.Grade == Proven) != (c.read == "") {
			t.Errorf("%s: read %+v", name, got)
		}
		if got := SSDOffload(kv, c.disk, Tiers{}, 0); got.Reason != c.written || (got.Grade == Proven) != (c.written == "") {
			t.Errorf("%s: written %+v", name, got)
		}
	}
}

func TestTheKernelAloneIsConsistent(t *testing.T) {
	cached := Replay{Pressed: true, Cached: true, CachedBytes: 1e6}
	for name, c := range map[string]struct {
		disk   Disk
		replay Replay
		grade  Grade
	}{
		"as much as was cached": {Disk{Device: known(1e6)}, cached, Consistent},
		"hardly anything":       {Disk{Device: known(4096)}, cached, NotObservable},
		"nothing was cached":    {Disk{Device: known(1e6)}, Replay{Pressed: true, CachedBytes: 1e6}, NotObservable},
		"nothing is counted":    {Disk{}, cached, NotObservable},
	} {
		got := SSDRehydrate(Moved{}, Hits{}, c.disk, Tiers{}, c.replay)
		if got.Grade != c.grade || got.Reason != CountersAbsent || len(got.Missing) == 0 || got.Missing[0].Name != "kvbm_blocks" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAVerdictNamesTheWitnessesThatItLacks(t *testing.T) {
	lost := []Missing{{"device", "no counters"}}
	names := func(s Signal) (all string) {
		for _, m := range s.Missing {
			all += m.Name + " "
		}
		return all
	}
	kv := Moved{Seen: true, FromDisk: known(10), BlockBytes: 1000}
	unsized, none := kv, kv
	unsized.BlockBytes, none.FromDisk = 0, known(0)
	for name, c := range map[string]struct {
		kv   Moved
		want string
	}{"proven all the same": {kv, "device "}, "no size": {unsized, "kvbm_block_bytes device "}, "no block": {none, ""}, "gone": {Moved{Gone: true}, "kvbm_blocks device "}} {
		if got := SSDRehydrate(c.kv, Hits{}, Disk{Process: known(10e3), Missing: lost}, Tiers{}, Replay{Pressed: true}); names(got) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Whatever the counts are, a proof has blocks above 0 and a witness within a tenth of their bytes, or four blocks.
func FuzzAProofHasAWitnessOfTheKernel(f *testing.F) {
	f.Add(3431.0, 524288.0, 1798832128.0, 0.0, 0.0, uint8(1))
	f.Add(3.0, 1000.0, 0.0, 0.0, 5e9, uint8(7))
	f.Fuzz(func(t *testing.T, blocks, block, process, parent, drive float64, which uint8) {
		for _, v := range []*float64{&blocks, &block, &process, &parent, &drive} {
			if !(*v >= 0 && *v < 1e15) {
				*v = 0
			}
		}
		kv := Moved{Seen: true, FromDisk: known(blocks), BlockBytes: block}
		disk := Disk{Process: Count{process, which&1 != 0, false}, ParentCgroup: Count{parent, which&2 != 0, false}, Device: Count{drive, which&4 != 0, false}, Unplaced: which&8 != 0, Direct: which&16 != 0}
		got := SSDRehydrate(kv, Hits{}, disk, Tiers{}, Replay{Pressed: true})
		if got.Grade != Proven {
			return
		}
		bytes, near := blocks*block, false
		for _, of := range []Count{disk.Process, disk.ParentCgroup, disk.Device} {
			near = near || of.Known && math.Abs(of.Value-bytes) <= max(bytes/10, 4*block)+1 && of.Value >= bytes/2
		}
		if !(bytes > 0) || !near {
			t.Errorf("%v blocks of %v, %+v: %+v", blocks, block, disk, got)
		}
	})
}

func TestASumIsKnownIfBothArePartsOfIt(t *testing.T) {
	for _, c := range []struct{ a, b, want Count }{
		{known(1), known(2), known(3)},
		{known(1), Count{}, Count{Value: 1}},
		{Count{}, known(2), Count{Value: 2}},
		{Count{1, true, true}, known(2), Count{3, true, true}},
		{known(1), Count{2, true, true}, Count{3, true, true}},
	} {
		if got := c.a.Add(c.b); got != c.want {
			t.Errorf("%+v and %+v are %+v", c.a, c.b, got)
		}
	}
}

func TestWhatTheLoadGeneratorWroteItselfIsNoOffload(t *testing.T) {
	kv := Moved{Seen: true, BlockBytes: 1000, ToDisk: known(100)}
	written := Disk{Process: known(100e3), Device: known(100e3)}
	if got := SSDOffload(kv, written, Tiers{}, 0); got.Grade != Proven {
		t.Fatalf("%+v", got)
	}
	written.Own = 50e3
	if got := SSDOffload(kv, written, Tiers{}, 0); got.Grade == Proven || got.Reason != HeldInPageCache {
		t.Errorf("%+v", got)
	}
	for tiers, reason := range map[Tiers]Reason{{}: PressureTooSmall, {DiskOff: true}: TierOff, {DiskFilter: FilterOn}: DiskFilterOn} {
		if got := SSDOffload(Moved{Seen: true, ToDisk: known(0)}, written, tiers, 0); got.Grade != Contradicted || got.Reason != reason {
			t.Errorf("%+v: %+v", tiers, got)
		}
	}
}

func TestReuseIsProvenByTokensAlone(t *testing.T) {
	for name, c := range map[string]struct {
		reused Reused
		grade  Grade
		reason Reason
	}{
		"said":                          {Reused{Requests: 4, PromptTokens: 4000, Cached: known(3900), Found: Count{}}, Proven, ""},
		"found below":                   {Reused{Requests: 4, PromptTokens: 4000, Cached: Count{}, Found: known(3900)}, Proven, ""},
		"on the device, KVBM is silent": {Reused{Requests: 4, PromptTokens: 4000, Cached: known(3900), Found: known(0)}, Proven, ""},
		"the server says no":            {Reused{Requests: 4, PromptTokens: 4000, Cached: known(0), Found: known(0)}, Contradicted, NoMatchedTokens},
		"half of them":                  {Reused{Requests: 4, PromptTokens: 4000, Cached: known(2000), Found: Count{}}, Proven, ""},
		"less than half":                {Reused{Requests: 4, PromptTokens: 4000, Cached: known(1999), Found: Count{}}, Contradicted, NoMatchedTokens},
		"KVBM's reset does not matter":  {Reused{Requests: 4, PromptTokens: 4000, Cached: known(0), Found: Count{3900, true, true}}, Contradicted, NoMatchedTokens},
		"a shared beginning only":       {Reused{Requests: 4, PromptTokens: 4000, Cached: known(400), Found: Count{}}, Contradicted, NoMatchedTokens},
		"KVBM's silence alone":          {Reused{Requests: 4, PromptTokens: 4000, Cached: Count{}, Found: known(0)}, NotObservable, NoMatchedTokens},
		"part below the device":         {Reused{Requests: 4, PromptTokens: 4000, Cached: Count{}, Found: known(300)}, NotObservable, CountersAbsent},
		"more than ended well":          {Reused{Requests: 4, PromptTokens: 4000, Cached: Count{}, Found: known(4900)}, Proven, ""},
		"nobody counts the prompts":     {Reused{Requests: 4, PromptTokens: 0, Cached: Count{}, Found: known(0)}, NotObservable, CountersAbsent},
		"a reset":                       {Reused{Requests: 4, PromptTokens: 4000, Cached: Count{}, Found: Count{3900, true, true}}, NotObservable, CountersReset},
		"nothing was sent":              {Reused{}, NotObservable, CountersAbsent},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Reuse(c.reused); got.Grade != c.grade || got.Reason != c.reason {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestARangeWithoutAnEndIsNullInJSON(t *testing.T) {
	text, err := json.Marshal(atLeast(3))
	if err != nil || string(text) != "[3,null]" {
		t.Fatalf("%s, %v", text, err)
	}
	var back Range
	if err := json.Unmarshal(text, &back); err != nil || back[0] != 3 || !math.IsInf(back[1], 1) {
		t.Errorf("%v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`"x"`), &back); err == nil {
		t.Error("a word is a range")
	}
}

// Without a filter KVBM writes every block of the host through to the disk.
func TestTheCountersShowADiskFilterThatLetNothingThrough(t *testing.T) {
	known := func(value float64) Count { return Count{Value: value, Known: true} }
	for name, c := range map[string]struct {
		moved Moved
		disk  bool
		want  Filter
	}{
		"to the host only":      {Moved{Seen: true, ToHost: known(3000), ToDisk: known(0)}, true, FilterOn},
		"to the disk too":       {Moved{Seen: true, ToHost: known(3000), ToDisk: known(100)}, true, FilterUnknown},
		"no disk is known":      {Moved{Seen: true, ToHost: known(3000), ToDisk: known(0)}, false, FilterUnknown},
		"nothing was offloaded": {Moved{Seen: true, ToHost: known(0), ToDisk: known(0)}, true, FilterUnknown},
		"the engine restarted":  {Moved{Seen: true, ToHost: Count{3000, true, true}, ToDisk: Count{0, true, true}}, true, FilterUnknown},
		"not seen":              {Moved{}, true, FilterUnknown},
	} {
		if got := c.moved.Filter(c.disk); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestWritesOfTheEngineAloneAreConsistent(t *testing.T) {
	const set = 1_800_000_000
	for name, c := range map[string]struct {
		written Disk
		tiers   Tiers
		set     float64
		grade   Grade
		reason  Reason
	}{
		"vLLM's tier of files on an H200":   {Disk{Process: known(7_190_745_088), Device: known(7_205_543_936)}, Tiers{}, set, Consistent, CountersAbsent},
		"vLLM without a tier":               {Disk{Process: known(12_288), Device: known(3_608_576)}, Tiers{}, set, NotObservable, CountersAbsent},
		"the drive wrote for others":        {Disk{Process: known(0), Device: known(7_205_543_936)}, Tiers{}, set, NotObservable, CountersAbsent},
		"the size of the set is not known":  {Disk{Process: known(7_190_745_088)}, Tiers{}, 0, NotObservable, CountersAbsent},
		"there is no disk tier":             {Disk{Process: known(7_190_745_088)}, Tiers{DiskOff: true}, set, NotObservable, TierOff},
		"no counter of the kernel was read": {Disk{}, Tiers{}, set, NotObservable, CountersAbsent},
	} {
		if got := SSDOffload(Moved{}, c.written, c.tiers, c.set); got.Grade != c.grade || got.Reason != c.reason {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// KVBM 1.4.2 with its disk filter on brought 2 blocks of 3,433 back after one pass, on an H200.
func TestAFewBlocksThatCameBackAreNotTheWhole(t *testing.T) {
	const block, sent = 524288, 55_011 * 32768
	for blocks, reason := range map[float64]Reason{2: PartOnly, 1500: PartOnly, 1720: "", 3433: ""} {
		for counter, c := range map[string]struct {
			kv   Moved
			hits Hits
		}{
			"KVBM's blocks":          {kv: Moved{Seen: true, BlockBytes: block, FromDisk: known(blocks), FromHost: known(0), MatchedTokens: known(16 * blocks)}},
			"tokens of a disk tier":  {hits: Hits{Disk: known(16 * blocks), TokenBytes: 32768}},
			"bytes of unnamed tiers": {hits: Hits{LoadedBytes: known(block * blocks), TokenBytes: 32768}},
		} {
			got := SSDRehydrate(c.kv, c.hits, Disk{Process: known(blocks * block)}, Tiers{}, Replay{Pressed: true, Cached: true, SentBytes: sent})
			if got.Grade != Proven || got.Reason != reason {
				t.Errorf("%v blocks, %s: %+v", blocks, counter, got)
			}
		}
	}
}
