package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/ledger"
)

func sampleOf(boot string, pid int, unixMS, monotonicMS int64) Record {
	return Record{Boot: boot, PID: pid, UnixMS: unixMS, MonotonicMS: monotonicMS, Sample: &Sample{Memory: &Memory{Pool: 100}}}
}

// filled returns a folder with a ring of so many records of boot a.
func filled(t testing.TB, count int) string {
	t.Helper()
	folder := t.TempDir()
	ring, _, err := Open(folder, "a")
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		if _, err := ring.Append(sampleOf("a", 7, int64(i)*1000, int64(i)*1000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := ring.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}

func sequences(records []Record) []uint64 {
	var all []uint64
	for _, r := range records {
		all = append(all, r.Sequence)
	}
	return all
}

func TestARingThatIsOpenedAgainGoesOnAfterItsLastRecord(t *testing.T) {
	folder := filled(t, 3)
	ring, found, err := Open(folder, "a")
	if err != nil || len(found.Records) != 3 || found.Damaged != 0 {
		t.Fatalf("%d records, %d damaged, %v", len(found.Records), found.Damaged, err)
	}
	defer ring.Close()
	n, err := ring.Append(sampleOf("a", 8, 4000, 4000))
	if err != nil || n != pageBytes {
		t.Errorf("%d bytes, %v: a usual record is one page", n, err)
	}
	found, err = Read(folder)
	if err != nil || !slices.Equal(sequences(found.Records), []uint64{0, 1, 2, 3}) || found.Records[3].PID != 8 {
		t.Errorf("%+v, %v", found, err)
	}
	if info, err := os.Stat(filepath.Join(folder, RingFile)); err != nil || info.Size() != 64<<20 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestALongBootDoesNotWriteOverTheEndOfThePreviousOne(t *testing.T) {
	folder := filled(t, 5)
	ring, _, err := Open(folder, "b")
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	ring.next = slots - 1 // about an hour later
	for range 3 {
		if _, err := ring.Append(sampleOf("b", 8, 0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Read(folder)
	if want := []uint64{0, 1, 2, 3, 4, slots - 1, slots + 5, slots + 6}; err != nil || !slices.Equal(sequences(found.Records), want) {
		t.Errorf("%v, %v; want %v", sequences(found.Records), err, want)
	}
	if kept := kept(make([]Record, 2000), "b"); len(kept) != 1 {
		t.Errorf("%d slots are kept for records of one sequence", len(kept))
	}
	var long []Record
	for i := range 2000 {
		long = append(long, Record{Sequence: uint64(i), Boot: fmt.Sprint("boot", i/1900)})
	}
	if kept := kept(long, "boot2"); len(kept) != 100 || !kept[1999] || kept[1899] {
		t.Errorf("%d slots are kept of a short last boot", len(kept))
	}
	if kept := kept(long, "boot1"); len(kept) != mostKept || !kept[1899] || kept[1899-mostKept] {
		t.Errorf("%d slots are kept of a long boot", len(kept))
	}
}

func TestOneRecorderWritesARingAndAReaderDoesNotReleaseIt(t *testing.T) {
	folder := filled(t, 1)
	if InUse(folder) {
		t.Error("a ring that is closed is in use")
	}
	ring, _, err := Open(folder, "a")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !InUse(folder) {
			t.Error("a ring that is open is not in use")
		}
		if _, err := Read(folder); err != nil {
			t.Error(err)
		}
		if _, _, err := Open(folder, "a"); !errors.Is(err, ErrInUse) {
			t.Errorf("a second writer: %v", err)
		}
	}
	ring.Close()
	if InUse(folder) {
		t.Error("a ring that was closed is in use")
	}
}

func TestWhatIsNoRingIsRefusedInOneLine(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, RingFile)
	if _, err := Read(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no ring: %v", err)
	}
	for what, of := range map[string]struct {
		content string
		want    error
	}{
		"empty":    {"", ErrNoRecord},
		"zeros":    {strings.Repeat("\x00", 2*slotBytes), ErrNoRecord},
		"text":     {"hello", ErrDamaged},
		"one head": {magic, ErrDamaged},
	} {
		if err := os.WriteFile(path, []byte(of.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(folder); !errors.Is(err, of.want) {
			t.Errorf("%s: %v", what, err)
		}
		ring, _, err := Open(folder, "a") // it is made whole and written over
		if err != nil {
			t.Errorf("%s cannot be written: %v", what, err)
			continue
		}
		if _, err := ring.Append(sampleOf("a", 1, 0, 0)); err != nil {
			t.Error(err)
		}
		ring.Close()
		if found, err := Read(folder); err != nil || len(found.Records) != 1 {
			t.Errorf("%s, written: %+v, %v", what, found, err)
		}
	}
	if err := os.Truncate(path, ringBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(folder, "a"); err == nil || !strings.Contains(err.Error(), "is no ring") {
		t.Errorf("a longer file: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(folder, "a"); err == nil {
		t.Error("a folder is opened")
	}
	if _, err := Read(folder); err == nil {
		t.Error("a folder is read")
	}
}

// Texts of others are cut, and lists: the largest record fits its slot.
func TestTheLargestRecordFitsItsSlot(t *testing.T) {
	long := strings.Repeat("\x01\"\\", 5000)
	bytes := uint64(1) << 50
	ratio := 0.123456789012345
	s := Sample{Memory: &Memory{Pool: bytes, Free: &bytes, Available: &bytes, Lines: ledger.Ledger{}}, Pressure: map[string]Pressure{},
		OOM: OOM{&bytes, &bytes, &bytes}, KernelRead: true, TookMS: 1 << 50}
	for i := range 100 {
		s.Holders = append(s.Holders, Holder{PID: 1 << 31, Comm: long, Bytes: &bytes})
		s.Groups = append(s.Groups, Group{long, bytes})
		s.GPUs = append(s.GPUs, GPU{Index: i, Lost: true, Utilization: &ratio, ClockHertz: &ratio, Watts: &ratio, Celsius: &ratio, HeldBytes: &bytes, XIDs: &bytes,
			Reasons: []string{"sw_power_cap", "hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake"}})
		s.Engines = append(s.Engines, Engine{long, long, &ratio})
		s.Kernel = append(s.Kernel, KernelLine{1 << 50, clip(long, mostText), 1 << 31, true, true})
	}
	for i := range 20 {
		s.Memory.Lines[fmt.Sprint("slab_unreclaimable", i)] = -1 << 50
	}
	for _, resource := range []string{"cpu", "io", "irq", "memory"} {
		s.Pressure[resource] = Pressure{&ratio, &ratio}
	}
	slot, err := encode(Record{Boot: strings.Repeat("x", 36), Machine: "0123456789abcdef", Sample: &s})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(slot))
	if record, ok := decode(slot, 0); !ok || len(record.Sample.Kernel) != mostLines || len(record.Sample.Holders) != MostHolders {
		t.Errorf("%v", ok)
	}
	if len(s.Holders) != 100 || s.Holders[0].Comm != long {
		t.Error("the sample of the caller was changed")
	}
}

// FuzzRead: whatever a file has, reading it ends, and records come with their sequence ascending, each from its slot.
func FuzzRead(f *testing.F) {
	slot := func(sequence uint64) []byte {
		text, err := encode(Record{Sequence: sequence, Boot: "a", Stop: &Stop{}})
		if err != nil {
			f.Fatal(err)
		}
		return append(text, make([]byte, slotBytes-len(text))...)
	}
	f.Add([]byte{})
	f.Add(slot(0))
	f.Add(append(slot(slots), slot(1)...))
	f.Add(append(slot(0), slot(7)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Records)+found.Damaged > len(data)/slotBytes+1 {
			t.Errorf("%d records and %d damaged in %d bytes", len(found.Records), found.Damaged, len(data))
		}
		for i, r := range found.Records {
			if i > 0 && r.Sequence <= found.Records[i-1].Sequence || r.kinds() != 1 {
				t.Errorf("%+v", found.Records)
			}
		}
		if report, err := Judge(found, Record{Boot: "now", Start: &Start{}}, false); (err == nil) != (len(found.Records) > 0) || len(report.Notes) > 6 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

// FuzzDamage: a byte that changes, or a file that ends early, costs at most the record of its slot and those after the end.
func FuzzDamage(f *testing.F) {
	const count = 4
	folder := filled(f, count)
	whole, err := os.ReadFile(filepath.Join(folder, RingFile))
	if err != nil {
		f.Fatal(err)
	}
	whole = whole[:(count+1)*slotBytes]
	f.Add(uint32(0), byte(1), uint32(len(whole)))
	f.Add(uint32(slotBytes+13), byte(0x80), uint32(len(whole)))
	f.Add(uint32(2*slotBytes+17), byte(1), uint32(3*slotBytes))
	f.Add(uint32(slotBytes+40), byte(0xff), uint32(0))
	f.Fuzz(func(t *testing.T, at uint32, flip byte, end uint32) {
		at, end = at%uint32(len(whole)), end%uint32(len(whole)+1)
		damaged := bytes.Clone(whole)
		damaged[at] ^= flip
		found, err := read(bytes.NewReader(damaged[:end]))
		if err != nil {
			t.Fatal(err)
		}
		got := sequences(found.Records)
		for sequence := range uint64(count) {
			touched := uint64(at)/slotBytes == sequence || (sequence+1)*slotBytes > uint64(end)
			if !touched && !slices.Contains(got, sequence) {
				t.Errorf("byte %d, end %d: record %d is lost: %v", at, end, sequence, got)
			}
		}
		for _, r := range found.Records {
			if want := sampleOf("a", 7, int64(r.Sequence)*1000, int64(r.Sequence)*1000); r.UnixMS != want.UnixMS || r.PID != want.PID || r.Sample.Memory.Pool != 100 {
				t.Errorf("%+v is none that was written", r)
			}
		}
	})
}
