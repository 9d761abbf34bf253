package openai

import (
	"crypto/sha256"
	"encoding/hex"
)

// saltBytes is how much of a hash a salt has: two salts are never the same by chance.
const saltBytes = 16

// CacheSalt returns the value of cache_salt that keeps what one run sends for one use apart in a prefix
// cache. It is a hash, because vLLM takes at most 128 characters, none of them @, / or \.
func CacheSalt(run, use string) string {
	sum := sha256.Sum256([]byte(run + "\x00" + use))
	return "uma-" + hex.EncodeToString(sum[:saltBytes])
}
