package fit

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// mostSafetensorsHeader is the limit of the format's own reader.
const mostSafetensorsHeader = 100_000_000

// safetensorsBytes is the size of the tensors in a file of safetensors, by its header: a length of 8 bytes, then JSON that
// gives each tensor its place. A file that is longer or shorter than that is damaged, as after a broken download.
func safetensorsBytes(r io.Reader, size int64) (int64, error) {
	var length [8]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return 0, errors.New("is too short for a file of safetensors")
	}
	header := binary.LittleEndian.Uint64(length[:])
	if header > mostSafetensorsHeader || int64(header) > size-8 {
		return 0, errors.New("is no file of safetensors, or cut off in its header")
	}
	var tensors map[string]struct {
		Place []int64 `json:"data_offsets"`
	}
	if err := json.NewDecoder(io.LimitReader(r, int64(header))).Decode(&tensors); err != nil {
		return 0, fmt.Errorf("has a header that is not that of safetensors: %w", err)
	}
	end := int64(0)
	for name, t := range tensors {
		if name == "__metadata__" {
			continue
		}
		if len(t.Place) != 2 || t.Place[0] < 0 || t.Place[1] < t.Place[0] {
			return 0, fmt.Errorf("has a tensor without a place: %.40q", name)
		}
		end = max(end, t.Place[1])
	}
	if there := size - 8 - int64(header); there != end {
		return 0, fmt.Errorf("has %d bytes of tensors, its header says %d: it was not copied whole", there, end)
	}
	return end, nil
}
