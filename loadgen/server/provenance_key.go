package server

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

// ProvenanceKeyFile is the file of the key, in the folder that holds run folders. The leading dot marks it as no run,
// and it is never published.
const ProvenanceKeyFile = ".umascope-hash-key"

const (
	keyBytes  = 32
	hashBytes = 16 // bytes of the HMAC-SHA256 that are kept
)

// ProvenanceKey makes hashes that can be compared only with hashes of the same key.
type ProvenanceKey struct{ secret []byte }

// OpenProvenanceKey reads the key of a folder of runs, or makes one if there is none. Only its owner can read the file.
func OpenProvenanceKey(dir string) (ProvenanceKey, error) {
	path := filepath.Join(dir, ProvenanceKeyFile)
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := makeKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return ProvenanceKey{}, err
	}
	return readKey(path) // if two processes make a key at once, the first wins
}

func readKey(path string) (ProvenanceKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return ProvenanceKey{}, err
	}
	if !info.Mode().IsRegular() || info.Size() != 2*keyBytes+1 {
		return ProvenanceKey{}, fmt.Errorf("%s: it is no key of this program", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ProvenanceKey{}, err
	}
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) != keyBytes {
		return ProvenanceKey{}, fmt.Errorf("%s: it is no key of this program", path)
	}
	return ProvenanceKey{secret}, nil
}

// makeKey writes a new key atomically. It does not replace an existing key; the error is then fs.ErrExist.
func makeKey(path string) error {
	file, err := os.CreateTemp(filepath.Dir(path), ProvenanceKeyFile+".*") // 0600
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
func (k ProvenanceKey) ID() string { return k.hash("key id") }

// hash returns the keyed hash of fields. Only the last field may contain a byte 0, so that different lists of fields
// never give the same text.
func (k ProvenanceKey) hash(fields ...string) string {
	mac := hmac.New(sha256.New, k.secret)
	mac.Write([]byte(strings.Join(fields, "\x00")))
	return hex.EncodeToString(mac.Sum(nil)[:hashBytes])
}
