package evidence

// Reused is what is known of prompts that were sent before.
type Reused struct {
	// Requests is how many were sent again, with PromptTokens tokens.
	Requests     int
	PromptTokens float64
	// Cached are the prompt tokens that the answers call cached, Found those that KVBM found below the
	// device.
	Cached, Found Count
	// FirstSeconds and AgainSeconds are the median times to the first token without and with a chance of
	// a cache; 0 is not known.
	FirstSeconds, AgainSeconds float64
}

const (
	// reusedShare is the least share of the prompts' tokens that must come from a cache.
	reusedShare = 0.5
	// fasterShare: the first token must come this much earlier at least.
	fasterShare = 0.9
)

// Reuse says whether prompts that were sent before were answered from a cache. The server's word alone
// makes it consistent; that the first token really came earlier, by the client's clock, makes it proven.
func Reuse(r Reused) Signal {
	if r.Requests == 0 {
		return Unseen(CountersAbsent)
	}
	if r.Found.Reset && !r.Cached.Known {
		return Unseen(CountersReset)
	}
	var said []Witness
	expected := Range{reusedShare * r.PromptTokens, r.PromptTokens}
	if r.Cached.Known {
		said = append(said, witness("cached_tokens", r.Cached.Value, "tokens", expected))
	}
	if r.Found.Known && !r.Found.Reset {
		said = append(said, witness("kvbm_matched_tokens", r.Found.Value, "tokens", expected))
	}
	if len(said) == 0 {
		return signal(NotObservable, CountersAbsent, r.clock()...)
	}
	all := append(said, r.clock()...)
	faster := anyAgrees(r.clock())
	switch {
	case anyAgrees(said) && faster:
		return signal(Proven, "", all...)
	case anyAgrees(said):
		return signal(Consistent, "", all...)
	case r.Cached.Known || r.Found.Value > 0:
		return signal(Contradicted, NoMatchedTokens, all...)
	}
	// KVBM sees nothing of what is found on the device, which its silence does not contradict.
	return signal(NotObservable, NoMatchedTokens, all...)
}

func (r Reused) clock() []Witness {
	if r.FirstSeconds == 0 || r.AgainSeconds == 0 {
		return nil
	}
	return []Witness{witness("median_time_to_first_token", r.AgainSeconds, "seconds", Range{0, fasterShare * r.FirstSeconds})}
}
