package evidence

import (
	"cmp"
	"fmt"
)

// Room has the capacities of the tiers of a KV cache; 0 is unknown, or off if Off has the tier.
type Room struct {
	DeviceTokens, HostBytes, DiskBytes float64
	// TokenBytes is the size of a token in the cache, BlockBytes the size of a block of KVBM.
	TokenBytes, BlockBytes float64
	// KVBM is true if a source shows Dynamo's KV block manager. Files is true if the disk tier is files without a limit,
	// as in vLLM's own offloading.
	KVBM, Files bool
	Off         Tiers
}

// Load is the size of one set of prompts in the cache: tokens, including the answers.
type Load struct {
	Name     string
	Requests int
	Tokens   float64
}

// Forecast describes in words what the sizes alone predict.
type Forecast struct {
	// Lines describe each set and each tier, and the prediction.
	Lines []string
	// Warnings list settings that hide the effect; Impossible lists settings that cannot show it at all.
	Warnings, Impossible []string
	// Pressed is true if the second set pushes the first out of the tiers above the disk; also if that is unknown, since
	// there is no sign against it.
	Pressed bool
}

// hostTokens and diskTokens return the sizes of the tiers in tokens; 0 if unknown or off.
func (r Room) hostTokens() float64 { return r.inTokens(r.HostBytes) }
func (r Room) diskTokens() float64 { return r.inTokens(r.DiskBytes) }

func (r Room) inTokens(bytes float64) float64 {
	if r.TokenBytes <= 0 {
		return 0
	}
	return bytes / r.TokenBytes
}

// Upper returns the number of tokens after which none of an earlier set is above the disk. Tiers are written through,
// so that blocks on the device are in the host too: the larger of both counts. Where no disk is reachable, it is the
// device alone. It returns 0 if unknown.
func (r Room) Upper() float64 {
	if r.Off.DiskOff {
		return r.DeviceTokens
	}
	return max(r.DeviceTokens, r.hostTokens())
}

// Filtered reports whether a disk filter has to be expected: it is on, or nothing shows its state, since KVBM's is on by
// default.
func (r Room) Filtered() bool {
	switch {
	case r.Off.DiskOff, r.Off.DiskFilter == FilterOff:
		return false
	case r.Off.DiskFilter == FilterOn:
		return true
	}
	return r.KVBM || r.DiskBytes > 0
}

// Predict compares a set, and the tokens sent before each of its replays, with each tier.
func Predict(first, pressure Load, replays int, r Room) Forecast {
	f := Forecast{Pressed: true}
	add := func(to *[]string, format string, values ...any) { *to = append(*to, fmt.Sprintf(format, values...)) }
	for _, set := range []Load{first, pressure} {
		add(&f.Lines, "%s: %d prompts, %s with their answers", set.Name, set.Requests, r.size(set.Tokens))
	}
	both := first.Tokens + pressure.Tokens
	sum := first.Name + "+" + pressure.Name
	switch {
	case r.DeviceTokens == 0:
		add(&f.Lines, "device: size not known; whether anything is evicted cannot be foretold (--set device.tokens=N)")
	case both <= r.DeviceTokens:
		f.Pressed = false
		add(&f.Impossible, "%s is %s, device %s: nothing will be evicted", sum, r.size(both), r.size(r.DeviceTokens))
	case pressure.Tokens < r.DeviceTokens:
		f.Pressed = false
		add(&f.Warnings, "%s is %s, device %s: part of %s stays on the device", pressure.Name, r.size(pressure.Tokens), r.size(r.DeviceTokens), first.Name)
	default:
		add(&f.Lines, "%s is %s, device %s: %s is evicted from the device", pressure.Name, r.size(pressure.Tokens), r.size(r.DeviceTokens), first.Name)
	}
	f.host(first, pressure, r)
	f.disk(first, pressure, r)
	f.filter(first, pressure, replays, r)
	return f
}

func (f *Forecast) host(first, pressure Load, r Room) {
	host := r.hostTokens()
	switch {
	case r.Off.HostOff:
		f.Lines = append(f.Lines, "host tier: off")
	case host == 0:
		f.Lines = append(f.Lines, r.unknown("host tier", r.HostBytes))
	case pressure.Tokens < host:
		if !r.Off.DiskOff {
			f.Pressed = false
		}
		f.Lines = append(f.Lines, fmt.Sprintf("host tier %s: %s comes back from the host, which shows nothing of the SSD", r.size(host), first.Name))
	default:
		f.Lines = append(f.Lines, fmt.Sprintf("host tier %s: %s is evicted from the host", r.size(host), first.Name))
	}
	if host > 0 && host < r.DeviceTokens {
		f.Warnings = append(f.Warnings, fmt.Sprintf("the host tier (%s) is smaller than the device (%s): it only churns", r.size(host), r.size(r.DeviceTokens)))
	}
}

