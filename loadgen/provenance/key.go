// Package provenance identifies what ran without keeping it. Command lines, environments, files and plans become keyed
// hashes that are equal where the values are. Only engine options on a fixed list keep their values.
package provenance

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// KeyFile is the file of the key, in the folder that holds run folders. The leading dot marks it as no run, and it is
// never published.
const KeyFile = ".umascope-hash-key"

const (
	keyBytes  = 32
	hashBytes = 16 // bytes of the HMAC-SHA256 that are kept
)

// Key makes hashes that can be compared only with hashes of the same key.
type Key struct{ secret []byte }

// OpenKey reads the key of a folder of runs, or makes one if there is none. Only its owner can read the file.
func OpenKey(dir string) (Key, error) {
	path := filepath.Join(dir, KeyFile)
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := makeKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return Key{}, err
	}
	return readKey(path) // if two processes make a key at once, the first wins
}

func readKey(path string) (Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Key{}, err
	}
	if !info.Mode().IsRegular() || info.Size() != 2*keyBytes+1 {
		return Key{}, fmt.Errorf("%s: it is no key of this program", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Key{}, err
	}
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) != keyBytes {
		return Key{}, fmt.Errorf("%s: it is no key of this program", path)
	}
	return Key{secret}, nil
}

// makeKey writes a new key atomically. It does not replace an existing key; the error is then fs.ErrExist.
func makeKey(path string) error {
	file, err := os.CreateTemp(filepath.Dir(path), KeyFile+".*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	secret := make([]byte, keyBytes)
	_, _ = rand.Read(secret) // never fails
	_, err = file.WriteString(hex.EncodeToString(secret) + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Link(file.Name(), path)
}

// ID identifies the key without revealing it.
func (k Key) ID() string { return k.hash("key id") }

// hash returns the keyed hash of fields. Only the last field may contain a byte 0, so that different lists of fields
// never give the same text.
func (k Key) hash(fields ...string) string {
	mac := hmac.New(sha256.New, k.secret)
	mac.Write([]byte(strings.Join(fields, "\x00")))
	return hex.EncodeToString(mac.Sum(nil)[:hashBytes])
}
