package hostfs

import (
	"strings"
	"testing"
)

func FuzzCPUSeconds(f *testing.F) {
	addSeeds(f, "cpu  695175 24566 168959 1160454 6072 0 2634 2912 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n", "cpu 1 2 3 4 5 6 7 8\n", "cpu  9223372036854775807 0 0 0 0 0 0 0\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		whole, err := parseCPUSeconds(text)
		if err != nil {
			return
		}
		for mode, seconds := range whole {
			if !(seconds >= 0) || len(whole) != len(cpuModes()) {
				t.Errorf("%s: %v seconds, %d modes", mode, seconds, len(whole))
			}
		}
		part, err := parseCPUSeconds(text[:min(int(cut), len(text))])
		for mode, seconds := range part {
			if err == nil && seconds != whole[mode] {
				t.Errorf("a part has %v seconds of %s, the whole %v", seconds, mode, whole[mode])
			}
		}
	})
}

func FuzzSensorNumbers(f *testing.F) {
	addSeeds(f, "25300000\n", "3900000\n", "<unknown>\n", "-1\n", "4294967295\n", "18446744073709551615\n")
	f.Fuzz(func(t *testing.T, text string, _ uint16) {
		if value, err := parseMicro(text); err == nil && !(value >= 0 && value < 1e13) {
			t.Errorf("%q gives %v watts or joules", text, value)
		}
		if hertz, err := parseKilohertz(text); err == nil && !(hertz >= 0 && hertz < 1e13) {
			t.Errorf("%q gives %v hertz", text, hertz)
		}
		if speed, err := parseLinkSpeed(text); err == nil && speed != nil && !(*speed > 0 && *speed < 1e15) {
			t.Errorf("%q gives %v bytes per second", text, *speed)
		}
	})
}

func FuzzPortFiles(f *testing.F) {
	addSeeds(f, "4: ACTIVE\n", "200 Gb/sec (4X HDR)\n", "2.5 Gb/sec (1X SDR)\n", "NaN Gb/sec\n", "250000000\n", "N/A (no PMA)\n", "4611686018427387903\n")
	f.Fuzz(func(t *testing.T, text string, _ uint16) {
		if up, err := parsePortState(text); err == nil && *up != strings.HasPrefix(strings.TrimLeft(text, "0"), "4:") {
			t.Errorf("%q: up %v", text, *up)
		}
		if rate, err := parsePortRate(text); err == nil && rate != nil && !(*rate > 0 && *rate < 1.25e14) {
			t.Errorf("%q gives %v bytes per second", text, *rate)
		}
		words, err := parsePortCounter(text)
		bytes, bytesErr := parseWords(text)
		if bytesErr == nil && (err != nil || (words == nil) != (bytes == nil) || words != nil && *bytes/4 != *words) {
			t.Errorf("%q: words %v, bytes %v", text, words, bytes)
		}
	})
}
