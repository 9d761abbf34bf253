package snapshot

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Answers of devices and of the page cache to system calls are only in constructed archives: the health logs of NVMe
// controllers in hexadecimal digits, and the number of cached bytes of files.
//
//	-- smart/nvme0 --
//	00 48 01 64 0a 02 00 ...
//	-- cached/models/weights.safetensors --
//	17179869184
const (
	smartRoot  = "smart"
	cachedRoot = "cached"
)

// SMARTLog answers as collector.Host.SMARTLog does.
func (a *Archive) SMARTLog(controller string) ([]byte, error) {
	text, err := a.content(smartRoot + "/" + controller)
	if err != nil {
		return nil, err
	}
	return parseHex(text)
}

// HasSMART reports whether there is a health log.
func (a *Archive) HasSMART() bool {
	return len(a.below(smartRoot)) > 0
}

// CacheResident answers as collector.Host.CacheResident does, for the paths in the archive.
func (a *Archive) CacheResident(_ context.Context, path string) (uint64, error) {
	text, err := a.content(cachedRoot + "/" + strings.TrimPrefix(path, "/"))
	if err != nil {
		return 0, err
	}
	return parseCached(text)
}

// CachedPaths lists the paths with an entry.
func (a *Archive) CachedPaths() []string {
	paths := a.below(cachedRoot)
	for i, path := range paths {
		paths[i] = "/" + path
	}
	return paths
}

// checkContent checks entries that do not come from a kernel.
func checkContent(top string, e entry) error {
	switch top {
	case smartRoot:
		_, err := parseHex(e.data)
		return err
	case cachedRoot:
		_, err := parseCached(e.data)
		return err
	}
	return nil
}

func parseHex(text []byte) ([]byte, error) {
	digits := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, string(text))
	log, err := hex.DecodeString(digits)
	if err != nil {
		return nil, fmt.Errorf("%.40q is not a health log: %w", digits, err)
	}
	return log, nil
}

func parseCached(text []byte) (uint64, error) {
	bytes, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not a number of bytes", text)
	}
	return bytes, nil
}
