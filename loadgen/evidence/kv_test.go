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
	if got := SSDOffload(story(t, "t0", "t3"), Disk{Process: known(written), Device: known(written * 1.1)}, Tiers{}); got.Grade != Proven {
		t.Errorf("offload: %+v", got)
	}
}

func TestAnSSDReadIsProvenOnlyByAllFiguresTogether(t *testing.T) {
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
		"no drive":                           {func(_ *Moved, d *Disk) { d.Device = Count{} }, Tiers{}, false, Consistent, CountersAbsent},
		"no drive, and some are hidden":      {func(_ *Moved, d *Disk) { d.Process, d.Device, d.Denied = Count{}, Count{}, true }, Tiers{}, false, Consistent, CountersAbsent},
		"no size of a block":                 {func(m *Moved, _ *Disk) { m.BlockBytes = 0 }, Tiers{}, false, Consistent, CountersAbsent},
		"the process read too little":        {func(_ *Moved, d *Disk) { d.Process, d.Cgroup = known(5e3), known(5e3) }, Tiers{}, false, Contradicted, BytesDisagree},
		"the process read far more":          {func(_ *Moved, d *Disk) { d.Process, d.Cgroup = known(900e3), known(900e3) }, Tiers{}, false, Contradicted, BytesDisagree},
		"the drive read nothing":             {func(_ *Moved, d *Disk) { d.Device = known(0) }, Tiers{}, false, Contradicted, BytesDisagree},
		"KVBM's counters fell":               {func(m *Moved, _ *Disk) { m.FromDisk.Reset = true }, Tiers{}, false, NotObservable, CountersReset},
		"the drive's counter fell":           {func(_ *Moved, d *Disk) { d.Device.Reset = true }, Tiers{}, false, NotObservable, CountersReset},
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
	kv := Moved{Seen: true, BlockBytes: 1000, FromDisk: known(100), FromHost: known(0), MatchedTokens: known(3200)}
	for _, c := range []struct {
		owner, drive float64 // bytes, of 100,000
		grade        Grade
	}{
		{70e3, 95e3, Proven}, {69e3, 95e3, Contradicted}, {70e3, 94e3, Contradicted},
		{150e3, 150e3, Proven}, {151e3, 151e3, Contradicted}, {100e3, 9e9, Proven},
	} {
		got := SSDRehydrate(kv, Hits{}, Disk{Cgroup: known(c.owner), Device: known(c.drive)}, Tiers{}, Replay{Pressed: true})
		if got.Grade != c.grade {
			t.Errorf("%v by the owner, %v by the drive: %+v", c.owner, c.drive, got)
		}
		// A contradiction names who disagrees; what is only told for the reader never does.
		for _, w := range got.Figures {
			disagrees := w.Name == "cgroup_read" && (c.owner < 70e3 || c.owner > 150e3) || w.Name == "device_read" && c.drive < 95e3
			if w.Agrees == disagrees {
				t.Errorf("%v by the owner, %v by the drive: %+v", c.owner, c.drive, w)
			}
		}
	}
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
	if got := SSDOffload(kv, written, Tiers{}); got.Grade != Proven {
		t.Fatalf("%+v", got)
	}
	written.Own = 50e3
	if got := SSDOffload(kv, written, Tiers{}); got.Grade != Contradicted || got.Reason != BytesDisagree {
		t.Errorf("%+v", got)
	}
	for tiers, reason := range map[Tiers]Reason{{}: PressureTooSmall, {DiskOff: true}: TierOff, {DiskFilter: FilterOn}: DiskFilterOn} {
		if got := SSDOffload(Moved{Seen: true, ToDisk: known(0)}, written, tiers); got.Grade != Contradicted || got.Reason != reason {
			t.Errorf("%+v: %+v", tiers, got)
		}
	}
}

