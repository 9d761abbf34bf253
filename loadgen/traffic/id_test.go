package traffic

import (
	"slices"
	"testing"
)

// idSets are sets of ids of both kinds.
func idSets(t *testing.T, lengths ...string) map[string]PromptSet {
	t.Helper()
	words := make([]uint32, fewestIDs)
	for i := range words {
		words[i] = uint32(50_000 + 3*i)
	}
	listed, err := NewTokenIDs(words)
	if err != nil {
		t.Fatal(err)
	}
	sets := map[string]PromptSet{}
	for name, ids := range map[string]TokenIDs{"listed": listed, "range": AnyTokenIDs()} {
		s := set(t, 1337, lengths...)
		s.Scale = ScaleOfIDs(ids)
		sets[name] = s
	}
	return sets
}

// common is how many ids two prompts begin with alike.
func common(a, b []uint32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func TestPromptsOfIDsAreExactlyAsLongAsAsked(t *testing.T) {
	for _, length := range []string{"1", "2", "64", "1000"} {
		for name, s := range idSets(t, length) {
			p := s.Prompt("measure", 7)
			if len(p.IDs) != p.Tokens || p.Tokens != s.Lengths[0].Max || p.Text != "" || p.Before != nil {
				t.Errorf("%s of %s: %d ids, %d tokens, text %q", name, length, len(p.IDs), p.Tokens, p.Text)
			}
		}
	}
}

func TestPromptsOfIDsAreTheSameForTheSameSeed(t *testing.T) {
	for name, s := range idSets(t, "512:2048") {
		p := s.Prompt("measure", 3)
		if !slices.Equal(p.IDs, idSets(t, "512:2048")[name].Prompt("measure", 3).IDs) {
			t.Errorf("%s: a prompt differs from itself", name)
		}
		other := s
		other.Seed++
		if n := common(p.IDs, other.Prompt("measure", 3).IDs); n > 4 {
			t.Errorf("%s: another seed has %d ids in common", name, n)
		}
		if n := common(p.IDs, s.Prompt("warmup", 3).IDs); n > 4 {
			t.Errorf("%s: another stream has %d ids in common", name, n)
		}
	}
	// Frozen: a workload of one version must be repeatable by the next.
	if got, want := idSets(t, "4")["range"].Prompt("measure", 0).IDs, []uint32{3916, 21301, 24947, 2649}; !slices.Equal(got, want) {
		t.Errorf("prompt %v, frozen as %v", got, want)
	}
}

func TestNoTwoPromptsOfIDsShareABlock(t *testing.T) {
	for name, s := range idSets(t, "16") {
		seen := map[[16]uint32]bool{}
		for index := range 20_000 {
			block := [16]uint32(s.Prompt("measure", index).IDs)
			if seen[block] {
				t.Fatalf("%s: prompt %d begins like another one", name, index)
			}
			seen[block] = true
		}
	}
}

func TestSharedIDsComeFirstAndAddToAPromptsLength(t *testing.T) {
	for name, s := range idSets(t, "100") {
		s.SharedTokens = 40
		first, second := s.Prompt("measure", 1), s.Prompt("warmup", 2)
		if first.Tokens != 140 || len(first.IDs) != 140 || first.SharedIDs != 40 {
			t.Errorf("%s: %d ids of %d tokens, %d shared", name, len(first.IDs), first.Tokens, first.SharedIDs)
		}
		if n := common(first.IDs, second.IDs); n < 40 || n > 44 {
			t.Errorf("%s: %d ids in common", name, n)
		}
	}
}

func TestPromptsOfIDsWithEqualBlocksBeginAlike(t *testing.T) {
	for name, s := range idSets(t, "1") {
		recorded := func(index, tokens int, blocks ...int64) []uint32 {
			p := s.Recorded("measure", index, tokens, 512, blocks)
			if p.Tokens != tokens || len(p.IDs) != tokens {
				t.Fatalf("%s: %d ids of %d tokens, want %d", name, len(p.IDs), p.Tokens, tokens)
			}
			return p.IDs
		}
		long := recorded(0, 1400, 0, 7, 8)
		for _, c := range []struct {
			other       []uint32
			least, most int
		}{
			{recorded(1, 1300, 0, 7, 8), 1300, 1300},
			{recorded(2, 1400, 0, 7, 9), 1024, 1028},
			{recorded(3, 1400, 0), 512, 516},
			{recorded(4, 1400), 0, 4},
			{recorded(5, 100, 0, 7, 8), 100, 100},
		} {
			if n := common(long, c.other); n < c.least || n > c.most {
				t.Errorf("%s: %d ids in common, want %d to %d", name, n, c.least, c.most)
			}
		}
	}
}

func TestIDsAreThoseOfTheTable(t *testing.T) {
	for name, s := range idSets(t, "5000") {
		ids, p := s.Scale.IDs, s.Prompt("measure", 0)
		different := map[uint32]bool{}
		for _, id := range p.IDs {
			different[id] = true
			if name == "listed" && !slices.Contains(ids.Listed, id) || name == "range" && (id < firstID || id > lastID) {
				t.Fatalf("%s: id %d", name, id)
			}
		}
		if len(different) < fewestIDs-1 {
			t.Errorf("%s: %d different ids", name, len(different))
		}
		if !s.Scale.Exact() {
			t.Errorf("%s: the scale says %s", name, s.Scale)
		}
	}
}

func TestTablesOfTooFewIDsAreRefused(t *testing.T) {
	same := make([]uint32, len(vocabulary))
	if ids, err := NewTokenIDs(same); err == nil {
		t.Errorf("one id for all words: %v", ids)
	}
	all := make([]uint32, len(vocabulary)+1)
	for i := range all {
		all[i] = uint32(i)
	}
	if ids, err := NewTokenIDs(all); err == nil {
		t.Errorf("more than there are words: %v", ids)
	}
	if ids, err := NewTokenIDs(all[1:]); err != nil || len(ids.Listed) != len(vocabulary) {
		t.Errorf("%v, %v", ids, err)
	}
}

func TestTheProbeOfIDsHasTheLengthThatIsCompared(t *testing.T) {
	for name, s := range idSets(t, "64") {
		probe := s.Scale.IDs.Probe(64)
		if len(probe) != 64 || common(probe, s.Prompt("measure", 0).IDs) > 4 {
			t.Errorf("%s: %v", name, probe)
		}
	}
}
