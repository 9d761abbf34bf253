package recorder

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/hostfs"
)

const (
	slotBytes = 16 << 10
	slots     = 4096
	ringBytes = slots * slotBytes
	pageBytes = 4 << 10
	mostKept  = 15 * 60 // records of the previous boot, see Open

	// RingFile is the name of the ring in its folder.
	RingFile = "ring"
)

// A slot: magic (8 bytes), checksum of all that follows (4), length of the record (4), sequence (8), the record as JSON. The rest of
// the slot is of no meaning. Numbers are little-endian.
const (
	magic      = "UMAREC1\n"
	checkedAt  = len(magic) + 4
	headBytes  = len(magic) + 4 + 4 + 8
	mostRecord = slotBytes - headBytes
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Errors of a ring, for errors.Is.
var (
	// ErrInUse is that of opening a ring that a recorder writes.
	ErrInUse = errors.New("another uma-exporter records there")
	// ErrNoRecord is that of reading a file without a record.
	ErrNoRecord = errors.New("it has no record yet")
	// ErrDamaged is that of reading a file in which no record is whole.
	ErrDamaged = errors.New("it is damaged: no record in it is whole")
)

// encode returns a record as the bytes of its slot, a multiple of pages, so that the kernel need not read the rest of a page.
func encode(record Record) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false) // it is no page, and an escape takes six bytes
	if err := encoder.Encode(record.bounded()); err != nil {
		return nil, err
	}
	text := buffer.Bytes()
	if len(text) > mostRecord {
		return nil, fmt.Errorf("a record of %d bytes does not fit", len(text))
	}
	slot := make([]byte, (headBytes+len(text)+pageBytes-1)/pageBytes*pageBytes)
	copy(slot, magic)
	binary.LittleEndian.PutUint32(slot[checkedAt:], uint32(len(text)))
	binary.LittleEndian.PutUint64(slot[checkedAt+4:], record.Sequence)
	copy(slot[headBytes:], text)
	binary.LittleEndian.PutUint32(slot[len(magic):], crc32.Checksum(slot[checkedAt:headBytes+len(text)], castagnoli))
	return slot, nil
}

// decode returns the record in a slot. ok is false if there is none that is whole and belongs there.
func decode(slot []byte, index int) (record Record, ok bool) {
	if len(slot) < headBytes || string(slot[:len(magic)]) != magic {
		return Record{}, false
	}
	length := int64(binary.LittleEndian.Uint32(slot[checkedAt:]))
	sequence := binary.LittleEndian.Uint64(slot[checkedAt+4:])
	if length > int64(len(slot)-headBytes) || sequence%slots != uint64(index) {
		return Record{}, false
	}
	whole := slot[:headBytes+int(length)]
	if crc32.Checksum(whole[checkedAt:], castagnoli) != binary.LittleEndian.Uint32(slot[len(magic):]) {
		return Record{}, false
	}
	if json.Unmarshal(whole[headBytes:], &record) != nil || record.Sequence != sequence || record.kinds() != 1 {
		return Record{}, false
	}
	return record, true
}

// kinds counts which of the parts are set.
func (r Record) kinds() int {
	n := 0
	for _, set := range []bool{r.Start != nil, r.Sample != nil, r.Stop != nil} {
		if set {
			n++
		}
	}
	return n
}

// Contents are the records of a ring, by sequence. Damaged counts the slots with something else in them.
type Contents struct {
	Records []Record
	Damaged int
}

// Read reads the ring in a folder.
func Read(folder string) (Contents, error) {
	file, err := hostfs.OpenRegular(filepath.Join(folder, RingFile))
	if err != nil {
		return Contents{}, err
	}
	defer file.Close()
	contents, err := read(file)
	switch {
	case err != nil:
		return contents, err
	case len(contents.Records) > 0:
		return contents, nil
	case contents.Damaged > 0:
		return contents, ErrDamaged
	}
	return contents, ErrNoRecord
}