func (f *Forecast) disk(first, pressure Load, r Room) {
	disk, both := r.diskTokens(), first.Tokens+pressure.Tokens
	switch {
	case r.Off.DiskOff:
		f.Lines = append(f.Lines, "disk tier: off; nothing can come back from the SSD")
		return
	case disk == 0 && r.Files:
		f.Lines = append(f.Lines, fmt.Sprintf("disk tier: files without a limit; %s stays on it", first.Name))
	case disk == 0:
		f.Lines = append(f.Lines, r.unknown("disk tier", r.DiskBytes))
	case first.Tokens > disk:
		f.Impossible = append(f.Impossible, fmt.Sprintf("%s is %s, disk tier %s: it cannot hold the set", first.Name, r.size(first.Tokens), r.size(disk)))
	case both > disk:
		f.Warnings = append(f.Warnings, fmt.Sprintf("%s+%s is %s, disk tier %s: part of %s is evicted from the disk too", first.Name, pressure.Name, r.size(both), r.size(disk), first.Name))
	default:
		f.Lines = append(f.Lines, fmt.Sprintf("disk tier %s: %s stays on it", r.size(disk), first.Name))
	}
	if host := r.hostTokens(); disk > 0 && host > disk {
		f.Warnings = append(f.Warnings, fmt.Sprintf("the disk tier (%s) is smaller than the host (%s): it only churns", r.size(disk), r.size(host)))
	}
}

// filter adds what KVBM's disk filter does to the first set. The filter counts how often a block is copied to the host,
// which happens when it is computed, and lets it pass from the second time on. So a set is written to the disk by its
// first replay, provided that it was evicted from device and host before (ai-dynamo/dynamo,
// lib/llm/src/block_manager/offload/filter.rs, and the connector's slot.rs).
func (f *Forecast) filter(first, pressure Load, replays int, r Room) {
	if !r.Filtered() {
		return
	}
	state, otherwise := "KVBM's disk filter is on", ""
	if r.Off.DiskFilter == FilterUnknown {
		state, otherwise = "KVBM's disk filter is on by default, and no source shows its state", "; if it is off, --set disk.filter=off"
	}
	if replays > 1 {
		f.Lines = append(f.Lines, fmt.Sprintf("%s: the first replay computes %s again, which writes it to the disk tier; the second replay can read it from there. The filter forgets first uses every 10 minutes", state, first.Name))
		return
	}
	f.Warnings = append(f.Warnings, fmt.Sprintf("%s: prompts seen once are not written to the disk tier, so %s cannot come back from the SSD; --set repeats=2 sends %s and %s twice, and the second replay can%s",
		state, first.Name, pressure.Name, first.Name, otherwise))
}

// unknown describes a tier that cannot be compared with the sets.
func (r Room) unknown(tier string, bytes float64) string {
	if bytes <= 0 {
		return tier + ": size not known"
	}
	return fmt.Sprintf("%s: %.2f GiB, and the bytes of a token are not known (--engine-log FILE or --set token.bytes=N)", tier, bytes/(1<<30))
}

// size formats tokens, with bytes where they are known.
func (r Room) size(tokens float64) string {
	if r.TokenBytes <= 0 {
		return fmt.Sprintf("%.0f tokens", tokens)
	}
	return fmt.Sprintf("%.0f tokens (%.2f GiB)", tokens, tokens*r.TokenBytes/(1<<30))
}

// Filled returns the room with its unknown sizes taken from another.
func (r Room) Filled(other Room) Room {
	or := func(own, theirs float64) float64 {
		if own > 0 {
			return own
		}
		return theirs
	}
	return Room{
		DeviceTokens: or(r.DeviceTokens, other.DeviceTokens), HostBytes: or(r.HostBytes, other.HostBytes),
		DiskBytes: or(r.DiskBytes, other.DiskBytes), TokenBytes: or(r.TokenBytes, other.TokenBytes), BlockBytes: or(r.BlockBytes, other.BlockBytes),
		KVBM: r.KVBM || other.KVBM, Files: r.Files || other.Files,
		Off: Tiers{
			HostOff: r.Off.HostOff || other.Off.HostOff, DiskOff: r.Off.DiskOff || other.Off.DiskOff,
			DiskFilter: cmp.Or(r.Off.DiskFilter, other.Off.DiskFilter),
		},
	}
}
