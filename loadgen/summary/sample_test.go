package summary

import "testing"

func TestSamplesGrowAndJoinInOrder(t *testing.T) {
	const each = 64 * blockSamples // more blocks than a shift of one can count
	var all samples
	for part := range 2 {
		var l samples
		for i := range each {
			l.add(sample{dispatchNS: int64(part*each + i), ok: true, tokensOut: absent})
		}
		all.join(l)
	}
	if all.len() != 2*each || len(all.values(tokensOut)) != 0 {
		t.Fatalf("%d samples, %d of them with tokens", all.len(), len(all.values(tokensOut)))
	}
	next := int64(0)
	for s := range all.all() {
		if s.dispatchNS != next {
			t.Fatalf("sample %d at the place of %d", s.dispatchNS, next)
		}
		next++
	}
}
