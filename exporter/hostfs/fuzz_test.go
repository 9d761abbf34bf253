package hostfs

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// Every target also cuts its input: whatever the text is, a part of it gives an error or rows of
// the whole.

func FuzzMeminfo(f *testing.F) {
	read := textReader(f, "meminfo", ReadMeminfo)
	addSeeds(f, sampleMeminfo, "MemTotal: 1 kB\nMemTotal: 2 kB\n", "MemTotal: 9007199254740991 kB\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		meminfo, err := read(text)
		if err != nil {
			return
		}
		if meminfo["MemTotal"] == 0 || len(meminfo) > strings.Count(text, "\n") {
			t.Errorf("%d fields of %d lines, MemTotal %d", len(meminfo), strings.Count(text, "\n"), meminfo["MemTotal"])
		}
		for name, bytes := range meminfo {
			if bytes%1024 != 0 || bytes > math.MaxInt64 || name == "" {
				t.Errorf("%q: %d", name, bytes)
			}
		}
		checkCut(t, partOfMap(read), text, cut, distinctNames(text))
	})
}

func FuzzKeyed(f *testing.F) {
	addSeeds(f, sampleVmstat, sampleMemoryStat, "a 1\na 2\n", "kernel 18446744073709551615\nslab 18446744073709551615\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		values, err := parseKeyed(text)
		if err != nil {
			return
		}
		if len(values) > strings.Count(text, "\n") {
			t.Errorf("%d values of %d lines", len(values), strings.Count(text, "\n"))
		}
		if bytes, known := MemoryStat(values).KernelOther(); !known && bytes != 0 {
			t.Errorf("unknown, and %d bytes", bytes)
		}
		checkCut(t, partOfMap(parseKeyed), text, cut, len(values))
	})
}

func FuzzBuddyinfo(f *testing.F) {
	read := textReader(f, "buddyinfo", ReadBuddyinfo)
	addSeeds(f, sampleBuddyinfo, "Node 0, zone DMA 18446744073709551615 18446744073709551615\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		zones, err := read(text)
		if err != nil {
			return
		}
		last := math.Inf(1)
		for _, block := range []uint64{0, 64 << 10, 2 << 20, 4 << 20} {
			bytes := FreeContiguousBytes(zones, block, 4096)
			if !(bytes >= 0 && bytes <= last) {
				t.Errorf("%v bytes in blocks of %d, %v in smaller ones", bytes, block, last)
			}
			last = bytes
		}
		checkCut(t, partOfSlice(read), text, cut, strings.Count(text, "\n"))
	})
}

func FuzzDiskstats(f *testing.F) {
	read := textReader(f, "diskstats", ReadDiskstats)
	addSeeds(f, sampleDiskstats, " 1 0 x 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 ?\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		disks, err := read(text)
		if err != nil {
			return
		}
		for _, d := range disks {
			if max(d.ReadSectors, d.WriteSectors, d.DiscardSectors) > math.MaxInt64/512 || d.DeviceName == "" || !strings.Contains("14 18 20", strconv.Itoa(d.IoStatsCount)) {
				t.Errorf("%+v", d)
			}
		}
		checkCut(t, partOfSlice(read), text, cut, strings.Count(text, "\n"))
	})
}

func FuzzPressure(f *testing.F) {
	addSeeds(f, samplePressure, "full total=18446744073709551615\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		whole, err := parsePressure(text)
		if err != nil {
			return
		}
		for _, seconds := range []*float64{whole.Some, whole.Full} {
			if seconds != nil && !(*seconds >= 0) {
				t.Errorf("%v seconds", *seconds)
			}
		}
		part, err := parsePressure(text[:min(int(cut), len(text))])
		if err == nil && (part.Some != nil && whole.Some == nil || part.Full != nil && whole.Full == nil) {
			t.Error("a part has a line that the whole has not")
		}
	})
}

