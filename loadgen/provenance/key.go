// Package provenance identifies what ran without keeping it: command lines, environments, files and plans become keyed
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

// KeyFile is the key, in the folder that run folders lie in. Its name begins with a dot: it is no run, and never published.
const KeyFile = ".umascope-hash-key"

const (
	keyBytes  = 32
	hashBytes = 16 // of HMAC-SHA256, that are kept
)

// Key makes hashes that are comparable with those of the same key only.
type Key struct{ secret []byte }

// OpenKey reads the key of a folder of runs, or makes one where there is none. Only its owner can read the file.
func OpenKey(dir string) (Key, error) {
	path := filepath.Join(dir, KeyFile)
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := makeKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return Key{}, err
	}
	return readKey(path) // of two processes that made one, the first wins
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

// makeKey writes a new key in one step. A key that is there stays: the error is then fs.ErrExist.
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

// ID names the key without giving it away.
func (k Key) ID() string { return k.hash("key id") }

// hash is the keyed hash of fields. None but the last may hold a byte 0, so that no two lists of fields are one text.
func (k Key) hash(fields ...string) string {
	mac := hmac.New(sha256.New, k.secret)
	mac.Write([]byte(strings.Join(fields, "\x00")))
	return hex.EncodeToString(mac.Sum(nil)[:hashBytes])
}