// read reads slots until the end of a file, at most those of a ring.
func read(file io.Reader) (Contents, error) {
	var found Contents
	slot := make([]byte, slotBytes)
	for index := range slots {
		n, err := io.ReadFull(file, slot)
		if record, ok := decode(slot[:n], index); ok {
			found.Records = append(found.Records, record)
		} else if len(bytes.Trim(slot[:n], "\x00")) > 0 {
			found.Damaged++
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return Contents{}, err
		}
	}
	slices.SortFunc(found.Records, func(a, b Record) int {
		if a.Sequence < b.Sequence {
			return -1
		}
		return 1 // two in one file cannot be equal: the sequence gives the slot
	})
	return found, nil
}

// Ring is a ring that is open for writing. One process at a time has it open.
type Ring struct {
	file *os.File
	next uint64
	kept map[uint64]bool // slots with the end of the previous boot
}

// Open opens the ring in a folder to go on after its last record, and makes it if there is none; it returns what is in
// it. The last quarter of an hour of the boot before this one is not written over, however long this boot lasts. A file that
// is shorter than a ring is filled with zeros; if the disk has no room for that, it gets its length back.
func Open(folder, boot string) (*Ring, Contents, error) {
	file, err := os.OpenFile(filepath.Join(folder, RingFile), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, Contents{}, err
	}
	found, err := claim(file)
	if err != nil {
		return nil, Contents{}, errors.Join(err, file.Close())
	}
	ring := &Ring{file: file, kept: kept(found.Records, boot)}
	if n := len(found.Records); n > 0 {
		ring.next = found.Records[n-1].Sequence + 1
	}
	return ring, found, nil
}

// claim locks a ring for this process, makes it whole and reads it. The lock is of the open file, so that closing another
// one, as a reader in this process does, does not release it.
func claim(file *os.File) (Contents, error) {
	info, err := file.Stat()
	if err != nil {
		return Contents{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > ringBytes {
		return Contents{}, fmt.Errorf("%s is no ring", file.Name())
	}
	if err := unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		return Contents{}, ErrInUse
	}
	if err := fill(file, info.Size()); err != nil {
		return Contents{}, errors.Join(err, file.Truncate(info.Size()))
	}
	return read(io.NewSectionReader(file, 0, ringBytes))
}

// kept are the slots of the last quarter of an hour of the last boot that is not this one.
func kept(records []Record, boot string) map[uint64]bool {
	slotsKept := map[uint64]bool{}
	previous := ""
	for _, record := range slices.Backward(records) {
		if record.Boot == boot || previous != "" && record.Boot != previous {
			continue
		}
		if previous = record.Boot; len(slotsKept) == mostKept {
			break
		}
		slotsKept[record.Sequence%slots] = true
	}
	return slotsKept
}

// fill writes zeros from a size to that of a ring. Blocks that were only reserved (fallocate) would be entered in the file
// system's journal one by one, at each first write.
func fill(file *os.File, size int64) error {
	if size == ringBytes {
		return nil
	}
	zeros := make([]byte, 1<<20)
	for at := size; at < ringBytes; {
		n, err := file.WriteAt(zeros[:min(int64(len(zeros)), ringBytes-at)], at)
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return file.Sync()
}

// Append writes a record under the next sequence and waits until the disk has it. It returns the bytes written. After an
// error the sequence is used again.
func (r *Ring) Append(record Record) (int, error) {
	for r.kept[r.next%slots] {
		r.next++
	}
	record.Sequence = r.next
	slot, err := encode(record)
	if err != nil {
		return 0, err
	}
	if _, err := r.file.WriteAt(slot, int64(r.next%slots)*slotBytes); err != nil {
		return 0, err
	}
	if err := unix.Fdatasync(int(r.file.Fd())); err != nil {
		return 0, &os.PathError{Op: "fdatasync", Path: r.file.Name(), Err: err}
	}
	r.next++
	return len(slot), nil
}

// Close lets others open the ring.
func (r *Ring) Close() error { return r.file.Close() }

// InUse reports whether a recorder has the ring in a folder open.
func InUse(folder string) bool {
	file, err := hostfs.OpenRegular(filepath.Join(folder, RingFile))
	if err != nil {
		return false
	}
	defer file.Close()
	lock := unix.Flock_t{Type: unix.F_RDLCK}
	return unix.FcntlFlock(file.Fd(), unix.F_OFD_GETLK, &lock) == nil && lock.Type == unix.F_WRLCK
}