func FuzzCPUStat(f *testing.F) {
	addSeeds(f, "usage_usec 1042600\nuser_usec 800100\nsystem_usec 242500\nnr_periods 0\n", "user_usec 18446744073709551615\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		whole, err := parseCPUStat(text)
		if err != nil {
			return
		}
		for key, seconds := range map[string]*float64{"user_usec ": whole.User, "system_usec ": whole.System} {
			if told := strings.HasPrefix(text, key) || strings.Contains(text, "\n"+key); told != (seconds != nil) || told && !(*seconds >= 0) {
				t.Errorf("%q: %v", text, seconds)
			}
		}
		part, err := parseCPUStat(text[:min(int(cut), len(text))])
		if err == nil && (part.User != nil && whole.User == nil || part.System != nil && whole.System == nil) {
			t.Error("a part has a line that the whole has not")
		}
	})
}

func FuzzProcessCgroup(f *testing.F) {
	read := textReader(f, "735/cgroup", ofProcess(ProcessCgroup))
	addSeeds(f, "0::/system.slice/docker-4f5b3a.scope\n", "4:memory:/x\n0::/a (deleted)\n0::/b\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		path, err := read(text)
		if err != nil {
			return
		}
		if !strings.HasPrefix(path, "/") || !strings.Contains(text, path) || strings.Contains(path, "\n") {
			t.Errorf("path %q", path)
		}
		if part, err := read(text[:min(int(cut), len(text))]); err == nil && part != path {
			t.Errorf("a part gives %q, the whole %q", part, path)
		}
	})
}

func FuzzARC(f *testing.F) {
	addSeeds(f, sampleArcstats, "a\nb\nsize 4 1\nsize 4 x\n")
	f.Fuzz(func(t *testing.T, text string, _ uint16) {
		if bytes, err := parseARC(text); err == nil && (!strings.Contains(text, "size") || bytes > largestNumber(text)) {
			t.Errorf("%d bytes", bytes)
		}
	})
}

func FuzzCelsius(f *testing.F) {
	addSeeds(f, "41850\n", "-273150\n", "65261850\n", "-256000\n", "-128000\n", "")
	f.Fuzz(func(t *testing.T, text string, _ uint16) {
		host := files(t, map[string]string{"temp1_input": text})
		value, err := driveThermometer().read(host, "temp1_input")
		if err == nil && value != nil && !(*value > -273.15 && *value <= 1000) {
			t.Errorf("%q gives %v degrees", text, *value)
		}
		for _, source := range []thermometer{zoneThermometer(), chipThermometer()} {
			off, offErr := source.read(host, "temp1_input")
			if (offErr == nil) != (err == nil) || off != nil && (*off != *value || slices.Contains(source, int64(math.Round(*off*1e3)))) {
				t.Errorf("%q gives %v, %v", text, off, offErr)
			}
		}
		if err != nil && !utf8.ValidString(err.Error()) {
			t.Errorf("the error is no text: %q", err)
		}
	})
}

func addSeeds(f *testing.F, texts ...string) {
	for _, text := range texts {
		f.Add(text, uint16(len(text)/2))
	}
	f.Add("", uint16(0))
	f.Add("\n", uint16(1))
}

// checkCut checks a part of text against the whole; rows is the number of distinct rows, since the part may have
// another one of a row that occurs twice.
func checkCut(t *testing.T, partOf func(whole, cut string) error, text string, cut uint16, rows int) {
	t.Helper()
	if rows != strings.Count(text, "\n") {
		return
	}
	if err := partOf(text, text[:min(int(cut), len(text))]); err != nil {
		t.Error(err)
	}
}

// distinctNames is the number of names of fields in a text such as meminfo.
func distinctNames(text string) int {
	names := map[string]bool{}
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, ":")
		names[strings.TrimSpace(name)] = true
	}
	return len(names)
}

func largestNumber(text string) uint64 {
	var largest uint64
	for field := range strings.FieldsSeq(text) {
		if value, err := parseUint(field); err == nil {
			largest = max(largest, value)
		}
	}
	return largest
}