func TestReuseTakesTheServersReportAndTheClientsClock(t *testing.T) {
	for name, c := range map[string]struct {
		reused Reused
		grade  Grade
		reason Reason
	}{
		"said, and faster":              {Reused{Requests: 4, PromptTokens: 4000, Cached: known(3900), Found: Count{}, FirstSeconds: 1, AgainSeconds: 0.2}, Proven, ""},
		"found below, and faster":       {Reused{Requests: 4, PromptTokens: 4000, Cached: Count{}, Found: known(3900), FirstSeconds: 1, AgainSeconds: 0.2}, Proven, ""},
		"said, but no faster":           {Reused{Requests: 4, PromptTokens: 4000, Cached: known(3900), Found: Count{}, FirstSeconds: 1, AgainSeconds: 1}, Consistent, ""},
		"on the device, KVBM is silent": {Reused{Requests: 4, PromptTokens: 4000, Cached: known(3900), Found: known(0), FirstSeconds: 1, AgainSeconds: 0.2}, Proven, ""},
		"the server says no":            {Reused{Requests: 4, PromptTokens: 4000, Cached: known(0), Found: known(0), FirstSeconds: 1, AgainSeconds: 1}, Contradicted, NoMatchedTokens},
		"half of them":                  {Reused{Requests: 4, PromptTokens: 4000, Cached: known(2000), Found: Count{}, FirstSeconds: 1, AgainSeconds: 0.9}, Proven, ""},
		"less than half":                {Reused{Requests: 4, PromptTokens: 4000, Cached: known(1999), Found: Count{}, FirstSeconds: 1, AgainSeconds: 0.2}, Contradicted, NoMatchedTokens},
		"hardly faster":                 {Reused{Requests: 4, PromptTokens: 4000, Cached: known(2000), Found: Count{}, FirstSeconds: 1, AgainSeconds: 0.91}, Consistent, ""},
		"the first pass has no clock":   {Reused{Requests: 4, PromptTokens: 4000, Cached: known(3900), Found: Count{}, FirstSeconds: 0, AgainSeconds: 0.2}, Consistent, ""},
		"the second pass has none":      {Reused{Requests: 4, PromptTokens: 4000, Cached: known(3900), Found: Count{}, FirstSeconds: 1, AgainSeconds: 0}, Consistent, ""},
		"KVBM's reset does not matter":  {Reused{Requests: 4, PromptTokens: 4000, Cached: known(0), Found: Count{3900, true, true}, FirstSeconds: 1, AgainSeconds: 0.2}, Contradicted, NoMatchedTokens},
		"a shared beginning only":       {Reused{Requests: 4, PromptTokens: 4000, Cached: known(400), Found: Count{}, FirstSeconds: 1, AgainSeconds: 1}, Contradicted, NoMatchedTokens},
		"KVBM's silence alone":          {Reused{Requests: 4, PromptTokens: 4000, Cached: Count{}, Found: known(0), FirstSeconds: 1, AgainSeconds: 0.2}, NotObservable, NoMatchedTokens},
		"part below the device":         {Reused{Requests: 4, PromptTokens: 4000, Cached: Count{}, Found: known(300), FirstSeconds: 1, AgainSeconds: 0.2}, NotObservable, CountersAbsent},
		"more than ended well":          {Reused{Requests: 4, PromptTokens: 4000, Cached: Count{}, Found: known(4900), FirstSeconds: 1, AgainSeconds: 0.2}, Proven, ""},
		"nobody counts the prompts":     {Reused{Requests: 4, PromptTokens: 0, Cached: Count{}, Found: known(0), FirstSeconds: 1, AgainSeconds: 0.2}, NotObservable, CountersAbsent},
		"only the clock":                {Reused{Requests: 4, PromptTokens: 4000, Cached: Count{}, Found: Count{}, FirstSeconds: 1, AgainSeconds: 0.2}, NotObservable, CountersAbsent},
		"a reset":                       {Reused{Requests: 4, PromptTokens: 4000, Cached: Count{}, Found: Count{3900, true, true}, FirstSeconds: 1, AgainSeconds: 0.2}, NotObservable, CountersReset},
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
