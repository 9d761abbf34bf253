package metric

import "testing"

func TestFloorsAreWrittenInWords(t *testing.T) {
	cases := map[string]Floor{
		"8 GiB or 6 % of the pool, whichever is less":   {8 * gib, 0.06},
		"4.5 GiB or 3 % of the pool, whichever is less": {4.5 * gib, 0.03},
		"512 MiB or 7 % of the pool, whichever is less": {512 * mib, 0.07},
	}
	for want, floor := range cases {
		if floor.String() != want {
			t.Errorf("%q, want %q", floor, want)
		}
	}
}
